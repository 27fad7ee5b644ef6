/** Which namespaces a change concerns besides its own, since AttachedConnectors and their bindings stand in different ones: pure. */
import { attachedConnectorBindings, attachedConnectors } from '../../api/skupper/index.ts';
import type { Change } from '../../kube/contract.ts';
import type { KubeObject } from '../../kube/objects.ts';
import type { Resource } from '../../kube/resource.ts';
import type { SiteCaches } from '../caches.ts';
import { listValid } from '../stored-resources.ts';
import { isRecord } from '../../text/is-record.ts';
import { connectorFor, type FindConnector } from './bound.ts';

/** The field of each kind that names another namespace. */
const NAMING: Readonly<Record<string, string>> = {
  [attachedConnectors.kind]: 'siteNamespace',
  [attachedConnectorBindings.kind]: 'connectorNamespace',
};

/** What it names, and what it named before. */
export function concernedBy({ kind }: Resource, { object, previous }: Change<KubeObject>): readonly string[] {
  const field = NAMING[kind];
  if (field === undefined) return [];
  const named = [object, previous].map((each) =>
    each !== undefined && 'spec' in each && isRecord(each.spec) ? each.spec[field] : undefined,
  );
  return [...new Set(named)].filter((namespace) => typeof namespace === 'string');
}

/** The sites that take pods of a namespace in. */
export function sitesOf(caches: Pick<SiteCaches, 'list'>, namespace: string): readonly string[] {
  return [...new Set(listValid(attachedConnectors, caches.list(attachedConnectors, namespace)).map(({ spec }) => spec.siteNamespace))];
}

/** The namespaces whose pods are needed: an AttachedConnector and its binding name each other. */
export function attachedNamespaces(caches: Pick<SiteCaches, 'view'>): ReadonlySet<string> {
  const bindings = listValid(attachedConnectorBindings, [...caches.view(attachedConnectorBindings).values()]);
  const find: FindConnector = (namespace, name) => {
    const connector = caches.view(attachedConnectors).get(`${namespace}/${name}`);
    return listValid(attachedConnectors, connector === undefined ? [] : [connector])[0];
  };
  const bound = bindings.filter((binding) => connectorFor(binding, binding.metadata.namespace ?? '', find) !== undefined);
  return new Set(bound.map(({ spec }) => spec.connectorNamespace));
}
