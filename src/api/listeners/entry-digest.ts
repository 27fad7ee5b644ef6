/** Identifies the state of a volume's entry in PodListeners (pure). The node driver reports it, and explanations compare it. */
import { createHash } from 'node:crypto';
import { isRecord } from '../../text/is-record.ts';
import type { PodListener } from './index.ts';

/** Hexadecimal characters of a digest. It only distinguishes states of one entry. */
const LENGTH = 16;

/** The same for the same fields in any order. */
export function entryDigest(entry: PodListener): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(entry)))
    .digest('hex')
    .slice(0, LENGTH);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key])]),
  );
}
