/**
 * The latest samples of all keys, in columns. As objects, a dozen samples of ten thousand keys would be copied and marked by the garbage
 * collector all the time.
 */
import { COUNTS, emptySample, sinceSample, type KeySample, type Role, type Sample, type SampleOfKey } from './samples.ts';

const WIDTH = COUNTS.length;

/** Failures and latencies. Samples of a key without a change have the same object. */
interface Details {
  readonly failures: KeySample['failures'];
  /** Bounds and counts alternate. */
  readonly connect: readonly number[] | undefined;
  readonly request: readonly number[] | undefined;
}

/** One sample. Each key has a slot in both fields. */
interface Row {
  /** Counts of a slot after those of another; NaN if the sample lacks the key. */
  counts: Float64Array;
  readonly details: (Details | undefined)[];
}

type Slot = Pick<SampleOfKey, 'key' | 'role'>;

/** Invariant: a slot that has no key is empty in all rows. */
export class KeySamples {
  readonly #slotsByRole: Readonly<Record<Role, Map<string, number>>> = { listener: new Map(), connector: new Map() };
  readonly #slots: (Slot | undefined)[] = [];
  readonly #free: number[] = [];
  readonly #mostRows: number;
  /** The oldest first. */
  #rows: Row[] = [];

  /** @param most number of samples after the one with which the latest is compared */
  constructor(most: number) {
    this.#mostRows = most + 1;
  }

  /** Number of slots, used or free. */
  get slots(): number {
    return this.#slots.length;
  }

  add({ keys }: Pick<Sample, 'keys'>): void {
    const before = this.#rows.at(-1);
    const row = this.#nextRow();
    let added = 0;
    for (const { role, key, sample } of keys) {
      const slot = this.#slotOf(role, key);
      if (slot * WIDTH >= row.counts.length) row.counts = longer(row.counts, (slot + 1) * WIDTH);
      for (const [column, name] of COUNTS.entries()) row.counts[slot * WIDTH + column] = sample[name];
      row.details[slot] = before !== undefined && isSame(row, before, slot) ? before.details[slot] : detailsOf(sample);
      added += 1;
    }
    this.#rows.push(row);
    if (added < this.#slots.length - this.#free.length) this.#freeSlots();
  }

  clear(): void {
    this.#rows = [];
    this.#freeSlots();
  }

  /** Changes of all keys since the oldest sample, or since the one before the latest. Keys with listeners at this site have only those. */
  *changes(since: 'oldest' | 'previous'): Iterable<SampleOfKey> {
    for (const [slot, of] of this.#slots.entries()) {
      if (of === undefined || (of.role === 'connector' && this.#has('listener', of.key))) continue;
      const sample = this.#changeOf(slot, since);
      if (sample !== undefined) yield { ...of, sample };
    }
  }

  /** Change of one key since the oldest sample. */
  changeOf(key: string): SampleOfKey | undefined {
    const role = this.#has('listener', key) ? 'listener' : 'connector';
    const slot = this.#slotsByRole[role].get(key);
    const sample = slot === undefined ? undefined : this.#changeOf(slot, 'oldest');
    return sample === undefined ? undefined : { key, role, sample };
  }

  /** Whether the latest sample has the key. */
  #has(role: Role, key: string): boolean {
    const [slot, row] = [this.#slotsByRole[role].get(key), this.#rows.at(-1)];
    return slot !== undefined && row !== undefined && isIn(row, slot);
  }

  #changeOf(slot: number, since: 'oldest' | 'previous'): KeySample | undefined {
    const now = this.#rows.at(-1);
    const before = since === 'oldest' ? this.#rows[0] : (this.#rows.at(-2) ?? now);
    if (now === undefined || before === undefined || !isIn(now, slot)) return undefined;
    if (isSame(now, before, slot)) {
      return { ...emptySample(), open: now.counts[slot * WIDTH + OPEN] ?? 0 };
    }
    return sinceSample(sampleAt(now, slot), isIn(before, slot) ? sampleAt(before, slot) : undefined);
  }

  #slotOf(role: Role, key: string): number {
    const known = this.#slotsByRole[role].get(key);
    if (known !== undefined) return known;
    const slot = this.#free.pop() ?? this.#slots.length;
    this.#slots[slot] = { key, role };
    this.#slotsByRole[role].set(key, slot);
    return slot;
  }

  #nextRow(): Row {
    const old = this.#rows.length < this.#mostRows ? undefined : this.#rows.shift();
    old?.counts.fill(NaN);
    old?.details.fill(undefined);
    return old ?? { counts: longer(new Float64Array(), this.#slots.length * WIDTH), details: [] };
  }

  /** Frees the slots of keys that no sample has. */
  #freeSlots(): void {
    for (const [slot, of] of this.#slots.entries()) {
      if (of === undefined || this.#rows.some((row) => isIn(row, slot))) continue;
      this.#slotsByRole[of.role].delete(of.key);
      this.#slots[slot] = undefined;
      this.#free.push(slot);
    }
  }
}

const OPEN = COUNTS.indexOf('open');

const isIn = ({ counts }: Row, slot: number): boolean => slot * WIDTH < counts.length && !Number.isNaN(counts[slot * WIDTH]);

/** Whether a key that one of them has is in the other too, with the same counts. */
function isSame({ counts: one }: Row, { counts: other }: Row, slot: number): boolean {
  for (let at = slot * WIDTH; at < (slot + 1) * WIDTH; at += 1) if (one[at] !== other[at]) return false;
  return true;
}

/** @param least number of elements; added ones are NaN */
function longer(counts: Float64Array, least: number): Float64Array {
  const more = new Float64Array(Math.max(least, 2 * counts.length)).fill(NaN);
  more.set(counts);
  return more;
}

function detailsOf({ failures, connect, request }: KeySample): Details | undefined {
  if (failures === undefined && connect === undefined && request === undefined) return undefined;
  return { failures, connect: connect && [...connect].flat(), request: request && [...request].flat() };
}

function sampleAt({ counts, details }: Row, slot: number): KeySample {
  const sample = emptySample();
  for (const [column, name] of COUNTS.entries()) sample[name] = counts[slot * WIDTH + column] ?? 0;
  const { failures, connect, request } = details[slot] ?? {};
  sample.failures = failures;
  sample.connect = connect && latencies(connect);
  sample.request = request && latencies(request);
  return sample;
}

function latencies(steps: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (let at = 0; at < steps.length; at += 2) counts.set(steps[at] ?? 0, steps[at + 1] ?? 0);
  return counts;
}
