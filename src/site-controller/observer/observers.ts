/** The NetworkObservers of a namespace that this controller manages (pure). */
import { networkObservers, type NetworkObserver } from '../../api/skupper/network-observer.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { bounded } from '../stored-resources.ts';

/** Always with its kind, which lists leave out. */
export type ListedObserver = NetworkObserver & { readonly apiVersion: string; readonly kind: 'NetworkObserver' };

export interface Observers {
  readonly kept: readonly ListedObserver[];
  /** Beyond the limit of a namespace: only their status is written. */
  readonly surplus: readonly ListedObserver[];
}

export function listObservers({ list }: Pick<NamespaceView, 'list'>): Observers {
  const all = list(networkObservers).filter((observer) => !isOfOperator(observer) && observer.metadata.deletionTimestamp === undefined);
  const { kept, surplus } = bounded(networkObservers, all);
  return { kept: kept.map(withKind), surplus: surplus.map(withKind) };
}

const withKind = (observer: NetworkObserver): ListedObserver => ({
  ...observer,
  apiVersion: apiVersionOf(networkObservers),
  kind: 'NetworkObserver',
});

/** Finalizers by which a Helm operator marks the objects that it manages. Two controllers would overwrite each other. */
const OF_HELM_OPERATOR = /^(?:helm\.sdk\.operatorframework\.io\/|uninstall-helm-release$)/;

function isOfOperator({ metadata: { finalizers = [] } }: NetworkObserver): boolean {
  return finalizers.some((finalizer) => OF_HELM_OPERATOR.test(finalizer));
}
