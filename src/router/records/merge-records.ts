import type { ConnectionRecord, Half } from './contract.ts';

/** From the client to the server. */
export const HALVES: readonly Half[] = ['first', 'transit', 'last'];
/** Ends that a router only has from another one, which knows more. */
const VAGUE = new Set<string | null>([null, 'other-router', 'path-broke', 'peer-refused', 'stream-reset']);

/**
 * Merges records of several routers by ID: the client comes from the first, the routers between from those in transit, the server from the
 * last. Bytes and times are those of the record nearest to the client. The order is that of each connection's first record.
 */
export function mergeRecords(records: readonly ConnectionRecord[]): readonly ConnectionRecord[] {
  return [...Map.groupBy(records, ({ id }) => id).values()].flatMap((all) => {
    const sorted = all.toSorted((a, b) => rank(a) - rank(b));
    const [first] = sorted;
    const last = sorted.at(-1);
    return first === undefined || last === undefined ? [] : [sorted.length === 1 ? first : merge(first, last, sorted)];
  });
}

/** @param sorted at least two, the half nearest to the client first */
function merge(first: ConnectionRecord, last: ConnectionRecord, sorted: readonly ConnectionRecord[]): ConnectionRecord {
  const end = sorted.find((record) => !VAGUE.has(record.end)) ?? first;
  const vias = first.via.length > 0 || first.halves.includes('first') ? first.via : [...new Set(sorted.flatMap(({ via }) => via))];
  return {
    ...first,
    // Routers learn of an end one after the other.
    state: sorted.find(({ state }) => state !== 'open')?.state ?? 'open',
    ended: sorted.find(({ ended }) => ended !== null)?.ended ?? null,
    via: vias,
    to: last.to.router === null && last.to.server === null ? first.to : { ...last.to, siteName: last.to.siteName ?? first.to.siteName },
    end: end.end,
    message: end.message ?? first.message,
    halves: HALVES.filter((half) => sorted.some(({ halves }) => halves.includes(half))),
    of: Math.max(...sorted.map(({ of }) => of)),
  };
}

/** The half nearest to the client. */
const rank = ({ halves }: ConnectionRecord): number => HALVES.findIndex((half) => halves.includes(half));
