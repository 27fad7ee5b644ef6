/** The persistent-volume-binder of kube-controller-manager: two workers that share a limit of requests, each with a store that it fills at its own pace. */
import { DRIVER_NAME } from '../../../src/api/listeners/names.ts';
import { keyOf } from '../../../src/kube/key.ts';
import type { KubeObject, StorageClass } from '../../../src/kube/objects.ts';
import type { Resource } from '../../../src/kube/resource.ts';
import type { Loop } from '../../simulate/loop.ts';
import type { Random } from '../../simulate/random.ts';
import { PlayedBinder } from '../../unit/exposure/provision/played-binder.ts';
import type { Store } from '../store.ts';

/** 20 requests a second. In milliseconds. */
const REQUEST = 50;

interface BinderParts {
  readonly loop: Loop;
  readonly random: Random;
  readonly store: Store;
  readonly delay: () => number;
}

type Worker = 'claims' | 'volumes';

/** @returns what users would have seen of claims that were bound too early */
export function playBinder({ loop, random, store, delay }: BinderParts): readonly string[] {
  store.put<StorageClass>('storageclasses', {
    metadata: { name: DRIVER_NAME, uid: store.newUid() },
    provisioner: DRIVER_NAME,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  const binder = new PlayedBinder({
    read: <T extends KubeObject>(of: Resource<T>, key: string) => store.get<T>(of.plural, key),
    put: <T extends KubeObject>(of: Resource<T>, object: T) => store.put(of.plural, object),
  });
  let free = 0;
  const busy = new Set<Worker>();
  const work = (worker: Worker): void => {
    if (busy.has(worker)) return;
    busy.add(worker);
    free = Math.max(free, loop.now) + REQUEST * random.unit() * 2;
    loop.at(free, undefined, () => {
      busy.delete(worker);
      const went = binder.step(worker);
      if (went) for (const each of ['claims', 'volumes'] as const) work(each);
    });
  };
  const notice = (worker: Worker, key: string): void => {
    loop.after(delay(), undefined, () => {
      binder.notice({ claims: worker === 'claims' ? [key] : [], volumes: worker === 'volumes' ? [key] : [] });
      work(worker);
    });
  };
  store.onChange(({ plural, type, object }) => {
    if (plural === 'persistentvolumes') notice('volumes', keyOf(object));
    if (plural !== 'persistentvolumeclaims') return;
    notice('claims', keyOf(object));
    // As it looks at all of them every 15 seconds.
    if (type === 'DELETED') loop.after(15_000, undefined, () => notice('volumes', `pvc-${object.metadata.uid}`));
  });
  return binder.mishaps;
}
