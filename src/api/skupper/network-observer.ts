/**
 * observability.skupper.io/v2alpha1: a NetworkObserver asks for a console. Skupper's operator takes its spec as values of a Helm chart, so it
 * may have any field.
 */
import type { Condition, KubeObject } from '../../kube/objects.ts';
import { resource } from '../../kube/resource.ts';
import { VERSION } from './names.ts';

export const OBSERVABILITY_GROUP = 'observability.skupper.io';

export interface NetworkObserver extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: NetworkObserverStatus;
}

export interface NetworkObserverStatus {
  readonly conditions: readonly Condition[];
  readonly deployedRelease?: { readonly name: string };
}

export const networkObservers = resource<NetworkObserver>(`${OBSERVABILITY_GROUP}/${VERSION}`, 'NetworkObserver', 'networkobservers');
