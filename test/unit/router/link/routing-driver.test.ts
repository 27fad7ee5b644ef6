import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Link } from '../../../../src/router/link/link.ts';
import { Links } from '../../../../src/router/link/links.ts';
import { RoutingDriver } from '../../../../src/router/link/routing-driver.ts';
import { createRouting } from '../../../../src/routing/routing.ts';
import { quiet, siteConfig } from '../support/site.ts';

/** As much of a link as the feed uses. */
function linkThatCounts(id: string): { readonly link: Link; readonly sent: readonly Uint8Array[]; readonly waits: { queued: number } } {
  const sent: Uint8Array[] = [];
  const waits = { queued: 0 };
  const { site } = siteConfig('peer');
  const link = {
    id,
    router: `${site.id}/main`,
    cost: 1,
    peer: { site },
    routing: Object.assign(waits, { send: (message: Uint8Array) => void sent.push(message) }),
  };
  // The feed asks a link for no more than this.
  return { link: link as unknown as Link, sent, waits };
}

test("a router's own record after many changes is sent within a moment, not at the next tick", (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'], now: 1_000_000 });
  const { site, siteKey, router } = siteConfig('self');
  const links = new Links();
  const { link, sent } = linkThatCounts('one');
  links.add(link);
  using feed = new RoutingDriver({ log: quiet, routing: createRouting({ router, site, siteKey }), links, onChange: () => {} });
  feed.up(link);
  const hasKey = (key: string): boolean => sent.some((message) => Buffer.from(message).includes(key));
  for (let change = 1; change <= 20; change += 1) {
    feed.setFacts({ edge: false, keys: [{ routingKey: `key-${change}`, connectors: 1, listeners: 0 }] });
  }
  assert.equal(hasKey('key-2'), true, 'the first changes go at once');
  assert.equal(hasKey('key-20'), false, 'many are held back');
  t.mock.timers.tick(400);
  assert.equal(hasKey('key-20'), true);
});

test('however often others have something new, and however long it takes to heed that, it is heeded for a part of the time', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'], now: 1_000_000 });
  let clock = 0;
  t.mock.method(performance, 'now', () => clock);
  const { site, siteKey, router } = siteConfig('self');
  const links = new Links();
  let heeded = 0;
  const onChange = (): void => {
    heeded += 1;
    clock += 20;
  };
  using feed = new RoutingDriver({ log: quiet, routing: createRouting({ router, site, siteKey }), links, onChange });
  const pass = (milliseconds: number): void => {
    clock += milliseconds;
    t.mock.timers.tick(milliseconds);
  };
  const { link } = linkThatCounts('one');
  links.add(link);
  const flap = (times: number): void => {
    for (let turn = 0; turn < times; turn += 1) {
      if (turn % 2 === 0) feed.up(link);
      else feed.down(link);
      pass(1);
    }
  };
  flap(20);
  assert.equal(heeded, 20, 'a router that has just begun heeds all');
  flap(10_000);
  assert.ok(heeded > 25 && heeded < 100, `${heeded} times`);
  const before = heeded;
  pass(500);
  assert.equal(heeded, before + 1, 'the last change is heeded too');
});

test('a peer with much to read receives no updates, and both ends compare their records once it has read', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'], now: 1_000_000 });
  const { site, siteKey, router } = siteConfig('self');
  const links = new Links();
  using feed = new RoutingDriver({ log: quiet, routing: createRouting({ router, site, siteKey }), links, onChange: () => {} });
  const [from, slow] = [linkThatCounts('from'), linkThatCounts('slow')];
  for (const { link } of [from, slow]) {
    links.add(link);
    feed.up(link);
  }
  const loud = siteConfig('loud');
  const loudRouting = createRouting({ router: loud.router, site: loud.site, siteKey: loud.siteKey });
  loudRouting.adjacencyUp({ router: from.link.router, site: from.link.peer.site, link: 'x', cost: 1 }, Date.now());
  const say = (key: string): void => {
    t.mock.timers.tick(10_000);
    const said = loudRouting.setFacts({ edge: false, keys: [{ routingKey: key, connectors: 1, listeners: 0 }] }, Date.now());
    for (const { message } of said) feed.receive(from.link, message);
  };
  const told = (): readonly string[] =>
    ['first', 'second'].filter((key) => slow.sent.some((message) => Buffer.from(message).includes(key)));
  say('first');
  assert.deepEqual(told(), ['first']);
  slow.waits.queued = 1_000_000;
  say('second');
  const before = slow.sent.length;
  t.mock.timers.tick(5_000);
  assert.deepEqual([told(), slow.sent.length], [['first'], before]);
  slow.waits.queued = 0;
  t.mock.timers.tick(1_000);
  assert.equal(slow.sent[before]?.[0], 1, 'a summary');
});
