/** `earshot debug conn` for a site in a cluster, whose routers answer through the API server. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConnectionRecord, RecordsView } from '../../../src/router/contract.ts';
import { Cluster } from './cluster.ts';
import { failure } from '../kube/raw-server.ts';
import { limitRights, REVIEWS, startRouterPods, storeIdentity } from './router-pods.ts';

const aRecord = (id: string, given: Partial<ConnectionRecord> = {}): ConnectionRecord => ({
  id,
  key: 'web',
  state: 'open',
  begun: '2030-01-01T00:00:00.000Z',
  ended: null,
  idle: 0,
  from: { site: 'w', siteName: 'west', client: null, listener: null },
  via: [],
  to: { site: 'e', siteName: 'east', router: null, server: null },
  bytes: { up: 1, down: 2 },
  ms: { connect: null, firstByte: null },
  end: null,
  message: null,
  halves: ['first'],
  of: 1,
  ...given,
});

/** @param ended receives the IDs of connections that are ended */
function recordsOf(records: readonly ConnectionRecord[], ended: string[] = []): RecordsView {
  return {
    list: ({ state, id, key }) => {
      const items = records.filter((each) => each.state === state && (id ?? each.id) === each.id && (key ?? each.key) === each.key);
      return { items, next: undefined, total: items.length, latest: 0 };
    },
    listRequests: () => ({ items: [], next: undefined, total: 0, latest: 0 }),
    end: (id) => {
      const has = records.some((each) => each.id === id);
      if (has) ended.push(id);
      return Promise.resolve(has);
    },
  };
}

describe('earshot debug conn in a cluster', () => {
  it('merges the connections of all router pods by their ID, and selects by key', async () => {
    await using cluster = await Cluster.start();
    limitRights(cluster);
    storeIdentity(cluster, 'reader', 'api');
    const both = { site: 'w', siteName: 'west', client: '10.0.0.7', listener: 'Listener/web' };
    const server = { site: 'w', siteName: 'west', router: 'w/2', server: '10.0.0.9:80' };
    await using _pods = await startRouterPods(cluster, {
      'router-1': { records: () => recordsOf([aRecord('a1', { from: both }), aRecord('b2', { key: 'other' })]) },
      'router-2': { records: () => recordsOf([aRecord('a1', { to: server, halves: ['last'] })]) },
    });
    const { code, out, err } = await cluster.earshot(['debug', 'conn', '--key', 'web', '-o', 'json']);
    assert.deepEqual([code, err], [0, '']);
    const { items } = JSON.parse(out) as { readonly items: readonly ConnectionRecord[] };
    assert.deepEqual(
      items.map(({ id, from, to, halves }) => [id, from.client, to.server, halves]),
      [['a1', '10.0.0.7', '10.0.0.9:80', ['first', 'last']]],
    );
    assert.match((await cluster.earshot(['debug', 'conn', 'b2'])).out, /Routing key: +other\n/);
  });

  it('ends a connection at the pod that has it', async () => {
    await using cluster = await Cluster.start();
    limitRights(cluster);
    storeIdentity(cluster, 'operator', 'api-control');
    const ended: string[] = [];
    await using _pods = await startRouterPods(cluster, {
      'router-1': { records: () => recordsOf([]) },
      'router-2': { records: () => recordsOf([aRecord('a1')], ended) },
    });
    const { out } = await cluster.earshot(['debug', 'conn', 'a1', '--end']);
    assert.deepEqual([out, ended], ['Connection a1 was ended.\n', ['a1']]);
    const other = await cluster.earshot(['debug', 'conn', 'b2', '--end']);
    assert.equal(other.code, 4);
    assert.match(other.err, /has the connection "b2". `earshot --kubeconfig \S+ debug conn` lists them\./);
  });

  it('does not end connections with a certificate that only reads', async () => {
    await using cluster = await Cluster.start();
    limitRights(cluster);
    storeIdentity(cluster, 'reader', 'api');
    const ended: string[] = [];
    await using _pods = await startRouterPods(cluster, { 'router-1': { records: () => recordsOf([aRecord('a1')], ended) } });
    const { code, err } = await cluster.earshot(['debug', 'conn', 'a1', '--end']);
    assert.deepEqual([code, ended], [1, []]);
    assert.match(err, /^The connection cannot be ended: the routers ask for a client certificate, and the namespace west does not have a/);
    assert.match(err, /Create a Certificate with this spec: .* settings: \{ purpose: api-control \} \}\.$/m);
  });

  it('lists what one pod knows if the other does not answer, and says so', async () => {
    await using cluster = await Cluster.start();
    limitRights(cluster);
    storeIdentity(cluster, 'reader', 'api');
    await using _pods = await startRouterPods(cluster, { 'router-1': { records: () => recordsOf([aRecord('a1')]) }, 'router-2': {} });
    const { code, out, err } = await cluster.earshot(['debug', 'conn']);
    assert.equal(code, 0);
    assert.match(out, /^a1 /m);
    assert.match(err, /^Router router-2 does not list its connections: .*does not record connections/m);
  });

  it('says that the API server does not list the pods, and why', { timeout: 30_000 }, async () => {
    await using cluster = await Cluster.start();
    const failing = failure(500, 'InternalError', 'etcd is unavailable');
    cluster.refuse = ({ what }) => (what === REVIEWS ? { code: 201, metadata: {}, status: { allowed: true } } : failing);
    const { code, err } = await cluster.earshot(['debug', 'conn']);
    assert.equal(code, 1);
    assert.match(err, /^Connections cannot be listed: the router pods cannot be listed: .*etcd is unavailable/);
  });

  it('says that no router pod runs, with exit code 6', async () => {
    await using cluster = await Cluster.start();
    limitRights(cluster);
    const { code, err } = await cluster.earshot(['debug', 'conn']);
    assert.equal(code, 6);
    assert.match(err, /^No router pod runs in the namespace west\. `earshot --kubeconfig \S+ site status` says why\.$/m);
  });

  const missing: readonly (readonly [right: string, says: RegExp])[] = [
    ['watch pods', /your user may not list and watch pods in the namespace west\. Ask an administrator/],
    ['create pods/portforward', /your user may not get and create pods\/portforward in the namespace west\. Ask/],
    ['list certificates', /your user may not list certificates\.skupper\.io in the namespace west\. Ask/],
    ['get secrets/reader', /and your user may not get secrets\/reader in the namespace west\. Ask/],
  ];
  for (const [right, says] of missing) {
    it(`names the missing right to ${right}`, async () => {
      await using cluster = await Cluster.start();
      limitRights(cluster, (each) => each === right);
      storeIdentity(cluster, 'reader', 'api');
      await using _pods = await startRouterPods(cluster, { 'router-1': { records: () => recordsOf([aRecord('a1')]) } });
      const { code, err } = await cluster.earshot(['debug', 'conn']);
      assert.equal(code, 1);
      assert.match(err, /^Connections cannot be listed: /);
      assert.match(err, says);
    });
  }
});
