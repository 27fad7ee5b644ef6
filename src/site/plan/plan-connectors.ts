import type { Connector, Site } from '../../api/skupper/index.ts';
import type { ConnectorConfig } from '../../router/contract.ts';
import { findBundle } from '../find-bundle.ts';
import type { Material } from '../material.ts';
import type { Capabilities } from '../capabilities.ts';
import { errorIn, hasErrors, warningIn, type Planned, type ResourceProblem } from '../problem.ts';
import { keyOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { badKey, badPort, badType, isGiven, notAHost } from './fields.ts';
import { networkOf, type PartNetworks } from '../networks.ts';
import { SETTING, settingOf } from '../settings.ts';
import { quoted } from '../../text/printable.ts';
import { isHost } from '../../text/names.ts';
import { noPodsMessage } from './no-pods-message.ts';
import { selectPods, type SelectedPod } from './selected-pods.ts';

export interface PlannedConnectors extends Planned<ConnectorConfig> {
  /** Pods of each connector that has a selector. */
  readonly selected: ReadonlyMap<ResourceKey, readonly SelectedPod[]>;
  readonly networks: PartNetworks;
}

/** Each connector gets a config or an error. */
export function planConnectors(resources: SiteResources, site: Site, material: Material): PlannedConnectors {
  const configs: ConnectorConfig[] = [];
  const problems: ResourceProblem[] = [];
  const selected = new Map<ResourceKey, readonly SelectedPod[]>();
  const networks = new Map<ResourceKey, string>();
  for (const connector of resources.Connector) {
    const name = keyOf(connector);
    const { tls, problems: ofTls } = tlsOf(name, connector.spec, material);
    const { hosts, pods, problems: ofServers } = serversOf(connector, material);
    if (pods !== undefined) selected.set(name, pods);
    const { network, problems: ofNetwork } = networkOf(connector, site, material.capabilities);
    const found = [...problemsOf(connector, material.capabilities), ...ofNetwork, ...ofServers, ...ofTls];
    problems.push(...found);
    if (hasErrors(found)) continue;
    if (network !== undefined) networks.set(name, network);
    const { routingKey, port } = connector.spec;
    const probe = settingOf(connector, SETTING.probe) === 'none' ? ({ probe: 'none' } as const) : {};
    const config = { name, routingKey, hosts, port, ...probe, ...(tls === undefined ? {} : { tls }) };
    const byPod = connector.spec.exposePodsByName === true ? eachPod(config, pods ?? []) : { configs: [], problems: [] };
    configs.push(config, ...byPod.configs);
    problems.push(...byPod.problems);
  }
  return { configs, problems, selected, networks };
}

/** One connector for each pod, with its own routing key, besides the common connector. */
export function eachPod(config: ConnectorConfig, pods: readonly SelectedPod[]): Planned<ConnectorConfig> {
  // Names of planned connectors are keys of their resources.
  const resource = config.name as ResourceKey;
  const each = pods.map(({ name, ip }) => ({
    ...config,
    name: `${config.name}/${name}`,
    routingKey: `${config.routingKey}.${name}`,
    hosts: [ip],
  }));
  const isKey = ({ routingKey }: ConnectorConfig): boolean => badKey(resource, '', routingKey).length === 0;
  const problems = each
    .filter((one) => !isKey(one))
    .map(({ routingKey }) => {
      const message = `${quoted(routingKey)} is too long for a routing key, so this pod is not exposed by its name; use a shorter key.`;
      return warningIn(resource, 'spec.exposePodsByName', 'routing-key', message);
    });
  return { configs: each.filter(isKey), problems };
}

function problemsOf(connector: Connector, capabilities: Capabilities): readonly ResourceProblem[] {
  const resource = keyOf(connector);
  const { routingKey, port, type } = connector.spec;
  return [
    ...badKey(resource, 'spec.routingKey', routingKey),
    ...badPort(resource, 'spec.port', port),
    ...(capabilities.has('pods') ? [] : podProblems(connector, resource)),
    ...badType(resource, type),
  ];
}

function podProblems({ spec }: Connector, resource: ResourceKey): readonly ResourceProblem[] {
  const problems: ResourceProblem[] = [];
  if (isGiven(spec.selector)) {
    problems.push(
      isGiven(spec.host)
        ? warningIn(resource, 'spec.selector', 'not-on-platform', `${SELECTED}, so spec.host is used; remove the selector.`)
        : errorIn(resource, 'spec.selector', 'not-on-platform', `${SELECTED}; give the server in spec.host.`),
    );
  }
  for (const field of ['exposePodsByName', 'includeNotReadyPods'] as const) {
    if (spec[field] !== true) continue;
    problems.push(warningIn(resource, `spec.${field}`, 'not-on-platform', 'pods exist only on Kubernetes; remove the field.'));
  }
  return problems;
}

const SELECTED = 'pods can be selected only on Kubernetes';

interface Servers {
  readonly hosts: readonly string[];
  /** Undefined unless pods are selected. */
  readonly pods?: readonly SelectedPod[];
  readonly problems: readonly ResourceProblem[];
}

function serversOf(connector: Connector, { pods, capabilities }: Material): Servers {
  const resource = keyOf(connector);
  const { host, selector, includeNotReadyPods } = connector.spec;
  const wrong = (field: string, code: ResourceProblem['code'], message: string): Servers => ({
    hosts: [],
    problems: [errorIn(resource, field, code, message)],
  });
  if (isHost(host)) return { hosts: [host], problems: [] };
  if (isGiven(host)) return wrong('spec.host', 'host', `${notAHost(host)}.`);
  if (!isGiven(selector)) {
    const message = 'it is missing; name the host or address of the server.';
    const beginning = 'Connector must define a non-empty spec.host or spec.selector';
    return { hosts: [], problems: [{ ...errorIn(resource, 'spec.host', 'host', message), beginning }] };
  }
  // Another problem already says that this platform cannot select pods.
  if (!capabilities.has('pods')) return { hosts: [], problems: [] };
  const found = selectPods(selector, pods ?? [], includeNotReadyPods === true);
  if ('wrong' in found) return wrong('spec.selector', 'selector', `${quoted(selector)} ${found.wrong}.`);
  // Pods on the host network share the address of their node.
  if (found.length > 0) return { hosts: [...new Set(found.map(({ ip }) => ip))], pods: found, problems: [] };
  return { ...wrong('spec.selector', 'no-pods', noPodsMessage(selector, pods ?? [])), pods: [] };
}

export function tlsOf(
  resource: ResourceKey,
  { tlsCredentials, useClientCert, verifyHostname }: Pick<Connector['spec'], 'tlsCredentials' | 'useClientCert' | 'verifyHostname'>,
  material: Material,
): { readonly tls?: NonNullable<ConnectorConfig['tls']>; readonly problems: readonly ResourceProblem[] } {
  if (!isGiven(tlsCredentials)) {
    if (useClientCert !== true) return { problems: [] };
    const message = 'a certificate can be presented only over TLS; name a bundle in spec.tlsCredentials.';
    return { problems: [errorIn(resource, 'spec.useClientCert', 'tls-missing', message)] };
  }
  const { bundle, problems } = findBundle(material, tlsCredentials, useClientCert === true ? 'client' : 'trust', resource);
  if (bundle === undefined) return { problems };
  const { name, ca } = bundle;
  const used = useClientCert === true ? bundle : { name, ...(ca === undefined ? {} : { ca }) };
  return { tls: { bundle: used, verifyHostname: verifyHostname ?? material.defaults.verifyHostname }, problems };
}
