/** Addresses at which other sites reach this one, and the names that its certificates need (pure). */
import { printable, quoted } from '../text/printable.ts';
import type { Endpoint } from '../api/skupper/index.ts';
import type { RouterState } from '../router/contract.ts';
import { accessName, type Access } from './plan/access.ts';
import { isWildcard } from './plan/fields.ts';

export interface ReachableAddress {
  readonly host: string;
  readonly port: number;
}

/** How the platform makes a site reachable, as far as it is known now. */
export type Reach =
  /** At the router's own sockets, by the names and addresses of its machine, best first. */
  | { readonly kind: 'direct'; readonly hosts: readonly string[] }
  /** Through a node port or load balancer in front of them, by `accessName`, best first. It may come late, or never. */
  | { readonly kind: 'forwarded'; readonly addresses: Readonly<Record<string, readonly ReachableAddress[]>> };

/**
 * Hosts that other sites receive. For `direct`: the names in the resource, else the address that is bound, else all hosts of the machine.
 * @param access undefined for the other servers of a site without an access
 */
export function reachableHosts(access: Access | undefined, reach: Reach): readonly string[] {
  if (reach.kind === 'forwarded') return access === undefined ? [] : forwardedHosts(access, reach);
  if (access !== undefined && access.hosts.length > 0) return [...new Set(access.hosts)];
  return access?.bindHost === undefined ? reach.hosts : [access.bindHost];
}

/** Names in the certificate: the hosts that other sites receive, and the machine's own names. */
export function certificateHosts(access: Access | undefined, reach: Reach): readonly string[] {
  const given = access?.hosts ?? [];
  if (reach.kind === 'forwarded') return [...new Set([...given, ...reachableHosts(access, reach)])];
  const own = access?.bindHost === undefined ? [...reach.hosts, 'localhost', '127.0.0.1', '::1'] : [access.bindHost];
  return [...new Set([...given, ...own])];
}

/**
 * Names in the certificate of a server on this machine.
 * @returns isOfMachine whether names of the machine are among them, which come and go with its networks
 */
export function addressHosts(host: string, reach: Reach): { readonly hosts: readonly string[]; readonly isOfMachine: boolean } {
  const isOfMachine = isWildcard(host);
  return { hosts: isOfMachine ? [...new Set([host, ...certificateHosts(undefined, reach)])] : [host], isOfMachine };
}

/** Hosts of an access with a link file each: those that its resource names, and for all addresses those of the machine and its loopback. */
export function staticLinkHosts(access: Access, reach: Reach): readonly string[] {
  const own = access.bindHost ?? '127.0.0.1';
  return [...new Set([...reachableHosts(access, reach), own])];
}

/** Endpoints that are listening. Hosts are in order of preference, and the roles of a host are adjacent. */
export function endpointsOf(
  access: Access,
  reach: Reach,
  states: RouterState['accesses'],
  hosts: readonly string[] = reachableHosts(access, reach),
): readonly Endpoint[] {
  const listening = access.roles.filter(({ role }) => states[accessName(access, role)]?.listening === true);
  return hosts.flatMap((host) =>
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

/** The single address of this machine that all of them bind, if there is one. */
export function commonBindHost(accesses: readonly Pick<Access, 'bindHost'>[]): string | undefined {
  const [host, ...others] = new Set(accesses.map(({ bindHost }) => bindHost));
  return others.length === 0 ? host : undefined;
}

function forwardedHosts(access: Access, { addresses }: Extract<Reach, { readonly kind: 'forwarded' }>): readonly string[] {
  const known = access.roles.flatMap(({ role }) => addresses[accessName(access, role)] ?? []);
  return [...new Set(known.map(({ host }) => host))];
}

/** Says that no other site reaches this one at the host, and at which hosts they do. */
export function unreachableText(host: string, known: readonly string[] = []): string {
  const others = known.length === 0 ? '' : `; it has ${known.map((each) => printable(each)).join(', ')}`;
  return `This site has no address ${quoted(host)} for other sites${others}.`;
}
