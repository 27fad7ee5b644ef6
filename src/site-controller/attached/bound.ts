/** Decides which AttachedConnectors a site admits (pure). */
import { attachedConnectors, type AttachedConnector, type AttachedConnectorBinding } from '../../api/skupper/index.ts';
import { isGiven } from '../../site/plan/fields.ts';
import { nameOf } from '../../site/resources.ts';
import type { NamespaceView } from '../namespace-view.ts';

/** `tlsCredentials` of the AttachedConnectors that this namespace's site admits: names of Secrets in this namespace. */
export function attachedCredentials(view: Pick<NamespaceView, 'namespace' | 'resources' | 'elsewhere'>): readonly string[] {
  const find = finder((namespace) => view.elsewhere(attachedConnectors, namespace));
  const named = view.resources.AttachedConnectorBinding.map((binding) => connectorFor(binding, view.namespace, find)?.spec.tlsCredentials);
  return named.filter((name) => isGiven(name));
}

/** Whether a binding of this namespace names an AttachedConnector that is stored but unreadable. */
export function hasUnreadableAttached({ resources, isUnreadable }: Pick<NamespaceView, 'resources' | 'isUnreadable'>): boolean {
  return resources.AttachedConnectorBinding.some((binding) =>
    isUnreadable(attachedConnectors, binding.spec.connectorNamespace, nameOf(binding)),
  );
}

/** Finds an AttachedConnector by namespace and name. */
export type FindConnector = (namespace: string, name: string) => AttachedConnector | undefined;

/** The AttachedConnector that a binding of this namespace names, if it names this namespace as well. */
export function connectorFor(binding: AttachedConnectorBinding, namespace: string, find: FindConnector): AttachedConnector | undefined {
  const connector = find(binding.spec.connectorNamespace, nameOf(binding));
  return connector?.spec.siteNamespace === namespace ? connector : undefined;
}

/** Returns a lookup that lists each namespace once. */
export function finder<T extends { readonly metadata: { readonly name?: string } }>(
  list: (namespace: string) => readonly T[],
): (namespace: string, name: string) => T | undefined {
  const seen = new Map<string, ReadonlyMap<string, T>>();
  return (namespace, name) =>
    seen.getOrInsertComputed(namespace, () => new Map(list(namespace).map((object) => [object.metadata.name ?? '', object]))).get(name);
}
