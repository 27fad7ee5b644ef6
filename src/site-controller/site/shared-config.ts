import { label } from '../../api/skupper/cluster-names.ts';
import type { Change } from '../../kube/contract.ts';
import type { KubeObject } from '../../kube/objects.ts';
import { configMaps, type Resource } from '../../kube/resource.ts';
import type { ControllerSettings } from '../settings.ts';

/** Whether the change concerns the sites of all namespaces: sizes and label templates in the controller's own namespace. */
export function concernsAllSites(
  of: Resource,
  { object, previous }: Change<KubeObject>,
  { namespace }: Pick<ControllerSettings, 'namespace'>,
): boolean {
  if (of !== configMaps || object.metadata.namespace !== namespace) return false;
  return [object, previous].some((each) => SHARED.some((key) => each?.metadata.labels?.[key] !== undefined));
}

const SHARED = [label.siteSizing, label.labelTemplate];
