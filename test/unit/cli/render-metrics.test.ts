import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Histogram, Registry } from '@prometheus-io/client';
import { MetricsByKey } from '../../../src/router/local/key-metrics.ts';
import { showLocalSide } from '../../../src/router/local/local-metrics.ts';
import { metrics } from '../../../src/telemetry/metrics.ts';
import { renderMetrics } from '../../../src/cli/processes/render-metrics.ts';

const SITES = 2_500;

function manySites(): MetricsByKey {
  const counted = new MetricsByKey();
  for (let site = 0; site < SITES; site += 1) {
    counted.requests(`key-${site % 50}`, 'west', `site-${site}`, 'http1').onRequest('GET', 200, 1);
  }
  return counted;
}

test('the text of metrics is the one that the registry makes in one go', async () => {
  const registers = [new Registry()];
  const [registry] = registers;
  assert.ok(registry !== undefined);
  const none = new Counter({ name: 'none_total', help: 'Of none.', labelNames: ['of'], registers });
  none.reset();
  const many = new Counter({ name: 'many_total', help: 'Of many.', labelNames: ['of'], registers });
  for (let of = 0; of < 1_024; of += 1) many.inc({ of: String(of) }, of);
  const times = new Histogram({ name: 'times', help: 'Of a few.', labelNames: ['of'], registers });
  for (let of = 0; of < 100; of += 1) times.observe({ of: String(of) }, of);
  assert.equal(await renderMetrics(registry), await registry.metrics());
});

test('others have their turns while it is made', async () => {
  const counted = manySites();
  const source = {
    keys: () => counted.all(),
    requests: () => counted.allRequests(),
    targetsSetAside: () => 0,
    listening: () => 0,
    reachability: () => [],
  };
  const hide = showLocalSide(source);
  try {
    let turns = 0;
    let isOver = false;
    const goOn = (): void => {
      turns += 1;
      if (!isOver) setImmediate(goOn);
    };
    goOn();
    const text = await renderMetrics(metrics);
    isOver = true;
    const series = text.split('\n').length;
    assert.ok(turns > series / 512, `${turns} turns for ${series} series`);
    assert.equal(text, await metrics.metrics());
  } finally {
    hide();
  }
});

test('sites with invented names are counted separately up to a limit per key and one for all keys', () => {
  const counted = new MetricsByKey();
  for (let site = 0; site < SITES; site += 1) counted.requests('key', 'west', `site-${site}`, 'http1');
  assert.equal([...counted.allRequests()].length, 101);
  assert.equal([...manySites().allRequests()].length, 1_050);
});
