import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Change } from '../../../src/kube/contract.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { OwnWrites } from '../../../src/kube/watch/own-writes.ts';

interface Thing extends KubeObject {
  readonly spec: unknown;
  readonly status: unknown;
}

let version = 0;

function thing(status: unknown, spec: unknown = 'as it is', uid = 'first'): Thing {
  return { metadata: { name: 'web', uid, resourceVersion: `${++version}`, generation: version }, spec, status };
}

const modified = (previous: Thing, object: Thing): Change<Thing> => ({ type: 'modified', object, previous });

function echoes(): { readonly expect: (object: Thing) => void; readonly sees: (change: Change<Thing>) => boolean } {
  const played = new OwnWrites<Thing>(({ status, ...others }) => ({ own: status, others }));
  return {
    expect: (object) => played.expect(object),
    sees(change) {
      played.see(change);
      return played.isEcho(change);
    },
  };
}

describe('the echo of an own write', () => {
  test('is what was written and nothing else, whatever is undefined in it', () => {
    const { expect, sees } = echoes();
    expect(thing({ said: 'a', left: undefined }));
    assert.equal(sees(modified(thing('before'), thing({ said: 'a' }))), true);
  });

  test("is recognised once: a later equal write is another client's", () => {
    const { expect, sees } = echoes();
    expect(thing('a'));
    assert.equal(sees(modified(thing('before'), thing('a'))), true);
    assert.equal(sees(modified(thing('b'), thing('a'))), false);
  });

  test('is known of each of several writes, and of the last alone where the others were not seen', () => {
    const { expect, sees } = echoes();
    for (const status of ['a', 'b', 'c', 'd']) expect(thing(status));
    assert.equal(sees(modified(thing('before'), thing('a'))), true);
    assert.equal(sees(modified(thing('a'), thing('c'))), true);
    assert.equal(sees(modified(thing('c'), thing('b'))), false);
    assert.equal(sees(modified(thing('c'), thing('d'))), true);
  });

  test('is not recognised if something else changed with it', () => {
    const { expect, sees } = echoes();
    expect(thing('a'));
    assert.equal(sees(modified(thing('before'), thing('a', 'another spec'))), false);
  });

  test('is not recognised if another client wrote', () => {
    const { expect, sees } = echoes();
    expect(thing('a'));
    assert.equal(sees(modified(thing('before'), thing('theirs'))), false);
    assert.equal(sees(modified(thing('theirs'), thing('a'))), true);
  });

  test('is not recognised for a successor of the same name, nor for an added or deleted object', () => {
    const { expect, sees } = echoes();
    expect(thing('a'));
    assert.equal(sees({ type: 'added', object: thing('a', 'as it is', 'second') }), false);
    assert.equal(sees(modified(thing('', '', 'second'), thing('a', '', 'second'))), false);
    assert.equal(sees({ type: 'deleted', object: thing('a') }), false);
    assert.equal(sees(modified(thing('before'), thing('a'))), false);
  });
});
