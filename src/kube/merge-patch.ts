import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '../text/is-record.ts';

/** The merge patch (RFC 7386) that turns `from` into `to`. */
export function difference(from: unknown, to: unknown): unknown {
  if (!isRecord(from) || !isRecord(to)) return to;
  const gone = Object.keys(from).filter((key) => !Object.hasOwn(to, key));
  const changed = Object.entries(to).filter(([key, value]) => !isDeepStrictEqual(from[key], value));
  return Object.fromEntries([...changed.map(([key, value]) => [key, difference(from[key], value)]), ...gone.map((key) => [key, null])]);
}
