/** Where other sites reach this one, and by which names its certificates have to be good: pure. */
import type { Endpoint } from '../api/skupper/index.ts';
import type { RouterState } from '../router/contract.ts';
import { accessName, type Access } from './plan/access.ts';

export interface ReachableAddress {
  readonly host: string;
  readonly port: number;
}

/** How its platform lets others reach a site, as far as it knows now. */
export type Reach =
  /** At the router's own sockets, by the names and addresses of its machine, the best first. */
  | { readonly kind: 'direct'; readonly hosts: readonly string[] }
  /** At what stands before them (a node port, a load balancer), by `accessName`, the best first. It may come late, or never. */
  | { readonly kind: 'forwarded'; readonly addresses: Readonly<Record<string, readonly ReachableAddress[]>> };

/**
 * What other sites are told. Direct: the names that the resource has, then the address that is listened on, or all of the machine
 * where that is any.
 * @param access undefined where a site has none, and its other servers are meant
 */
export function reachableHosts(access: Access | undefined, reach: Reach): readonly string[] {
  if (reach.kind === 'forwarded') return access === undefined ? [] : forwardedHosts(access, reach);
  if (access !== undefined && access.hosts.length > 0) return [...new Set(access.hosts)];
  return access?.bindHost === undefined ? reach.hosts : [access.bindHost];
}

/** Names in the certificate: what others are told, and this machine by itself. */
export function certificateHosts(access: Access | undefined, reach: Reach): readonly string[] {
  const told = access?.hosts ?? [];
  if (reach.kind === 'forwarded') return [...new Set([...told, ...reachableHosts(access, reach)])];
  const own = access?.bindHost === undefined ? [...reach.hosts, 'localhost', '127.0.0.1', '::1'] : [access.bindHost];
  return [...new Set([...told, ...own])];
}

/** Only of what really listens. Hosts in order of preference; the roles of a host next to each other. */
export function endpointsOf(access: Access, reach: Reach, states: RouterState['accesses']): readonly Endpoint[] {
  const listening = access.roles.filter(({ role }) => states[accessName(access, role)]?.listening === true);
  return reachableHosts(access, reach).flatMap((host) =>
    listening.flatMap(({ role, port }): readonly Endpoint[] => {
      const name = accessName(access, role);
      const ports =
        reach.kind === 'direct'
          ? [states[name]?.port ?? port]
          : (reach.addresses[name] ?? []).filter((address) => address.host === host).map((address) => address.port);
      return ports.map((reachable) => ({ name: role, host, port: String(reachable), group: access.name }));
    }),
  );
}

/** The one address of this machine that all of them listen on, if there is one. */
export function commonBindHost(accesses: readonly Pick<Access, 'bindHost'>[]): string | undefined {
  const [host, ...others] = new Set(accesses.map(({ bindHost }) => bindHost));
  return others.length === 0 ? host : undefined;
}

function forwardedHosts(access: Access, { addresses }: Extract<Reach, { readonly kind: 'forwarded' }>): readonly string[] {
  const known = access.roles.flatMap(({ role }) => addresses[accessName(access, role)] ?? []);
  return [...new Set(known.map(({ host }) => host))];
}
