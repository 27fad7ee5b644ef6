/** Reads the figures of routing keys from `/v1/figures` of a router (pure). They are untrusted. */
import { fieldsIn, numberIn, recordsIn, textIn, type UntrustedFields } from '../text/untrusted-fields.ts';
import { emptySample, isCount, roleOf, type KeySample, type Sample, type SampleOfKey } from './samples.ts';

/** Characters of a routing key, and of other names. */
const [MOST_KEY, MOST_NAME] = [1_024, 253];
/** Reasons of failures of one key. */
const MOST_REASONS = 128;
/** Steps of one histogram. */
const MOST_STEPS = 128;

/**
 * @param most number of keys; further ones are left out
 * @returns undefined if the answer has no figures
 */
export function readFigures(answer: unknown, most: number): Sample | undefined {
  const fields = fieldsIn(answer);
  const { items } = fields;
  if (!Array.isArray(items)) return undefined;
  const certificates = new Map<string, number>();
  for (const item of recordsIn(fields['certificates'], most)) {
    const [bundle, days] = [textIn(item, 'bundle', MOST_NAME), numberIn(item, 'days')];
    if (bundle !== undefined && days !== undefined) certificates.set(bundle, days);
  }
  const delay = numberIn(fields, 'eventLoopDelay');
  // Read one at a time, so that those of ten thousand keys are not in memory at once.
  const keys = { [Symbol.iterator]: () => readItems(recordsIn(items, most)) };
  return { keys, certificates, eventLoopDelay: delay === undefined ? undefined : delay / 1_000 };
}

function* readItems(items: readonly UntrustedFields[]): Generator<SampleOfKey> {
  for (const item of items) {
    const { key } = item;
    const role = roleOf(item['role']);
    if (role !== undefined && typeof key === 'string' && key.length <= MOST_KEY) yield { key, role, sample: readCounts(item) };
  }
}

function readCounts(item: UntrustedFields): KeySample {
  const sample = emptySample();
  const bytes = fieldsIn(item['bytes']);
  for (const name of ['open', 'opened', 'requests', 'errors'] as const) sample[name] = countIn(item, name);
  for (const name of ['up', 'down'] as const) sample[name] = countIn(bytes, name);
  for (const [reason, count] of Object.entries(fieldsIn(item['failed'])).slice(0, MOST_REASONS)) {
    if (!isCount(count) || count === 0) continue;
    sample.failed += count;
    (sample.failures ??= new Map()).set(reason, count);
  }
  addSteps(sample, 'connect', item['connect']);
  addSteps(sample, 'request', item['request']);
  return sample;
}

function countIn(fields: UntrustedFields, name: string): number {
  const count = fields[name];
  return isCount(count) ? count : 0;
}

function addSteps(sample: KeySample, name: 'connect' | 'request', steps: unknown): void {
  for (const step of Array.isArray(steps) ? steps.slice(0, MOST_STEPS) : []) {
    const [bound, count]: readonly unknown[] = Array.isArray(step) ? step : [];
    if (!isCount(bound) || !isCount(count)) continue;
    const to = (sample[name] ??= new Map());
    to.set(bound, (to.get(bound) ?? 0) + count);
  }
}
