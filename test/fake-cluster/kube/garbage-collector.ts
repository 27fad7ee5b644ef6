import { keyOf } from '../../../src/kube/key.ts';
import type { Loop } from '../../simulate/loop.ts';
import { Looks } from '../looks.ts';
import type { Resources } from '../resources.ts';
import type { Store } from '../store.ts';

/** Deletes objects whose owners are all gone. */
export function collectGarbage(parts: {
  readonly loop: Loop;
  readonly store: Store;
  readonly resources: Resources;
  readonly delay: () => number;
}): void {
  const { loop, store, resources, delay } = parts;
  const looks = new Looks(loop, delay, (id) => {
    const [plural = '', key = ''] = id.split(' ');
    const owners = store.get(plural, key)?.metadata.ownerReferences ?? [];
    if (owners.length > 0 && !owners.some(({ uid }) => store.uids.has(uid))) resources.delete(plural, key);
  });
  store.onChange(({ type, plural, object }) => {
    if (type === 'DELETED') for (const owned of store.ownedBy(object.metadata.uid ?? '')) looks.ask(`${owned.plural} ${owned.key}`);
    const owners = object.metadata.ownerReferences ?? [];
    if (type !== 'DELETED' && owners.some(({ uid }) => !store.uids.has(uid))) looks.ask(`${plural} ${keyOf(object)}`);
  });
}
