import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { CacheWriter } from '../../../src/kube/watch/cache.ts';
import { keyOf } from '../../../src/kube/key.ts';
import type { Cache, Change } from '../../../src/kube/contract.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';

interface Thing extends KubeObject {
  readonly colour: string;
}

/** An event that a server can cause, and that an informer then applies to its cache. */
type Step =
  | { readonly do: 'put'; readonly name: string; readonly colour: string }
  | { readonly do: 'remove'; readonly name: string }
  | { readonly do: 'remake'; readonly name: string; readonly colour: string }
  /** Steps that a cut watch missed, and the whole list after it. */
  | { readonly do: 'relist'; readonly missed: readonly Step[]; readonly unfinished: boolean };

const name = fc.constantFrom('a', 'b', 'c', 'd');
/** The projection leaves out what is grey. */
const colour = fc.constantFrom('red', 'green', 'grey');
const simple: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('put' as const), name, colour }),
  fc.record({ do: fc.constant('remove' as const), name }),
  fc.record({ do: fc.constant('remake' as const), name, colour }),
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: simple },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('relist' as const), missed: fc.array(simple, { maxLength: 6 }), unfinished: fc.boolean() }),
  },
);

/** The truth: what is on the server. */
class World {
  readonly objects = new Map<string, Thing>();
  #version = 0;
  #uid = 0;

  put(of: string, as: string, anew: boolean): Thing {
    const before = anew ? undefined : this.objects.get(of);
    const metadata = { namespace: 'n', name: of, uid: before?.metadata.uid ?? `u${++this.#uid}`, resourceVersion: String(++this.#version) };
    const object = { metadata, colour: as };
    this.objects.set(of, object);
    return object;
  }

  remove(of: string): Thing | undefined {
    const object = this.objects.get(of);
    this.objects.delete(of);
    return object;
  }
}

function play(steps: readonly Step[], world: World, writer: CacheWriter<Thing, Thing> | undefined): void {
  for (const each of steps) {
    switch (each.do) {
      case 'put': {
        const put = world.put(each.name, each.colour, false);
        writer?.put(put);
        break;
      }
      case 'remove': {
        const removed = world.remove(each.name);
        if (removed !== undefined) writer?.remove(removed);
        break;
      }
      case 'remake': {
        const removed = world.remove(each.name);
        if (removed !== undefined) writer?.remove(removed);
        const created = world.put(each.name, each.colour, true);
        writer?.put(created);
        break;
      }
      case 'relist':
        play(each.missed, world, undefined);
        writer?.restart();
        if (each.unfinished) {
          for (const object of [...world.objects.values()].slice(1)) writer?.put({ ...object });
          writer?.restart();
        }
        for (const object of world.objects.values()) writer?.put({ ...object });
        writer?.ready('1');
    }
  }
}

const contentsOf = (objects: Iterable<Thing>): readonly string[] => Array.from(objects, (object) => JSON.stringify(object)).sort();

function writerAndMirror(): { writer: CacheWriter<Thing, Thing>; mirror: Map<string, Thing>; cache: Cache<Thing> } {
  const writer = new CacheWriter<Thing, Thing>({
    project: (object) => (object.colour === 'grey' ? undefined : object),
    indexes: { colour: (object) => [object.colour], uid: ({ metadata }) => [metadata.uid ?? ''] },
    onCallbackError: (error) => {
      throw error;
    },
  });
  const mirror = new Map<string, Thing>();
  writer.reader.onChange((change) => follow(mirror, change, writer.reader));
  return { writer, mirror, cache: writer.reader };
}

/** Applies a change the strict way: each must fit what the changes before it said. */
function follow(mirror: Map<string, Thing>, { type, object, previous }: Change<Thing>, cache: Cache<Thing>): void {
  const key = keyOf(object);
  const known = mirror.get(key);
  if (type === 'added') assert.equal(known, undefined, 'added what was there');
  else assert.equal(known?.metadata.uid, object.metadata.uid, `${type} what was not there, or another`);
  if (type === 'modified') {
    assert.equal(previous, known);
    assert.notEqual(object.metadata.resourceVersion, known?.metadata.resourceVersion, 'modified without a change');
  }
  if (type === 'deleted') {
    mirror.delete(key);
    assert.notEqual(cache.get(key)?.metadata.uid, object.metadata.uid, 'reported a deletion before the cache held it');
  } else {
    mirror.set(key, object);
    assert.equal(cache.get(key), object, 'reported a change before the cache held it');
  }
}

describe('a watch cache', () => {
  it('holds what the server holds, says each change once, and keeps its indexes, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const world = new World();
        const { writer, mirror, cache } = writerAndMirror();
        writer.restart();
        writer.ready('1');
        for (const each of steps) {
          play([each], world, writer);
          const wanted = contentsOf([...world.objects.values()].filter((object) => object.colour !== 'grey'));
          assert.deepEqual(contentsOf(cache.values()), wanted);
          assert.deepEqual(contentsOf(mirror.values()), wanted);
          assert.equal(cache.size, wanted.length);
          for (const value of ['red', 'green', 'grey']) {
            const ofColour = [...cache.values()].filter((object) => object.colour === value);
            assert.deepEqual(contentsOf(cache.by('colour', value)), contentsOf(ofColour));
          }
        }
      }),
    );
  });

  it('says nothing for a list that brings nothing new', () => {
    fc.assert(
      fc.property(fc.array(simple, { maxLength: 20 }), (steps) => {
        const world = new World();
        const { writer, cache } = writerAndMirror();
        writer.restart();
        writer.ready('1');
        play(steps, world, writer);
        const before = [...cache.values()];
        cache.onChange((change) => assert.fail(`reported ${change.type}`));
        play([{ do: 'relist', missed: [], unfinished: true }], world, writer);
        assert.deepEqual([...cache.values()], before);
      }),
    );
  });
});
