/** The NetworkObservers of a namespace that this controller manages (pure). */
import { networkObservers, type NetworkObserver } from '../../api/skupper/network-observer.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { bounded, byAge } from '../stored-resources.ts';
import { isOfHelmOperator, readObserverSpec } from './observer-spec.ts';

/** Always with its kind, which lists leave out. */
export type ListedObserver = NetworkObserver & { readonly apiVersion: string; readonly kind: 'NetworkObserver' };

export interface Observers {
  readonly kept: readonly ListedObserver[];
  /** Beyond the limit of a namespace: only their status is written. */
  readonly surplus: readonly ListedObserver[];
}

export function listObservers({ list }: Pick<NamespaceView, 'list'>): Observers {
  const all = list(networkObservers).filter((observer) => !isOfHelmOperator(observer) && observer.metadata.deletionTimestamp === undefined);
  const { kept, surplus } = bounded(networkObservers, all);
  return { kept: kept.map(withKind), surplus: surplus.map(withKind) };
}

/** The oldest NetworkObserver of each console, by the console's name. It gets the objects. */
export function ownersOfConsoles({ kept }: Pick<Observers, 'kept'>): ReadonlyMap<string, ListedObserver> {
  const owners = new Map<string, ListedObserver>();
  for (const observer of kept.toSorted(byAge)) owners.getOrInsert(readObserverSpec(observer).name, observer);
  return owners;
}

const withKind = (observer: NetworkObserver): ListedObserver => ({
  ...observer,
  apiVersion: apiVersionOf(networkObservers),
  kind: 'NetworkObserver',
});
