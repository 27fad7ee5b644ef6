/** One namespace costs only itself, whatever its editor writes into it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { securedAccesses, sites, skupperResources } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import { NamespaceReconciler } from '../../../src/site-controller/namespace-reconciler.ts';
import { services, type Resource } from '../../../src/kube/resource.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { cpuTime, leastOf, longestStretch, slowness } from '../support/longest-stretch.ts';
import { crowds, type Crowd } from './support/crowded-namespace.ts';
import { playedCluster, type PlayedCluster } from './support/played-cluster.ts';
import { settings } from './support/view.ts';

const COUNT = 1_500;
/** Each takes a signature. */
const COUNT_OF_SIGNED = 400;
/** Milliseconds of CPU time of this thread, on an idle machine. */
const MOST_AT_ONCE = 50;
/** Milliseconds that another namespace may wait: less than its Listener takes in an idle cluster, which is 200 to 500. */
const MOST_ADDED = 200;

const countOf = (what: string): number => (/^Certificate\b(?! without)/.test(what) ? COUNT_OF_SIGNED : COUNT);

const resource = (kind: 'Site' | 'Listener', namespace: string, name: string, spec: object): Parameters<PlayedCluster['api']['put']>[1] =>
  ({ apiVersion: API_VERSION, kind, metadata: { namespace, name, uid: `uid-${namespace}-${kind}-${name}` }, spec }) as never;

interface Keeping extends AsyncDisposable {
  readonly cluster: PlayedCluster;
  pass(namespace: string): Promise<unknown>;
}

async function keeping(crowd: Crowd, count = COUNT): Promise<Keeping> {
  const cluster = await playedCluster();
  const { api, caches, signal } = cluster;
  api.put(sites, resource('Site', 'west', 'a', { linkAccess: 'local' }) as never);
  crowd(api, count, 'west');
  // An answer comes in another iteration, as that of a real API server.
  api.meets = () => setImmediate();
  const keeper = new NamespaceReconciler({
    client: api,
    caches,
    settings: { ...settings, access: { ...settings.access, defaultType: 'local' } },
    events: { record: () => {}, [Symbol.asyncDispose]: async () => {} },
    log: createLogger({ level: 'silent', component: 'test' }),
    now: () => '2026-01-31T00:00:00Z',
    wake: () => {},
  });
  return {
    cluster,
    pass: (namespace) => keeper.pass(namespace, signal).catch(() => undefined),
    [Symbol.asyncDispose]: async () => {
      await keeper[Symbol.asyncDispose]();
      cluster[Symbol.dispose]();
    },
  };
}

describe('A namespace with thousands of', () => {
  for (const [what, crowd] of Object.entries(crowds)) {
    test(`${what}: no rule holds the event loop up`, async () => {
      const longest = await leastOf(MOST_AT_ONCE, async () => {
        await using kept = await keeping(crowd, countOf(what));
        const passes: number[] = [];
        for (let pass = 0; pass < 3; pass += 1) passes.push(await longestStretch(() => kept.pass('west')));
        return Math.max(...passes);
      });
      assert.ok(longest < MOST_AT_ONCE, `${longest.toFixed(0)} ms at once`);
    });
  }

  test('Listeners that change all the time: no rule holds the event loop up', async () => {
    const longest = await leastOf(MOST_AT_ONCE, async () => {
      await using kept = await keeping(crowds['Listener'] ?? assert.fail());
      const { api } = kept.cluster;
      await kept.pass('west');
      return longestStretch(async () => {
        const state = { isDone: false };
        const passing = kept.pass('west').finally(() => (state.isDone = true));
        for (let round = 0; !state.isDone; round += 1) {
          const name = `listener-${round % COUNT}`;
          const spec = { routingKey: `key-${round}`, host: `host-${round % COUNT}`, port: 1024 + (round % 100) };
          api.put(skupperResources.Listener as Resource, resource('Listener', 'west', name, spec));
          await setImmediate();
        }
        await passing;
      });
    });
    assert.ok(longest < MOST_AT_ONCE, `${longest.toFixed(0)} ms at once`);
  });
});

describe('Another namespace', () => {
  for (const what of [
    'Listener',
    'Certificate',
    'Secret',
    'label template with a huge selector',
    'damaged revocations',
    'invalid resource',
  ]) {
    test(`gets the Service of its Listener while one has thousands of ${what}`, async () => {
      const crowd = crowds[what] ?? assert.fail(what);
      const took = await leastOf(MOST_ADDED, async () => {
        await using kept = await keeping(crowd, countOf(what));
        const { api } = kept.cluster;
        const crowded = kept.pass('west');
        api.put(sites, resource('Site', 'east', 'east', {}) as never);
        api.put(skupperResources.Listener as Resource, resource('Listener', 'east', 'web', { routingKey: 'web', host: 'web', port: 80 }));
        const before = cpuTime();
        await kept.pass('east');
        const own = (cpuTime() - before) / slowness();
        assert.ok(api.read(services, 'east/web') !== undefined);
        await crowded;
        return own;
      });
      // All of the crowded namespace takes seconds; each of the other's slices waits for one of its.
      assert.ok(took < MOST_ADDED, `${took.toFixed(0)} ms`);
    });
  }
});

test('certificates that are issued together are put on record together', async () => {
  await using kept = await keeping(crowds['Certificate'] ?? assert.fail(), COUNT_OF_SIGNED);
  // The first pass makes the authority.
  for (let pass = 0; pass < 3; pass += 1) await kept.pass('west');
  const { writes } = kept.cluster.api;
  assert.ok(writes.filter((call) => call.startsWith('create secrets')).length > COUNT_OF_SIGNED);
  const ofRecord = writes.filter((call) => call.endsWith(' secrets west/skupper-site-ledger')).length;
  assert.ok(ofRecord < COUNT_OF_SIGNED / 8, `${ofRecord} writes of the record`);
});

describe('What is too much for one namespace', () => {
  test('is refused with a condition, the oldest stay, and what was made for the others stays, too', async () => {
    const crowd: Crowd = (api, _count, namespace) => {
      for (let index = 0; index < 300; index += 1) {
        const created = { creationTimestamp: `2026-01-01T00:${String(59 - Math.floor(index / 60)).padStart(2, '0')}:00Z` };
        const name = `access-${String(index).padStart(3, '0')}`;
        const spec = { accessType: 'local', selector: { app: 'a' }, ports: [{ name: 'x', port: 1, targetPort: 1, protocol: 'TCP' }] };
        api.put(
          skupperResources.SecuredAccess as Resource,
          { apiVersion: API_VERSION, kind: 'SecuredAccess', metadata: { namespace, name, uid: `uid-${name}`, ...created }, spec } as never,
        );
      }
    };
    await using kept = await keeping(crowd);
    const { api } = kept.cluster;
    await kept.pass('west');
    await kept.pass('west');
    const statusOf = (name: string): string => JSON.stringify(api.read(securedAccesses, `west/${name}`)?.status ?? {});
    assert.match(statusOf('access-059'), /more than 256 resources of kind SecuredAccess/);
    assert.doesNotMatch(statusOf('access-299'), /more than/);
    assert.equal(api.read(services, 'west/access-059'), undefined);
    assert.ok(api.read(services, 'west/access-299') !== undefined);
  });
});
