import type { Connector } from '../../api/skupper/index.ts';
import type { ConnectorConfig } from '../../router/contract.ts';
import { findBundle } from '../find-bundle.ts';
import type { Material } from '../material.ts';
import type { Capabilities } from '../capabilities.ts';
import { errorIn, hasErrors, warningIn, type Planned, type ResourceProblem } from '../problem.ts';
import { keyOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { badKey, badPort, badType, isGiven } from './fields.ts';
import { quoted } from '../../text/printable.ts';
import { isHost } from '../../text/names.ts';

/** Each has a config or an error. */
export function planConnectors(resources: SiteResources, material: Material): Planned<ConnectorConfig> {
  const configs: ConnectorConfig[] = [];
  const problems: ResourceProblem[] = [];
  for (const connector of resources.Connector) {
    const { tls, problems: ofTls } = tlsOf(connector, material);
    const found = [...problemsOf(connector, material.capabilities), ...ofTls];
    problems.push(...found);
    const { routingKey, host, port } = connector.spec;
    if (host === undefined || hasErrors(found)) continue;
    configs.push({ name: keyOf(connector), routingKey, hosts: [host], port, ...(tls === undefined ? {} : { tls }) });
  }
  return { configs, problems };
}

function problemsOf(connector: Connector, capabilities: Capabilities): readonly ResourceProblem[] {
  const resource = keyOf(connector);
  const { routingKey, port, type } = connector.spec;
  return [
    ...badKey(resource, 'spec.routingKey', routingKey),
    ...badPort(resource, 'spec.port', port),
    ...(capabilities.has('pods') ? [] : podProblems(connector, resource)),
    ...hostProblems(connector, resource, capabilities),
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
    problems.push(warningIn(resource, `spec.${field}`, 'not-on-platform', 'there are pods on Kubernetes only; remove the field.'));
  }
  return problems;
}

const SELECTED = 'pods can be selected on Kubernetes only';

function hostProblems({ spec }: Connector, resource: ResourceKey, capabilities: Capabilities): readonly ResourceProblem[] {
  const { host, selector } = spec;
  if (isHost(host)) return [];
  if (isGiven(host)) return [errorIn(resource, 'spec.host', 'host', `${quoted(host)} is neither a host name nor an address.`)];
  // Where pods cannot be selected, that is said of the selector.
  if (isGiven(selector) && !capabilities.has('pods')) return [];
  return [errorIn(resource, 'spec.host', 'host', 'it is missing; name the host or address of the server.')];
}

function tlsOf(
  connector: Connector,
  material: Material,
): { readonly tls?: NonNullable<ConnectorConfig['tls']>; readonly problems: readonly ResourceProblem[] } {
  const resource = keyOf(connector);
  const { tlsCredentials, useClientCert, verifyHostname } = connector.spec;
  if (!isGiven(tlsCredentials)) {
    if (useClientCert !== true) return { problems: [] };
    const message = 'a certificate can be shown only over TLS; name a bundle in spec.tlsCredentials.';
    return { problems: [errorIn(resource, 'spec.useClientCert', 'tls-missing', message)] };
  }
  const { bundle, problems } = findBundle(material, tlsCredentials, useClientCert === true ? 'client' : 'trust', resource);
  if (bundle === undefined) return { problems };
  const { name, ca } = bundle;
  const used = useClientCert === true ? bundle : { name, ...(ca === undefined ? {} : { ca }) };
  return { tls: { bundle: used, verifyHostname: verifyHostname ?? material.defaults.verifyHostname }, problems };
}
