import type { AttachedConnectorBinding } from '../../api/skupper/index.ts';
import type { ConnectorConfig } from '../../router/contract.ts';
import type { AttachedServers, Material } from '../material.ts';
import { hasErrors, type Planned, type ResourceProblem } from '../problem.ts';
import { keyOf, nameOf, type SiteResources } from '../resources.ts';
import { badKey } from './fields.ts';
import { eachPod, tlsOf } from './plan-connectors.ts';

/**
 * Connectors to servers of other namespaces. A site admits only those that its own AttachedConnectorBindings request by name and namespace.
 * The controller, which reads both namespaces, reports why one does not work.
 */
export function planAttached(resources: SiteResources, material: Material): Planned<ConnectorConfig> {
  const configs: ConnectorConfig[] = [];
  const problems: ResourceProblem[] = [];
  for (const binding of resources.AttachedConnectorBinding) {
    const servers = serversFor(binding, material);
    if (servers === undefined || servers.pods.length === 0) continue;
    const name = keyOf(binding);
    const { routingKey, exposePodsByName } = binding.spec;
    const { tls, problems: ofTls } = tlsOf(name, servers, material);
    const found = [...badKey(name, 'spec.routingKey', routingKey), ...ofTls];
    problems.push(...found);
    if (hasErrors(found)) continue;
    const hosts = [...new Set(servers.pods.map(({ ip }) => ip))];
    const config = { name, routingKey, hosts, port: servers.port, ...(tls === undefined ? {} : { tls }) };
    const byPod = exposePodsByName === true ? eachPod(config, servers.pods) : { configs: [], problems: [] };
    configs.push(config, ...byPod.configs);
    problems.push(...byPod.problems);
  }
  return { configs, problems };
}

function serversFor(binding: AttachedConnectorBinding, { attachedServers = [] }: Material): AttachedServers | undefined {
  return attachedServers.find(({ name, namespace }) => name === nameOf(binding) && namespace === binding.spec.connectorNamespace);
}
