/** `earshot explain` and `check` for a site in a cluster whose routers the user may ask. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RouterApiSources } from '../../../src/agent/api/router-api.ts';
import type { ConnectionRecord, ProbeResult, RouterRecord, RouterState } from '../../../src/router/contract.ts';
import { Cluster, condition, ready } from './cluster.ts';
import { limitRights, startRouterPods, storeIdentity } from './router-pods.ts';

interface Shown {
  readonly verdict: string;
  readonly cause?: { readonly id: string; readonly code?: string; readonly says: string };
  readonly steps: readonly { readonly id: string; readonly state: string; readonly says: string }[];
}

const [west, east] = ['west', 'east'].map((name) => ({ id: name, name, namespace: name, platform: 'kubernetes', version: '0' })) as [
  RouterRecord['site'],
  RouterRecord['site'],
];
const network: readonly RouterRecord[] = [
  {
    router: 'west/1',
    site: west,
    edge: false,
    links: [{ name: 'east', siteId: 'east', siteName: 'east', cost: 1 }],
    keys: [{ routingKey: 'web', listeners: 1, connectors: 0 }],
  },
  {
    router: 'east/1',
    site: east,
    edge: false,
    links: [{ name: 'west', siteId: 'west', siteName: 'west', cost: 1 }],
    keys: [{ routingKey: 'web', listeners: 0, connectors: 1 }],
  },
];
/** As the status of the Site has it. */
const recorded = [
  { ...west, links: [{ name: 'east', remoteSiteId: 'east', operational: true }], services: [{ routingKey: 'web', listeners: ['web'] }] },
  { ...east, services: [{ routingKey: 'web', connectors: ['web'] }] },
];
const link = { operational: false, problem: { code: 'tls-foreign-ca', message: 'another authority' } } as const;
const state: RouterState = { listeners: {}, connectors: {}, links: { 'Link/east': link }, accesses: {}, incoming: [], network };
const refused: ProbeResult = {
  key: 'web',
  hops: [{ router: 'east/1', site: 'east', ok: true, ms: 3 }],
  server: { ok: false, code: 'target-refused', says: 'connection refused: nothing is listening' },
};
const record: ConnectionRecord = {
  id: 'a1',
  key: 'web',
  state: 'open',
  begun: '2030-01-01T00:00:00.000Z',
  ended: null,
  idle: 0,
  from: { site: 'west', siteName: 'west', client: '10.0.0.7', listener: 'Listener/web' },
  via: [],
  to: { site: 'east', siteName: 'east', router: 'east/1', server: null },
  bytes: { up: 1, down: 2 },
  ms: { connect: 2, firstByte: 3 },
  end: null,
  message: null,
  halves: ['first'],
  of: 1,
};
const router: Partial<RouterApiSources> = {
  site: () => west,
  state: () => state,
  links: () => [{ name: 'Link/east', cost: 1, endpoints: [] }] as unknown as ReturnType<RouterApiSources['links']>,
  records: () => ({
    list: ({ state: of, id }) => {
      const items = of === 'open' && (id ?? 'a1') === 'a1' ? [record] : [];
      return { items, next: undefined, total: items.length, latest: 0 };
    },
    listRequests: () => ({ items: [], next: undefined, total: 0, latest: 0 }),
    end: () => Promise.resolve(false),
  }),
  probe: () => Promise.resolve(refused),
};

async function siteWithRouter(isForbidden?: (right: string) => boolean): Promise<Cluster> {
  const cluster = await Cluster.start();
  limitRights(cluster, isForbidden);
  cluster.store('sites/west', { spec: {}, status: ready({ network: recorded }) });
  cluster.store('listeners/web', { spec: { routingKey: 'web', host: 'web', port: 80 }, status: ready() });
  const down = [condition('Configured'), condition('Operational', 'False', 'no link'), condition('Ready', 'False', 'no link')];
  cluster.store('links/east', { spec: { endpoints: [] }, status: { status: 'Pending', message: 'no link', conditions: down } });
  storeIdentity(cluster, 'reader', 'api');
  return cluster;
}

async function shown(cluster: Cluster, words: readonly string[]): Promise<Shown> {
  return JSON.parse((await cluster.earshot(['explain', ...words, '-o', 'json'])).out) as Shown;
}

describe('earshot explain in a cluster whose routers answer', () => {
  it('names a server of another site that refuses, by a probe', async () => {
    await using cluster = await siteWithRouter();
    await using _pods = await startRouterPods(cluster, { 'router-1': router });
    const { cause, steps } = await shown(cluster, ['lnr', 'web', '--probe']);
    assert.deepEqual([cause?.id, cause?.code], ['listener.server', 'target-refused']);
    assert.match(cause?.says ?? '', /the server at east does not accept connections/);
    assert.ok(steps.some(({ id, says }) => id === 'listener.hops' && says.includes('east 3.0 ms')));
  });

  it('explains a connection from the records of the routers', async () => {
    await using cluster = await siteWithRouter();
    await using _pods = await startRouterPods(cluster, { 'router-1': router });
    const { verdict, steps } = await shown(cluster, ['connection', 'a1']);
    assert.equal(verdict, 'pass');
    assert.ok(steps.some(({ id, says }) => id === 'connection.client' && says.startsWith('10.0.0.7 at Listener/web')));
    assert.equal((await cluster.earshot(['explain', 'connection', 'b2'])).code, 4);
  });

  it('has the codes of links, which statuses lack', async () => {
    await using cluster = await siteWithRouter();
    await using _pods = await startRouterPods(cluster, { 'router-1': router });
    assert.equal((await shown(cluster, ['link', 'east'])).cause?.code, 'tls-foreign-ca');
  });

  it('without the right to some kinds explains the others, and names the right for those', async () => {
    await using cluster = await siteWithRouter((each) => / access(grants|tokens)$/.test(each));
    await using _pods = await startRouterPods(cluster, { 'router-1': router });
    const { cause } = await shown(cluster, ['lnr', 'web', '--probe']);
    assert.equal(cause?.code, 'target-refused');
    const { verdict, steps } = await shown(cluster, ['accessgrant', 'any']);
    assert.equal(verdict, 'unknown');
    assert.ok(steps.some((step) => step.says === 'your user may not list accessgrants.skupper.io in the namespace west'));
    const check = JSON.parse((await cluster.earshot(['check', '-o', 'json'])).out) as {
      readonly findings: readonly { readonly state: string; readonly says: string }[];
    };
    const unknown = check.findings.filter(({ state: of }) => of === 'unknown').map((step) => step.says);
    assert.deepEqual(
      unknown.filter((text) => text.includes('skupper.io')),
      ['accessgrants', 'accesstokens'].map((kind) => `your user may not list ${kind}.skupper.io in the namespace west`),
    );
  });

  for (const [right, says] of [
    ['get secrets/reader', 'your user may not get secrets/reader in the namespace west'],
    ['create pods/portforward', 'your user may not get and create pods/portforward in the namespace west'],
    ['watch pods', 'your user may not list and watch pods in the namespace west'],
  ] as const) {
    it(`without the right to ${right} names it where a router is needed, and takes the rest from statuses`, async () => {
      await using cluster = await siteWithRouter((each) => each === right);
      await using _pods = await startRouterPods(cluster, { 'router-1': router });
      const { verdict, steps } = await shown(cluster, ['lnr', 'web', '--probe']);
      const unknown = steps.filter(({ state: of }) => of === 'unknown');
      assert.notEqual(verdict, 'fail');
      assert.ok(
        unknown.some((step) => step.says.includes(says)),
        JSON.stringify(steps),
      );
      const connection = await shown(cluster, ['connection', 'a1']);
      assert.ok(connection.steps.some((step) => step.state === 'unknown' && step.says.includes(says)));
      assert.equal((await shown(cluster, ['link', 'east'])).cause?.says, 'no link');
    });
  }
});

describe('earshot check in a cluster', () => {
  it('has the codes of links from the routers', async () => {
    await using cluster = await siteWithRouter();
    await using _pods = await startRouterPods(cluster, { 'router-1': router });
    const { objects } = JSON.parse((await cluster.earshot(['check', '-o', 'json'])).out) as {
      readonly objects: readonly (Shown & { readonly object: string })[];
    };
    assert.equal(objects.find(({ object }) => object === 'Link/east')?.cause?.code, 'tls-foreign-ca');
  });

  it('finds nothing more to report without a certificate for the routers', async () => {
    await using cluster = await siteWithRouter((right) => right === 'get secrets/reader');
    const { out } = await cluster.earshot(['check', '-o', 'json']);
    assert.doesNotMatch(out, /secrets\/reader/);
  });
});
