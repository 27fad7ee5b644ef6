import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadinessGate } from '../../../src/agent/readiness-gate.ts';
import type { ListenerState, RouterConfig, RouterState } from '../../../src/router/contract.ts';
import { link, siteConfig } from '../router/support/site.ts';

const config: RouterConfig = { ...siteConfig('west'), router: 'new', links: [link('east', 1, { name: 'east' })] };

const state = (routers: readonly string[], operational: boolean): RouterState => ({
  listeners: {},
  connectors: {},
  accesses: {},
  incoming: [],
  links: { east: { operational } },
  network: routers.map((router) => ({ router, site: config.site, edge: false, links: [], keys: [] })),
});

test('a router waits for the others that serve, and for its links', () => {
  const arrival = new ReadinessGate(() => 0);
  assert.match(arrival.waitsFor(config, state(['new'], true), ['old']) ?? '', /router old/);
  assert.match(arrival.waitsFor(config, state(['new', 'old'], false), ['old']) ?? '', /link east/);
  assert.equal(arrival.waitsFor(config, state(['new', 'old'], true), ['old']), undefined);
});

test('a router waits until it reaches the sites that the others are linked to', () => {
  const east = siteConfig('east').site;
  const [to, alone] = [
    { name: 'link', siteId: east.id, siteName: '', cost: 1 },
    { ...config, links: [] },
  ];
  const linked = (...routers: readonly string[]): RouterState => {
    const seen = state(routers, true);
    return { ...seen, network: seen.network.map((record) => ({ ...record, links: record.router === 'new' ? [] : [to] })) };
  };
  const heard = linked('new', 'old');
  const whole = { ...heard, network: [...heard.network, { router: 'main', site: east, edge: false, links: [], keys: [] }] };
  const arrival = new ReadinessGate(() => 0);
  assert.match(arrival.waitsFor(alone, heard, ['old']) ?? '', new RegExp(`site ${east.id}`));
  assert.equal(arrival.waitsFor(alone, whole, ['old']), undefined);
  // A revoked site is unreachable, and a site linked only to a router that is about to stop is not worth waiting for.
  const revoked = { sites: [east.id], serials: [] };
  assert.equal(new ReadinessGate(() => 0).waitsFor({ ...alone, revoked }, heard, ['old']), undefined);
  const ending = linked('new', 'ending');
  const serving = { router: 'old', site: config.site, edge: false, links: [], keys: [] };
  assert.equal(new ReadinessGate(() => 0).waitsFor(alone, { ...ending, network: [...ending.network, serving] }, ['old']), undefined);
});

test('a router waits until it reaches the sites beyond those that the others are linked to', () => {
  const [middle, east] = [siteConfig('middle').site, siteConfig('east').site];
  const linkTo = ({ id }: typeof east) => ({ name: 'link', siteId: id, siteName: '', cost: 1 });
  const record = (router: string, site: typeof east, ...to: readonly (typeof east)[]): RouterState['network'][number] => {
    return { router, site, edge: false, links: to.map(linkTo), keys: [] };
  };
  const heard = {
    ...state([], true),
    network: [record('old', config.site, middle), record('new', config.site, middle), record('main', middle, east)],
  };
  const waitsFor = (now: RouterState, revoked: readonly string[] = []): string | undefined =>
    new ReadinessGate(() => 0).waitsFor({ ...config, links: [], revoked: { sites: revoked, serials: [] } }, now, ['old']);
  assert.match(waitsFor(heard) ?? '', new RegExp(`site ${east.id}`), 'its servers may be there');
  assert.equal(waitsFor({ ...heard, network: [...heard.network, record('main', east, middle)] }), undefined);
  assert.equal(waitsFor(heard, [east.id]), undefined, 'a revoked site is never reached');
});

test('a network is looked through once, however often it is asked what it waits for', () => {
  const listener = { name: 'Listener/web', port: 1, destination: { kind: 'key', routingKey: 'web' }, observer: 'none' } as const;
  const here = { ...config, links: [], listeners: [listener] };
  let looks = 0;
  const server = {
    router: 'old',
    site: config.site,
    edge: false,
    links: [],
    get keys() {
      looks += 1;
      return [{ routingKey: 'web', connectors: 1, listeners: 0 }];
    },
  };
  const waiting: RouterState = { ...state([], true), network: [server] };
  const arrival = new ReadinessGate(() => 0);
  for (let times = 0; times < 100; times += 1) assert.match(arrival.waitsFor(here, waiting, ['old']) ?? '', /does not listen/);
  assert.equal(looks, 1);
  const open = { ...waiting, listeners: { 'Listener/web': { listening: true, reachableKeys: [] } } };
  assert.equal(arrival.waitsFor(here, open, ['old']), undefined);
});

test('a router waits until it listens where a Connector serves', () => {
  const listener = { name: 'Listener/web', port: 1, destination: { kind: 'key', routingKey: 'web' }, observer: 'none' } as const;
  const here = { ...config, links: [], listeners: [listener] };
  const seen = state(['new', 'old'], true);
  const told = (connectors: number, web: ListenerState): RouterState => ({
    ...seen,
    listeners: { 'Listener/web': web },
    network: seen.network.map((record) => ({ ...record, keys: [{ routingKey: 'web', connectors, listeners: 1 }] })),
  });
  const shut = { listening: false, reachableKeys: [] };
  const waitsFor = (now: RouterState): string | undefined => new ReadinessGate(() => 0).waitsFor(here, now, ['old']);
  assert.match(waitsFor(told(1, shut)) ?? '', /Listener\/web does not listen yet/);
  assert.equal(waitsFor(told(1, { ...shut, listening: true })), undefined);
  // Without a Connector, or with its port taken, a client fares no better at another router.
  assert.equal(waitsFor(told(0, shut)), undefined);
  assert.equal(waitsFor(told(1, { ...shut, problem: { code: 'port-in-use', message: 'taken' } })), undefined);
});

test('once it has arrived nothing that goes down takes that back', () => {
  const arrival = new ReadinessGate(() => 0);
  assert.equal(arrival.waitsFor(config, state(['new', 'old'], true), ['old']), undefined);
  assert.equal(arrival.waitsFor(config, state(['new'], false), ['old', 'newer']), undefined);
});

test('a router that is alone waits for nothing', () => {
  assert.equal(new ReadinessGate(() => 0).waitsFor(config, state(['new'], false), []), undefined);
});

test('it does not wait for ever', () => {
  let now = 0;
  const arrival = new ReadinessGate(() => now);
  assert.notEqual(arrival.waitsFor(config, state(['new'], false), ['old']), undefined);
  now = 9_999;
  assert.notEqual(arrival.waitsFor(config, state(['new'], false), ['old']), undefined);
  now = 10_000;
  assert.equal(arrival.waitsFor(config, state(['new'], false), ['old']), undefined);
});

test('a router of another site that has the same name is not the one that is meant', () => {
  const foreign = { router: 'old', site: siteConfig('east').site, edge: false, links: [], keys: [] };
  const seen: RouterState = { ...state(['new'], true), network: [foreign] };
  assert.match(new ReadinessGate(() => 0).waitsFor(config, seen, ['old']) ?? '', /router old/);
});
