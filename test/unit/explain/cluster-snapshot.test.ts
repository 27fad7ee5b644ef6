import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterSnapshot } from '../../../src/explain/gather/cluster-snapshot.ts';
import { nodes, pods } from '../../../src/kube/resource.ts';
import { clusterOf, type Stored } from './support-cluster.ts';

const pod = (name: string, labels: Readonly<Record<string, string>> = {}, phase = 'Running'): Stored => ({
  metadata: { name, namespace: 'shop', labels },
  status: { phase },
});
const objects = { pods: [pod('a', { app: 'web' }), pod('b', { app: 'db' }, 'Pending'), pod('c')], nodes: [{ metadata: { name: 'n1' } }] };

test('a snapshot lists each kind once, and selects by labels and fields', async (t) => {
  const client = clusterOf({ objects });
  const list = t.mock.method(client, 'list');
  const snapshot = clusterSnapshot(client, 100);
  const selected = async (selection: object): Promise<readonly (string | undefined)[]> =>
    (await Array.fromAsync(snapshot.list(pods, { namespace: 'shop', ...selection }))).map(({ metadata }) => metadata.name);
  assert.deepEqual(await selected({ labelSelector: 'app=web' }), ['a']);
  assert.deepEqual(await selected({ labelSelector: 'app' }), ['a', 'b']);
  assert.deepEqual(await selected({ fieldSelector: 'status.phase=Pending' }), ['b']);
  assert.equal((await snapshot.find(pods, { namespace: 'shop', name: 'c' }))?.metadata.name, 'c');
  assert.equal(list.mock.callCount(), 1);
});

test('a snapshot asks once for each single object that it may not list, or that is beyond its limit', async (t) => {
  const client = clusterOf({ objects });
  assert.equal((await clusterSnapshot(client, 1).find(pods, { namespace: 'shop', name: 'c' }))?.metadata.name, 'c');
  const refused = clusterOf({ objects, unlisted: ['nodes'] });
  const [list, find] = [t.mock.method(refused, 'list'), t.mock.method(refused, 'find')];
  const snapshot = clusterSnapshot(refused, 100);
  const found = await Promise.all([1, 2].map(() => snapshot.find(nodes, { name: 'n1' })));
  assert.deepEqual(
    found.map((node) => node?.metadata.name),
    ['n1', 'n1'],
  );
  assert.deepEqual([list.mock.callCount(), find.mock.callCount()], [1, 1]);
});

test('a snapshot asks for one name only if that is all that is selected: some users may list no more', async (t) => {
  const client = clusterOf({ objects });
  const list = t.mock.method(client, 'list');
  const snapshot = clusterSnapshot(client, 100);
  const selection = { namespace: 'shop', fieldSelector: 'metadata.name=b' };
  const found = await Array.fromAsync(snapshot.list(pods, selection));
  assert.deepEqual(
    found.map(({ metadata }) => metadata.name),
    ['b'],
  );
  assert.deepEqual(list.mock.calls[0]?.arguments, [pods, selection]);
});

test('a snapshot examines each object once for a selector, however many values are selected', async () => {
  let reads = 0;
  const many = Array.from({ length: 100 }, (_, at): Stored => {
    const { metadata, ...rest } = pod(`p${at}`);
    return {
      ...rest,
      metadata: {
        ...metadata,
        get labels() {
          reads += 1;
          return { app: `a${at}` };
        },
      },
    };
  });
  const snapshot = clusterSnapshot(clusterOf({ objects: { pods: many } }), 1_000);
  for (let at = 0; at < 100; at += 1) {
    const found = await Array.fromAsync(snapshot.list(pods, { namespace: 'shop', labelSelector: `app=a${at}` }));
    assert.deepEqual(
      found.map(({ metadata }) => metadata.name),
      [`p${at}`],
    );
  }
  assert.ok(reads <= 400, `${reads} reads`);
});
