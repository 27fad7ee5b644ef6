import type { ConnectionRecord, Half } from './contract.ts';

/** From the client to the server. */
export const HALVES: readonly Half[] = ['first', 'transit', 'last'];
/** Ends that a router only has from another one, which knows more. */
const VAGUE = new Set<string | null>([null, 'other-router', 'path-broke', 'peer-refused', 'stream-reset']);

/**
 * Merges records of several routers by ID: the client comes from the first, the routers between from those in transit, the server from the
 * last. Bytes and times are those of the record nearest to the client. The order is that of each connection's first record.
 *
 * A peer can use an ID again. So a merged connection has one first and one last half, and one half in transit for each router, and all
 * name the same key, origin and destination. Other records with the ID stay alone.
 */
export function mergeRecords(records: readonly ConnectionRecord[]): readonly ConnectionRecord[] {
  return [...Map.groupBy(records, ({ id }) => id).values()].flatMap((all) => {
    const sorted = all.toSorted((a, b) => rank(a) - rank(b));
    const joined: ConnectionRecord[] = [];
    const alone: ConnectionRecord[] = [];
    for (const record of sorted) (joined.every((other) => canJoin(other, record)) ? joined : alone).push(record);
    const [first] = joined;
    const last = joined.at(-1);
    if (first === undefined || last === undefined) return [];
    return [joined.length === 1 ? first : merge(first, last, joined), ...alone];
  });
}

function canJoin(one: ConnectionRecord, other: ConnectionRecord): boolean {
  // A failed connection may have no destination.
  const isSame = (a: string | null, b: string | null): boolean => a === null || b === null || a === b;
  if (one.key !== other.key || !isSame(one.from.site, other.from.site) || !isSame(one.to.router, other.to.router)) return false;
  const shared = HALVES.find((half) => one.halves.includes(half) && other.halves.includes(half));
  return shared === undefined || (shared === 'transit' && one.via.join(' ') !== other.via.join(' '));
}

/** @param sorted at least two, the half nearest to the client first */
function merge(first: ConnectionRecord, last: ConnectionRecord, sorted: readonly ConnectionRecord[]): ConnectionRecord {
  const end = sorted.find((record) => !VAGUE.has(record.end)) ?? first;
  const vias = first.halves.includes('first') ? first.via : [...new Set(sorted.flatMap(({ via }) => via))];
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

/** The half nearest to the client is first. Among equal halves, that of a Listener is first, because a peer cannot have written it. */
const rank = ({ halves, from }: ConnectionRecord): number =>
  2 * HALVES.findIndex((half) => halves.includes(half)) + (from.listener === null ? 1 : 0);
