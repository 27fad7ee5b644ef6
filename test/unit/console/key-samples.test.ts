import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeySamples } from '../../../src/console/key-samples.ts';
import { emptySample, type KeySample, type Role, type SampleOfKey } from '../../../src/console/samples.ts';

const counts = (key: string, sample: Partial<KeySample>, role: Role = 'listener'): SampleOfKey => ({
  key,
  role,
  sample: { ...emptySample(), ...sample },
});

/** Samples of these keys, one after another. */
function samplesOf(most: number, ...all: readonly (readonly SampleOfKey[])[]): KeySamples {
  const samples = new KeySamples(most);
  for (const keys of all) samples.add({ keys });
  return samples;
}

const openedIn = (samples: KeySamples, since: 'oldest' | 'previous'): object =>
  Object.fromEntries([...samples.changes(since)].map(({ key, role, sample }) => [`${role} ${key}`, sample.opened]));

test('changes are those since the oldest of a number of samples, or since the previous one', () => {
  const samples = samplesOf(2, ...[1, 3, 6, 10].map((opened) => [counts('web', { opened })]));
  assert.deepEqual([openedIn(samples, 'oldest'), openedIn(samples, 'previous')], [{ 'listener web': 7 }, { 'listener web': 4 }]);
});

test('the first sample has open connections and no changes', () => {
  const first = samplesOf(2, [counts('web', { opened: 5, open: 3, connect: new Map([[2, 5]]) })]);
  assert.deepEqual(first.changeOf('web')?.sample, { ...emptySample(), open: 3 });
});

test('a key that the samples before lack changes by all of its counts', () => {
  const samples = samplesOf(2, [counts('web', { opened: 1 })], [counts('web', { opened: 1 }), counts('db', { opened: 9 })]);
  assert.deepEqual(openedIn(samples, 'previous'), { 'listener web': 0, 'listener db': 9 });
});

test('latencies and failures change by what was added, also after samples without a change', () => {
  const before = { opened: 2, failed: 1, connect: new Map([[2, 2]]), failures: new Map([['refused', 1]]) };
  const now = {
    opened: 5,
    failed: 3,
    connect: new Map([
      [2, 4],
      [8, 1],
    ]),
    failures: new Map([['refused', 3]]),
  };
  const { connect, failures } =
    samplesOf(3, [counts('web', before)], [counts('web', before)], [counts('web', now)]).changeOf('web')?.sample ?? {};
  assert.deepEqual(
    [[...(connect ?? [])], [...(failures ?? [])]],
    [
      [
        [2, 2],
        [8, 1],
      ],
      [['refused', 2]],
    ],
  );
});

test('a key with listeners has their counts only, and one without has those of connectors', () => {
  const both = [counts('web', { open: 1 }), counts('web', { open: 5 }, 'connector'), counts('db', { open: 7 }, 'connector')];
  const samples = samplesOf(2, both);
  assert.deepEqual(
    [...samples.changes('oldest')].map(({ key, role, sample }) => [key, role, sample.open]),
    [
      ['web', 'listener', 1],
      ['db', 'connector', 7],
    ],
  );
  samples.add({ keys: both.slice(1) });
  assert.deepEqual(
    [samples.changeOf('web')?.role, samples.changeOf('web')?.sample.open, samples.changeOf('gone')],
    ['connector', 5, undefined],
  );
});

test('a key that is gone has no changes, and a later key never gets its counts', () => {
  const samples = samplesOf(2, [counts('old', { opened: 100 }), counts('web', { opened: 1 })]);
  for (let round = 0; round < 4; round += 1) samples.add({ keys: [counts('web', { opened: 1 })] });
  assert.equal(samples.changeOf('old'), undefined);
  samples.add({ keys: [counts('web', { opened: 1 }), counts('new', { opened: 150 })] });
  assert.deepEqual(openedIn(samples, 'oldest'), { 'listener web': 0, 'listener new': 150 });
});

test('ever other keys take no more memory than those of the latest samples', () => {
  const samples = new KeySamples(2);
  const add = (round: number): void =>
    samples.add({ keys: Array.from({ length: 50 }, (_, at) => counts(`key-${round}-${at}`, { opened: 1 })) });
  for (let round = 0; round < 40; round += 1) add(round);
  assert.ok(samples.slots <= 200, `${samples.slots} slots`);
});

test('samples after a clear begin again', () => {
  const samples = samplesOf(2, [counts('web', { opened: 1 })]);
  samples.clear();
  assert.deepEqual(openedIn(samples, 'oldest'), {});
  samples.add({ keys: [counts('web', { opened: 8 })] });
  assert.deepEqual(openedIn(samples, 'oldest'), { 'listener web': 0 });
});
