import { sites } from '../../../api/skupper/index.ts';
import { CONTROLLER_NAME } from '../../../api/skupper/cluster-names.ts';
import type { KubeClient } from '../../../kube/contract.ts';
import { ApiError } from '../../../kube/errors.ts';
import type { KubeObject } from '../../../kube/objects.ts';
import { isAbandoned } from '../../../kube/lease/abandoned-lease.ts';
import { holderOf, leases, type Lease } from '../../../kube/lease/lease-record.ts';
import { commandIn } from '../../../text/command-in.ts';
import { isRecord } from '../../../text/is-record.ts';
import { printable } from '../../../text/printable.ts';
import type { ClusterPlace } from './explain.ts';
import type { ClusterReader } from './reader.ts';

/** Namespace in which the chart and Skupper's manifests install the controller. */
export const USUAL_NAMESPACE = 'skupper';
/** Milliseconds after which a Lease counts as released, with ample margin for clock differences. */
const STALE = 300_000;

/** Explains why the resources are not reconciled; undefined if they are, or if the user's rights do not allow the check. */
export async function notRunning(client: KubeClient, place: ClusterPlace, reader: ClusterReader): Promise<string | undefined> {
  const found = await reader.list(sites);
  if (found.length === 0) {
    return `The namespace ${place.namespace} has no site yet: create one with ${commandIn(place, 'site create NAME')}.`;
  }
  const { name, namespace } = controllerOf(found);
  const lease = await leaseOf(client, namespace, name);
  if (lease === undefined || (isHeld(lease) && !(await isAbandoned(client, lease, Date.now())))) return undefined;
  const look = `\`kubectl -n ${namespace} get pods -l application=${name}\``;
  return `The controller of sites (${namespace}/${name}) does not run in ${place.cluster}: find the reason with ${look}.`;
}

/** Returns the controller named in the status of a Site, or the default one. */
export function controllerOf(found: readonly KubeObject[]): { readonly name: string; readonly namespace: string } {
  const said = found
    .map((site) => new Map(Object.entries(site)).get('status'))
    .find((status) => isRecord(status) && isRecord(status['controller']));
  const { name, namespace } = isRecord(said) && isRecord(said['controller']) ? said['controller'] : {};
  return {
    name: typeof name === 'string' && name !== '' ? printable(name, 253) : CONTROLLER_NAME,
    namespace: typeof namespace === 'string' && namespace !== '' ? printable(namespace, 63) : USUAL_NAMESPACE,
  };
}

function isHeld(lease: Lease): boolean {
  if (holderOf(lease) === undefined) return false;
  const renewed = Date.parse(lease.spec?.renewTime ?? '');
  return Number.isNaN(renewed) || Date.now() - renewed < STALE;
}

async function leaseOf(client: KubeClient, namespace: string, name: string): Promise<Lease | undefined> {
  try {
    return await client.find(leases, { namespace, name });
  } catch (error) {
    // A user with rights in one namespace may have none in the controller's namespace.
    if (error instanceof ApiError && error.status === 403) return undefined;
    throw error;
  }
}
