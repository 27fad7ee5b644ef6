import type { Connector } from '../../api/skupper/index.ts';
import type { ConnectorConfig } from '../../router/contract.ts';
import { quote, type BundleFinder } from '../bundle-finder.ts';
import { badKey, badPort } from './limits.ts';
import type { Platform } from '../material.ts';
import type { ResourceProblem } from '../problem.ts';
import { keyOf, type ResourceKey, type SiteResources } from '../resources.ts';

export function planConnectors(
  resources: SiteResources,
  platform: Platform,
  bundles: BundleFinder,
): { readonly configs: readonly ConnectorConfig[]; readonly problems: readonly ResourceProblem[] } {
  const configs: ConnectorConfig[] = [];
  const problems: ResourceProblem[] = [];
  for (const connector of resources.Connector) {
    const found = problemsOf(connector, platform);
    const tls = tlsOf(connector, bundles);
    const all = [...found, ...tls.problems];
    problems.push(...all);
    const { routingKey, host, port } = connector.spec;
    if (all.some(({ severity }) => severity === 'error') || host === undefined) continue;
    configs.push({ name: keyOf(connector), routingKey, hosts: [host], port, ...(tls.tls === undefined ? {} : { tls: tls.tls }) });
  }
  return { configs, problems };
}

function problemsOf(connector: Connector, platform: Platform): ResourceProblem[] {
  const resource = keyOf(connector);
  const { routingKey, host, port, selector, type, exposePodsByName, includeNotReadyPods } = connector.spec;
  const problems = [...badKey(resource, 'spec.routingKey', routingKey), ...badPort(resource, 'spec.port', port)];
  const add = (severity: ResourceProblem['severity'], code: ResourceProblem['code'], field: string, message: string): void => {
    problems.push({ resource, severity, code, field, message });
  };
  const hasHost = host !== undefined && host !== '';
  const hasSelector = selector !== undefined && selector !== '';
  if (platform !== 'kubernetes') {
    if (hasSelector && !hasHost) {
      add('error', 'not-on-platform', 'spec.selector', 'pods can be selected on Kubernetes only; give the server in spec.host.');
    } else if (hasSelector) {
      add(
        'warning',
        'not-on-platform',
        'spec.selector',
        'pods can be selected on Kubernetes only, so spec.host is used; remove the selector.',
      );
    }
    if (exposePodsByName === true)
      add('warning', 'not-on-platform', 'spec.exposePodsByName', 'there are pods on Kubernetes only; remove the field.');
    if (includeNotReadyPods === true)
      add('warning', 'not-on-platform', 'spec.includeNotReadyPods', 'there are pods on Kubernetes only; remove the field.');
  }
  if (!hasHost && !hasSelector) add('error', 'host', 'spec.host', 'it is missing; name the host or address of the server.');
  if (hasHost && (host.length > 253 || /[^\w.:%-]/.test(host))) {
    add('error', 'host', 'spec.host', `${quote(host)} is neither a host name nor an address.`);
  }
  if (type !== undefined && type !== '' && type !== 'tcp') add('error', 'type', 'spec.type', `${quote(type)} is not supported; use tcp.`);
  return problems;
}

function tlsOf(
  connector: Connector,
  bundles: BundleFinder,
): { readonly tls?: NonNullable<ConnectorConfig['tls']>; readonly problems: readonly ResourceProblem[] } {
  const resource: ResourceKey = keyOf(connector);
  const { tlsCredentials, useClientCert, verifyHostname } = connector.spec;
  if (tlsCredentials === undefined || tlsCredentials === '') {
    if (useClientCert !== true) return { problems: [] };
    const message = 'a certificate can be shown only over TLS; name a bundle in spec.tlsCredentials.';
    return { problems: [{ resource, severity: 'error', code: 'tls-missing', field: 'spec.useClientCert', message }] };
  }
  const { bundle, problems } = bundles.find(tlsCredentials, useClientCert === true ? 'client' : 'trust', resource);
  if (bundle === undefined) return { problems };
  const { name, ca } = bundle;
  const used = useClientCert === true ? bundle : { name, ...(ca === undefined ? {} : { ca }) };
  return { tls: { bundle: used, verifyHostname: verifyHostname ?? true }, problems };
}
