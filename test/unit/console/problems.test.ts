import assert from 'node:assert/strict';
import { test } from 'node:test';
import { memoryState, memoryWatcher } from './memory-sources.ts';

test('a namespace that nothing runs says so, with the advice of the command line', async () => {
  const state = memoryState();
  state.routers = [];
  state.notRunning = 'No process runs the namespace west: start it with `earshot -n west run`.';
  const watcher = memoryWatcher(state);
  await watcher.read();
  const [problem] = watcher.problems;
  assert.deepEqual([problem?.status, problem?.message, problem?.severity], ['not running', state.notRunning, 'error']);
  assert.equal(watcher.overview().site?.status, 'Stopped');
});

test('a link that is silent is a problem before its resource says so, since the time of its last answer', async () => {
  const state = memoryState();
  const silentSince = state.now - 2_500;
  state.links = { items: [{ name: 'hub', cost: 1, operational: true, remoteSiteId: 'hub-id', remoteSiteName: 'hub', silentSince }] };
  const watcher = memoryWatcher(state);
  await watcher.read();
  const problem = watcher.problems.find(({ object }) => object === 'Link/hub');
  assert.deepEqual([problem?.status, problem?.code, problem?.since], ['silent', 'silent', new Date(silentSince).toISOString()]);
});

test('a site that is silent on its link to this one is a problem, once and until it links again or the link ends', async () => {
  const state = memoryState();
  const south = { siteId: 'south-id', siteName: 'south', address: '192.0.2.1:1', cost: 1, silentSince: state.now - 2_500 };
  state.links = { items: [], incoming: [south, { ...south, address: '192.0.2.1:2' }] };
  const watcher = memoryWatcher(state);
  await watcher.read();
  const [problem, ...others] = watcher.problems.filter(({ kind }) => kind === 'site');
  assert.deepEqual([problem?.object, problem?.code, others.length], ['site/south', 'silent', 0]);
  const { silentSince: _, ...again } = { ...south, address: '192.0.2.1:3' };
  for (const incoming of [[south, again], []]) {
    state.links = { items: [], incoming };
    await watcher.read();
    assert.ok(watcher.problems.every(({ kind }) => kind !== 'site'));
  }
});

test('names of peers become bounded text without control characters', async () => {
  const state = memoryState();
  state.network = [{ id: 'x', name: `\u202e<script>${'a'.repeat(5_000)}\n`, links: 'none', routers: {} }];
  state.keys = [{ key: 'web\u0007', listeners: null, connectors: [{ site: 7 }] }, []];
  const watcher = memoryWatcher(state);
  await watcher.read();
  const [site] = watcher.facts.sites;
  assert.ok((site?.name.length ?? 0) <= 253);
  assert.match(site?.name ?? '', /^\\u\{202e\}<script>a+…$/);
  assert.deepEqual(
    watcher.keys.map(({ key }) => key),
    ['web\\u{7}'],
  );
});

test("a Listener whose routing key differs in case from that of a connector has the connector's key as advice", async () => {
  const state = memoryState();
  state.keys = [...state.keys, { key: 'Billing', listeners: [], connectors: [{ site: 'east-id', count: 1 }], reachable: true }];
  const watcher = memoryWatcher(state);
  await watcher.read();
  const problem = watcher.problems.find(({ object }) => object === 'Listener/billing');
  assert.match(problem?.advice ?? '', /^Did you mean "Billing" \(east\)\? Create a Connector/);
});
