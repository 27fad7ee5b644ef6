/** Namespaces that a change concerns besides its own: AttachedConnectors and their bindings are in different ones (pure). */
import { attachedConnectorBindings, attachedConnectors } from '../../api/skupper/index.ts';
import type { Change } from '../../kube/contract.ts';
import type { KubeObject } from '../../kube/objects.ts';
import type { Resource } from '../../kube/resource.ts';
import type { SiteCaches } from '../caches.ts';
import { listValid } from '../stored-resources.ts';
import { isRecord } from '../../text/is-record.ts';
import { connectorFor, type FindConnector } from './bound.ts';

/** Field of each kind that names another namespace. */
const NAMING: Readonly<Record<string, string>> = {
  [attachedConnectors.kind]: 'siteNamespace',
  [attachedConnectorBindings.kind]: 'connectorNamespace',
};

/** Namespaces that the object names now and named before. */
export function concernedBy({ kind }: Resource, { object, previous }: Change<KubeObject>): readonly string[] {
  const field = NAMING[kind];
  if (field === undefined) return [];
  const named = [object, previous].map((each) =>
    each !== undefined && 'spec' in each && isRecord(each.spec) ? each.spec[field] : undefined,
  );
  return [...new Set(named)].filter((namespace) => typeof namespace === 'string');
}

/** Namespaces of the sites that admit pods of a namespace. */
export function sitesOf(caches: Pick<SiteCaches, 'list'>, namespace: string): readonly string[] {
  return [...new Set(listValid(attachedConnectors, caches.list(attachedConnectors, namespace)).map(({ spec }) => spec.siteNamespace))];
}

/** Namespaces whose pods are needed: those where an AttachedConnector and its binding name each other. */
export function attachedNamespaces(caches: Pick<SiteCaches, 'view'>): ReadonlySet<string> {
  const bindings = listValid(attachedConnectorBindings, [...caches.view(attachedConnectorBindings).values()]);
  const find: FindConnector = (namespace, name) => {
    const connector = caches.view(attachedConnectors).get(`${namespace}/${name}`);
    return listValid(attachedConnectors, connector === undefined ? [] : [connector])[0];
  };
  const bound = bindings.filter((binding) => connectorFor(binding, binding.metadata.namespace ?? '', find) !== undefined);
  return new Set(bound.map(({ spec }) => spec.connectorNamespace));
}
