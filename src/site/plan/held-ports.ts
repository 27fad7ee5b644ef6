/** Assigns ports to listeners. If two want the same port, its holder keeps it; otherwise the first by name gets it. */
import type { ListenerConfig } from '../../router/contract.ts';
import { errorIn, type Planned, type ResourceProblem } from '../problem.ts';
import type { ResourceKey } from '../resources.ts';
import { hostPort } from '../../text/host-port.ts';

/** Plain data that a platform can store across restarts. Without it, the first by name gets the port after a restart. */
export interface HeldPort {
  readonly listener: string;
  /** Container network; undefined for addresses of the machine. */
  readonly network?: string;
  readonly host: string;
  readonly port: number;
}

export interface PlannedListeners<Config = ListenerConfig> extends Planned<Config> {
  readonly held: readonly HeldPort[];
}

/** Listener at an address of the machine, or in a container network. */
export type LocalListener = ListenerConfig & { readonly host: string; readonly network?: string };

export function sharePorts(desired: readonly LocalListener[], before: readonly HeldPort[]): PlannedListeners<LocalListener> {
  const incumbents = new Map(before.map((held) => [bindAddress(held), held.listener]));
  const owners = new Map<string, string>();
  for (const config of desired) {
    const address = bindAddress(config);
    if (!owners.has(address) || incumbents.get(address) === config.name) owners.set(address, config.name);
  }
  const configs = desired.filter((config) => owners.get(bindAddress(config)) === config.name);
  const losers = desired.filter((config) => owners.get(bindAddress(config)) !== config.name);
  return {
    configs,
    held: configs.map(({ name, host, port, network }) => ({ listener: name, host, port, ...(network === undefined ? {} : { network }) })),
    // Names of planned listeners are keys of their resources.
    problems: losers.map((config) => takenTwice(config.name as ResourceKey, config, owners.get(bindAddress(config)))),
  };
}

export function takenTwice(
  resource: ResourceKey,
  { host, port, network }: { readonly host: string; readonly port: number; readonly network?: string },
  owner = 'another',
): ResourceProblem {
  if (network !== undefined) {
    const message = `${owner.replace('/', ' ')} has port ${port} in the network ${network}, where all names lead to the same router; use another port, or delete one of the two.`;
    return errorIn(resource, 'spec.port', 'port-taken-twice', message);
  }
  const message = `${owner.replace('/', ' ')} with host ${host} and port ${port} already exists in namespace; use another port or host, or delete one of the two.`;
  return errorIn(resource, 'spec.port', 'port-taken-twice', message);
}

function bindAddress({ host, port, network }: { readonly host: string; readonly port: number; readonly network?: string }): string {
  // Names of networks have no spaces.
  if (network !== undefined) return `${network} ${port}`;
  return hostPort({ host: host.toLowerCase(), port });
}
