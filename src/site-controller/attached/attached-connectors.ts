/** Matches AttachedConnectors with AttachedConnectorBindings, and selects their pods (pure). */
import {
  attachedConnectorBindings,
  attachedConnectors,
  type AttachedConnector,
  type AttachedConnectorBinding,
} from '../../api/skupper/index.ts';
import { secrets } from '../../kube/resource.ts';
import type { SliceNote } from '../../site/attached-slices.ts';
import { NO_MATCHES } from '../../site/observe/message-format.ts';
import { badKey, badPort, badType, isGiven } from '../../site/plan/fields.ts';
import { noPodsMessage } from '../../site/plan/no-pods-message.ts';
import { selectPods, type SelectedPod } from '../../site/plan/selected-pods.ts';
import { errorIn, hasErrors, type ResourceProblem } from '../../site/problem.ts';
import { keyOf, nameOf, type ResourceKey } from '../../site/resources.ts';
import { quoted } from '../../text/printable.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { routerSecrets } from '../site/router-secrets.ts';
import { connectorFor, finder, type FindConnector } from './bound.ts';

export interface AttachedConnectors {
  readonly servers: readonly BoundServers[];
  /** Pods that AttachedConnectors of this namespace select. */
  readonly selected: ReadonlyMap<ResourceKey, readonly SelectedPod[]>;
  readonly problems: readonly ResourceProblem[];
  /** Resources whose pods are not listed yet: their existing objects stay. */
  readonly unknown: ReadonlySet<ResourceKey>;
}

/** Pods of another namespace that the site of this namespace admits. */
export interface BoundServers extends SliceNote {
  readonly pods: readonly SelectedPod[];
  readonly for: ResourceKey;
}

/** Evaluates both kinds in this namespace. */
export function attachedConnectorsOf(view: NamespaceView): AttachedConnectors {
  const { AttachedConnector: connectors, AttachedConnectorBinding: bindings } = view.resources;
  const findBinding = finder((namespace) => view.elsewhere(attachedConnectorBindings, namespace));
  const findConnector = finder((namespace) => view.elsewhere(attachedConnectors, namespace));
  const here = connectors.map((connector) => ({ key: keyOf(connector), found: seenFromConnector(connector, view, findBinding) }));
  const there =
    view.site === undefined ? [] : bindings.map((binding) => ({ key: keyOf(binding), found: seenFromSite(binding, view, findConnector) }));
  const all = [...here, ...there];
  return {
    servers: there.flatMap(({ found }) => found.servers ?? []),
    selected: new Map(here.flatMap(({ key, found: { pods } }) => (pods === undefined ? [] : [[key, pods] as const]))),
    problems: all.flatMap(({ found }) => found.problems),
    unknown: new Set(all.flatMap(({ key, found }) => (found.unknown === true ? [key] : []))),
  };
}

interface Side {
  readonly servers?: BoundServers;
  readonly pods?: readonly SelectedPod[];
  readonly problems: readonly ResourceProblem[];
  readonly unknown?: true;
}

function seenFromConnector(
  connector: AttachedConnector,
  { namespace, podsOf, isUnreadable }: NamespaceView,
  find: (namespace: string, name: string) => AttachedConnectorBinding | undefined,
): Side {
  const key = keyOf(connector);
  const name = nameOf(connector);
  const { siteNamespace, selector, includeNotReadyPods, port, type } = connector.spec;
  const binding = find(siteNamespace, name);
  if (binding === undefined && isUnreadable(attachedConnectorBindings, siteNamespace, name)) return { problems: [], unknown: true };
  if (binding === undefined) {
    const message = `No matching AttachedConnectorBinding in site namespace: ${quoted(name)} does not exist in ${quoted(siteNamespace)}, or another controller manages the site.`;
    return { problems: [notAttached(key, message)] };
  }
  const { connectorNamespace } = binding.spec;
  if (connectorNamespace !== namespace) {
    const message = `AttachedConnectorBinding ${siteNamespace}/${name} does not allow AttachedConnector in ${namespace} (only ${connectorNamespace})`;
    return { problems: [notAttached(key, message)] };
  }
  const pods = podsOf(namespace);
  if (pods === undefined) return { problems: [], unknown: true };
  const found = selectPods(selector, pods, includeNotReadyPods === true);
  const problems: ResourceProblem[] = [...badPort(key, 'spec.port', port), ...badType(key, type)];
  if ('wrong' in found)
    return { problems: [...problems, errorIn(key, 'spec.selector', 'selector', `${quoted(selector)} ${found.wrong}.`)] };
  if (found.length === 0) problems.push(noPods(key, noPodsMessage(selector, pods, ' of this namespace')));
  return { pods: found, problems: problems.length > 0 ? problems : bindingError(key, binding) };
}

/** Prefixes of errors that the controller also derives from the AttachedConnector. In the status of a binding they may be stale. */
const SHARED_ERRORS = ['No matching AttachedConnector:', `${NO_MATCHES}:`] as const;
const CREDENTIALS_ERROR = 'TLS credentials secret';

/** Omits the names of Secrets: only the site's own users may learn which of them exist. */
function bindingError(key: ResourceKey, { metadata, status }: AttachedConnectorBinding): readonly ResourceProblem[] {
  const error = status?.conditions?.find(({ type, reason }) => type === 'Configured' && reason === 'Error');
  if (error === undefined || error.observedGeneration !== metadata.generation) return [];
  if (SHARED_ERRORS.some((beginning) => error.message.startsWith(beginning))) return [];
  const why = error.message.includes(CREDENTIALS_ERROR) ? 'see its status' : error.message;
  return [notAttached(key, `AttachedConnectorBinding ${metadata.namespace}/${metadata.name} has an error: ${why}`)];
}

function seenFromSite(binding: AttachedConnectorBinding, view: NamespaceView, find: FindConnector): Side {
  const key = keyOf(binding);
  const { connectorNamespace, routingKey } = binding.spec;
  const own = badKey(key, 'spec.routingKey', routingKey);
  const connector = connectorFor(binding, view.namespace, find);
  if (connector === undefined && view.isUnreadable(attachedConnectors, connectorNamespace, nameOf(binding))) {
    return { problems: own, unknown: true };
  }
  if (connector === undefined) {
    const message = `${SHARED_ERRORS[0]} ${quoted(nameOf(binding))} does not exist in ${quoted(connectorNamespace)}, or is for another site namespace.`;
    return { problems: [...own, notAttached(key, message)] };
  }
  const { selector, includeNotReadyPods, port, type, tlsCredentials, useClientCert } = connector.spec;
  const pods = view.podsOf(connectorNamespace);
  if (pods === undefined) return { problems: [], unknown: true };
  const found = selectPods(selector, pods, includeNotReadyPods === true);
  const problems: ResourceProblem[] = [...own, ...badCredentials(key, tlsCredentials, view)];
  if ('wrong' in found || badPort(key, '', port).length > 0 || badType(key, type).length > 0) {
    const message = `${SHARED_ERRORS[0]} the one in ${quoted(connectorNamespace)} is invalid; see its status.`;
    return { problems: [...problems, notAttached(key, message)] };
  }
  if (found.length === 0)
    problems.push(
      noPods(
        key,
        `${NO_MATCHES}: no pod of ${quoted(connectorNamespace)} that is running and ready has the labels that the AttachedConnector selects.`,
      ),
    );
  if (hasErrors(problems)) return { problems };
  const credentials = isGiven(tlsCredentials) ? { tlsCredentials } : {};
  const how = { name: nameOf(binding), namespace: connectorNamespace, port, ...credentials, useClientCert: useClientCert === true };
  return { problems, servers: { ...how, pods: found, for: key } };
}

/** Reported to the site only: other namespaces must not learn the names of its Secrets. */
function badCredentials(key: ResourceKey, name: string | undefined, view: NamespaceView): readonly ResourceProblem[] {
  if (!isGiven(name)) return [];
  if (view.site !== undefined && view.find(secrets, name) !== undefined && routerSecrets(view, view.site).read.includes(name)) return [];
  const message = `${CREDENTIALS_ERROR} ${quoted(name)} not found: the AttachedConnector names it, so create it in this namespace, with the type kubernetes.io/tls.`;
  return [{ resource: key, severity: 'error', code: 'tls-missing', message }];
}

const notAttached = (resource: ResourceKey, message: string): ResourceProblem => ({
  resource,
  severity: 'error',
  code: 'not-attached',
  message,
});

const noPods = (resource: ResourceKey, message: string): ResourceProblem => ({ resource, severity: 'error', code: 'no-pods', message });
