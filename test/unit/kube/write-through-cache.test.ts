import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cache, Change } from '../../../src/kube/contract.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { CacheWriter } from '../../../src/kube/watch/cache.ts';
import { WriteThroughCache } from '../../../src/kube/watch/write-through-cache.ts';

/** A cache that the test fills, as a watch would. */
function played(): { readonly cache: Cache<KubeObject>; readonly happens: (change: Change<KubeObject>) => void } {
  const objects = new Map<string, KubeObject>();
  const handlers: ((change: Change<KubeObject>) => void)[] = [];
  const cache: Cache<KubeObject> = {
    get size() {
      return objects.size;
    },
    get: (key) => objects.get(key),
    values: () => objects.values(),
    by: () => [],
    synced: Promise.resolve(),
    isSynced: true,
    listedAt: '',
    onRelist: () => () => undefined,
    onChange(handler) {
      handlers.push(handler);
      return () => undefined;
    },
  };
  return {
    cache,
    happens(change) {
      if (change.type === 'deleted') objects.delete('shop/web');
      else objects.set('shop/web', change.object);
      for (const handler of handlers) handler(change);
    },
  };
}

function version(resourceVersion: string, uid = 'first'): KubeObject {
  return { metadata: { name: 'web', namespace: 'shop', uid, resourceVersion } };
}

test('a written object is seen before the watch reports it, and the cache counts again once it has it', () => {
  const { cache, happens } = played();
  const view = new WriteThroughCache(cache);
  happens({ type: 'added', object: version('9') });
  view.wrote(version('10'));
  assert.equal(view.get('shop/web')?.metadata.resourceVersion, '10');
  happens({ type: 'modified', object: version('10') });
  happens({ type: 'modified', object: version('11') });
  assert.equal(view.get('shop/web')?.metadata.resourceVersion, '11');
});

test('an answer older than the cache is not kept', () => {
  const { cache, happens } = played();
  const view = new WriteThroughCache(cache);
  happens({ type: 'added', object: version('100') });
  view.wrote(version('99'));
  assert.equal(view.get('shop/web')?.metadata.resourceVersion, '100');
});

test('a written object is forgotten when it is deleted', () => {
  const { cache, happens } = played();
  const view = new WriteThroughCache(cache);
  happens({ type: 'added', object: version('9') });
  view.wrote(version('10'));
  happens({ type: 'deleted', object: version('10') });
  assert.equal(view.get('shop/web'), undefined);
});

test('an answer that comes after the deletion was seen raises no ghost', () => {
  const { cache, happens } = played();
  const view = new WriteThroughCache(cache);
  happens({ type: 'added', object: version('9') });
  happens({ type: 'deleted', object: version('11') });
  view.wrote(version('10'));
  assert.equal(view.get('shop/web'), undefined);
});

test('a successor of a deleted object is seen as soon as it is written', () => {
  const { cache, happens } = played();
  const view = new WriteThroughCache(cache);
  happens({ type: 'added', object: version('9') });
  happens({ type: 'deleted', object: version('11') });
  view.wrote(version('12', 'second'));
  assert.equal(view.get('shop/web')?.metadata.uid, 'second');
});

test('an object created and deleted while the watch was cut is forgotten with the next list, and a newer one is not', () => {
  const writer = new CacheWriter<KubeObject, KubeObject>({ project: (object) => object, onCallbackError: assert.ifError });
  const view = new WriteThroughCache(writer.reader);
  const ends: (string | undefined)[] = [];
  view.onChange(({ type, object }) => void ends.push(`${type} ${object.metadata.resourceVersion}`));
  view.wrote(version('10'));
  writer.restart();
  writer.ready('9');
  assert.equal(view.get('shop/web')?.metadata.resourceVersion, '10');
  writer.restart();
  writer.ready('12');
  assert.equal(view.get('shop/web'), undefined);
  assert.deepEqual(ends, ['deleted 10']);
  view.wrote(version('11'));
  assert.equal(view.get('shop/web'), undefined, 'an answer that comes after the list');
});

test("a failed write expects no echo: a later equal write is another client's", async () => {
  const { cache, happens } = played();
  const view = new WriteThroughCache(cache, ({ metadata: { labels, ...others } }) => ({ own: labels, others }));
  const echoes: boolean[] = [];
  view.onChange((change) => void echoes.push(view.isEcho(change)));
  const labelled = (resourceVersion: string, label: string): KubeObject => ({
    metadata: { ...version(resourceVersion).metadata, labels: { label } },
  });
  const before = labelled('9', 'before');
  happens({ type: 'added', object: before });
  const after = labelled('10', 'after');
  await assert.rejects(view.write(after, () => Promise.reject(new Error('no answer'))));
  happens({ type: 'modified', object: after, previous: before });
  const last = labelled('11', 'last');
  await view.write(last, async () => last);
  happens({ type: 'modified', object: last, previous: after });
  assert.deepEqual(echoes, [false, false, true]);
});
