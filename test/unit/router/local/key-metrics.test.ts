import assert from 'node:assert/strict';
import { test } from 'node:test';
import { viewFigures } from '../../../../src/router/local/key-figures.ts';
import { MetricsByKey } from '../../../../src/router/local/key-metrics.ts';

test('a site that invents other sites gets a bounded number of counts, and all connections are counted', () => {
  const metrics = new MetricsByKey();
  metrics.configure('connector', ['web']);
  const web = metrics.of('web', 'connector');
  for (let index = 0; index < 5_000; index += 1) metrics.ofSite(web, `site-${index}`).opened += 1;
  const { sites = [] } = viewFigures(metrics).ofKey('web').connector ?? {};
  assert.ok(sites.length <= 101, String(sites.length));
  assert.equal(sites.at(-1)?.site, '(other)');
  assert.equal(
    sites.reduce((sum, { opened }) => sum + opened, 0),
    5_000,
  );
});

test('counts of removed keys leave room for those of others', () => {
  const metrics = new MetricsByKey();
  for (let round = 0; round < 50; round += 1) {
    metrics.configure('listener', [`key-${round}`]);
    const counted = metrics.of(`key-${round}`, 'listener');
    for (let index = 0; index < 50; index += 1) metrics.ofSite(counted, `site-${index}`).opened += 1;
    assert.equal(viewFigures(metrics).ofKey(`key-${round}`).listener?.sites.length, 50);
  }
});

test('figures of all keys have the sums of their connections and requests', () => {
  const metrics = new MetricsByKey();
  metrics.configure('listener', ['web', 'db']);
  metrics.of('web', 'listener').connectTime.observe(0.001);
  metrics.requests('web', 'w', 'e', 'http1').onRequest('GET', 200, 5);
  metrics.requests('web', 'w', 'n', 'http1').onRequest('GET', 503, 5);
  metrics.of('web', 'listener').countFailure('refused');
  metrics.ofSite(metrics.of('web', 'listener'), 'e').toServer.bytes += 8;
  const idle = { open: 0, opened: 0, bytes: { up: 0, down: 0 } };
  assert.deepEqual(viewFigures(metrics).all(), [
    {
      key: 'web',
      role: 'listener',
      ...idle,
      failed: { refused: 1 },
      bytes: { up: 8, down: 0 },
      requests: 2,
      errors: 1,
      connect: [[1.13, 1]],
      request: [[5.38, 2]],
    },
    { key: 'db', role: 'listener', ...idle },
  ]);
});
