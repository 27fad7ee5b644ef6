/** Paths of objects in the API, for the harness's plain calls: a fault in the client under test cannot hide itself here. */
import type { KubeObject } from '../../../src/kube/objects.ts';

/** The path of a kind's collection; `namespace` is ignored for kinds that have none. */
export function collectionOf(apiVersion: string, kind: string, namespace: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = clusterScoped.has(kind) ? '' : `/namespaces/${namespace}`;
  return `${root}${scope}/${pluralOf(kind)}`;
}

export function collectionOfObject({ apiVersion, kind }: KubeObject, namespace: string): string {
  if (apiVersion === undefined || kind === undefined) throw new TypeError('a manifest needs apiVersion and kind');
  return collectionOf(apiVersion, kind, namespace);
}

const clusterScoped: ReadonlySet<string> = new Set(['CustomResourceDefinition', 'ListenerClass', 'Namespace', 'Node', 'PersistentVolume']);

function pluralOf(kind: string): string {
  const lower = kind.toLowerCase();
  if (lower.endsWith('listeners')) return lower;
  return lower.endsWith('s') ? `${lower}es` : lower.replace(/(?<=[^aeiou])y$/, 'ie') + 's';
}
