import { isIP } from 'node:net';
import type { AccessConfig, LinkEndpoint } from '../../router/contract.ts';

/**
 * Drops endpoints at which this site would reach its own machine, if others are left. Many machines have the same name, or the same
 * addresses of container networks. Another site on this machine is found by its other ports.
 * @param hosts names and addresses of this machine
 */
export function withoutOwn(
  endpoints: readonly LinkEndpoint[],
  hosts: readonly string[],
  accesses: readonly AccessConfig[],
): readonly LinkEndpoint[] {
  const own = new Set(hosts.map((host) => host.toLowerCase()));
  const others = endpoints.filter(({ host, port }) => {
    if (!own.has(host.toLowerCase())) return true;
    const isBareName = isIP(host) === 0 && !host.includes('.');
    return !isBareName && !accesses.some((access) => access.port === port && (access.host ?? host) === host);
  });
  return others.length === 0 ? endpoints : others;
}
