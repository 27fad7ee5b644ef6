import type { Site } from '../../api/skupper/index.ts';
import { annotation, label } from '../../api/skupper/cluster-names.ts';
import type { ConfigMap } from '../../kube/objects.ts';
import { quantity } from './quantity.ts';

/** `resources` of a container. */
export interface ContainerResources {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

/**
 * The requests are the usage of an idle router. The memory limit bounds what connections may hold: half of what is left of it beyond 128
 * MiB, here 448 MiB. Without a limit it is half of the node's memory.
 */
const USUAL: ContainerResources = { requests: { cpu: '20m', memory: '96Mi' }, limits: { memory: '1Gi' } };

/**
 * Resources of the router's container: the size that the Site names, else the size that is marked as the default.
 * @param sizes ConfigMaps of the controller's namespace, by name
 */
export function sizeOf({ spec }: Site, sizes: readonly ConfigMap[]): ContainerResources {
  const known = sizes.filter(({ metadata }) => metadata.labels?.[label.siteSizing] !== undefined);
  const desired = spec.settings?.['size'];
  const named =
    desired === undefined || desired === '' ? undefined : known.find(({ metadata }) => metadata.labels?.[label.siteSizing] === desired);
  const size = named ?? known.find(({ metadata }) => metadata.annotations?.[annotation.defaultSizing] !== undefined);
  return size === undefined ? USUAL : resourcesOf(size.data ?? {});
}

const RESOURCES = ['cpu', 'memory'] as const;

/** Keys of a size that are read. */
export const SIZE_KEYS = RESOURCES.flatMap((resource) => [limitKey(resource), requestKey(resource)]);

type SizedResource = (typeof RESOURCES)[number];

function limitKey(resource: SizedResource): string {
  return `router-${resource}-limit`;
}

function requestKey(resource: SizedResource): string {
  return `router-${resource}-request`;
}

/** Drops invalid quantities, and a request above its limit: the API server would refuse the pod. */
function resourcesOf(data: NonNullable<ConfigMap['data']>): ContainerResources {
  const requests: [string, string][] = [];
  const limits: [string, string][] = [];
  for (const resource of RESOURCES) {
    const limit = quantity(data[limitKey(resource)] ?? '');
    const request = quantity(data[requestKey(resource)] ?? '');
    if (limit !== undefined) limits.push([resource, limit.text]);
    if (request !== undefined && (limit === undefined || request.amount <= limit.amount)) requests.push([resource, request.text]);
  }
  return {
    ...(requests.length === 0 ? {} : { requests: Object.fromEntries(requests) }),
    ...(limits.length === 0 ? {} : { limits: Object.fromEntries(limits) }),
  };
}
