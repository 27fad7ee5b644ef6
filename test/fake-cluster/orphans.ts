import type { Store } from './store.ts';

/** Number of owned objects created after their owner was gone, by the owner's uid. A late watch may cost one or two. */
export function countOrphans(store: Store): ReadonlyMap<string, number> {
  const orphans = new Map<string, number>();
  store.onChange(({ type, plural, object }) => {
    if (type !== 'ADDED' || plural !== 'services') return;
    const { uid } = object.metadata.ownerReferences?.[0] ?? {};
    if (uid !== undefined && !store.uids.has(uid)) orphans.set(uid, (orphans.get(uid) ?? 0) + 1);
  });
  return orphans;
}
