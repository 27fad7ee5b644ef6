/** Whether a namespace admits the pods of the node driver, which mount directories of the host. */
import type { KubeObject } from '../../kube/objects.ts';
import { resource } from '../../kube/resource.ts';
import { printable } from '../../text/printable.ts';
import type { Step } from '../step.ts';

export const namespaces = resource<KubeObject>('v1', 'Namespace', 'namespaces', 'cluster');

const ENFORCE = 'pod-security.kubernetes.io/enforce';
const MOST_NAME = 253;

/**
 * @param drivers DaemonSets as `kubectl rollout` takes them; empty before the installation. After refusals they pause for minutes
 * @returns undefined if the namespace enforces no level, or the level `privileged`
 */
export function podSecurityStep(id: string, { metadata: { name = '', labels = {} } }: KubeObject, drivers = ''): Step | undefined {
  const restart = drivers === '' ? '' : ` && kubectl rollout restart ${drivers} -n ${name}`;
  const level = labels[ENFORCE] ?? 'privileged';
  if (level === 'privileged') return undefined;
  return {
    id,
    object: `namespace/${name}`,
    state: 'warn',
    says: `the namespace enforces the Pod Security level ${printable(level, MOST_NAME)}, which refuses pods of the node driver`,
    do: `kubectl label --overwrite namespace ${name} ${ENFORCE}=privileged${restart}`,
  };
}
