import { hostname, networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import type { Platform } from '../../site/capabilities.ts';
import type { Reach } from '../../site/site-endpoints.ts';
import { isResourceName } from '../../text/names.ts';

export const linux: Platform = {
  name: 'linux',
  capabilities: new Set(),
  defaults: { verifyHostname: true, requireClientCert: true },
  wording: 'codes',
};

/** The router's sockets are those of the machine. */
export function machineReach(): Reach {
  return { kind: 'direct', hosts: machineHosts() };
}

/** What others may reach this machine by, the best first; its loopback address where there is nothing else. */
export function machineHosts(
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>> = networkInterfaces(),
  name: string = hostname(),
): readonly string[] {
  const addresses = Object.values(interfaces).flatMap((list) => list ?? []);
  const outward = addresses.filter(({ internal, address }) => !internal && !isLinkLocal(address));
  const ordered = [...outward.filter(({ family }) => family === 'IPv4'), ...outward.filter(({ family }) => family !== 'IPv4')];
  const hosts = ordered.map(({ address }) => address);
  // A bare name is good only where its network's DNS knows it, so it comes last.
  const named = isResourceName(name.toLowerCase()) && name !== 'localhost' ? [name.toLowerCase()] : [];
  return hosts.length === 0 ? ['127.0.0.1', ...named] : [...new Set([...hosts, ...named])];
}

/** RFC 3927, RFC 4291 section 2.5.6: of use only with an interface, which another machine does not have. */
function isLinkLocal(address: string): boolean {
  return address.startsWith('169.254.') || /^fe[89ab]/i.test(address);
}
