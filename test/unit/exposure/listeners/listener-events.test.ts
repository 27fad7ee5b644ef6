import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Listener, ListenerStatus } from '../../../../src/api/listeners/index.ts';
import { ListenerEvents } from '../../../../src/exposure/listeners/listener-events.ts';
import { aListener } from './fixtures.ts';

/** Ready since the first, accepted since the second second. */
function status(addresses: readonly string[], port = 31095, [ready, accepted] = [0, 0]): ListenerStatus {
  const condition = (type: string, isTrue: boolean, second: number): NonNullable<ListenerStatus['conditions']>[number] => ({
    type,
    status: isTrue ? 'True' : 'False',
    reason: isTrue ? 'AddressesAssigned' : 'NoNodes',
    message: '',
    lastTransitionTime: `2026-01-01T00:00:0${second}Z`,
  });
  return {
    ingressAddresses: addresses.map((address) => ({ address, addressType: 'IP', ports: { kafka: port } })),
    conditions: [condition('Accepted', true, accepted), condition('Ready', addresses.length > 0, ready)],
  };
}

function told(before: ListenerStatus | undefined, after: ListenerStatus): readonly string[] {
  const notes: string[] = [];
  const events = {
    record: ({ reason, note }: { readonly reason: string; readonly note: string }) => void notes.push(`${reason}: ${note}`),
    [Symbol.asyncDispose]: async () => undefined,
  };
  const listener: Listener = before === undefined ? aListener() : { ...aListener(), status: before };
  new ListenerEvents(events, () => 0).wrote(listener, after);
  return notes;
}

describe('the addresses of a Listener', () => {
  for (const [what, before, after, expected] of [
    ['are no event when they are the first', undefined, status(['10.77.0.11']), []],
    ['are no event when they were waited for', status([]), status(['10.77.0.11'], 31095, [2, 0]), []],
    ['are no event when they were waited for and the class came late', status([], 0, [0, 1]), status(['10.77.0.11']), []],
    [
      'are one when they change',
      status(['10.77.0.11']),
      status(['10.77.0.12']),
      ['AddressesAssigned: Reachable at 10.77.0.12, kafka 31095.'],
    ],
    ['are one when a port changes', status(['a']), status(['a'], 31334), ['AddressesAssigned: Reachable at a, kafka 31334.']],
    ['are one when they go', status(['a']), status([]), ['AddressesLost: This Listener has no address any more.']],
    ['are one when they are back', status([], 0, [3, 0]), status(['a']), ['AddressesAssigned: Reachable at a, kafka 31095.']],
    ['are none while they stay', status(['a']), status(['a']), []],
  ] as const) {
    test(what, () => assert.deepEqual(told(before, after), expected));
  }

  test('are none where the API server gives their ports back in another order', () => {
    const inOrder = (ports: Readonly<Record<string, number>>): ListenerStatus => ({
      ingressAddresses: [{ address: 'a', addressType: 'IP', ports }],
    });
    assert.deepEqual(told(inOrder({ a: 1, b: 2 }), inOrder({ b: 2, a: 1 })), []);
  });
});
