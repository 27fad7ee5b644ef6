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
 * The requests are what an idle router uses. The limit bounds what the router lets its connections hold, which is half of what the limit leaves
 * beyond 128 MiB: 448 MiB. Without a limit that is half of the node's memory.
 */
const USUAL: ContainerResources = { requests: { cpu: '20m', memory: '96Mi' }, limits: { memory: '1Gi' } };

/**
 * What the router's container asks for: the size that the Site names, else the one that is marked as the default.
 * @param sizes ConfigMaps of the controller's namespace, by name
 */
export function sizeOf({ spec }: Site, sizes: readonly ConfigMap[]): ContainerResources {
  const known = sizes.filter(({ metadata }) => metadata.labels?.[label.siteSizing] !== undefined);
  const wanted = spec.settings?.['size'];
  const named =
    wanted === undefined || wanted === '' ? undefined : known.find(({ metadata }) => metadata.labels?.[label.siteSizing] === wanted);
  const size = named ?? known.find(({ metadata }) => metadata.annotations?.[annotation.defaultSizing] !== undefined);
  return size === undefined ? USUAL : resourcesOf(size.data ?? {});
}

const RESOURCES = ['cpu', 'memory'] as const;

/** The keys of a size that are read. */
export const SIZE_KEYS = RESOURCES.flatMap((resource) => [limitKey(resource), requestKey(resource)]);

type SizedResource = (typeof RESOURCES)[number];

function limitKey(resource: SizedResource): string {
  return `router-${resource}-limit`;
}

function requestKey(resource: SizedResource): string {
  return `router-${resource}-request`;
}

/** What is no amount is left out, and so is a request above its limit: the API server would take no pod with it. */
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
