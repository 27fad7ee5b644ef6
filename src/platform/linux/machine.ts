import { hostname, networkInterfaces, type NetworkInterfaceInfo } from 'node:os';
import type { Platform } from '../../site/capabilities.ts';
import type { Reach } from '../../site/site-endpoints.ts';
import { isResourceName } from '../../text/names.ts';

export const linux: Platform = { name: 'linux', capabilities: new Set(), defaults: { verifyHostname: true }, wording: 'codes' };

/** Container engines that can run the routers of a site on a machine. */
export const engines = ['podman', 'docker'] as const;

export type Engine = (typeof engines)[number];

/**
 * Returns the platform of the process. The unit that starts a router in a container sets `EARSHOT_PLATFORM` to the name of its engine.
 */
export function machinePlatform(name: string | undefined = process.env['EARSHOT_PLATFORM']): Platform {
  const engine = engines.find((each) => each === name);
  return engine === undefined ? linux : { ...linux, name: engine, capabilities: new Set(['container-networks']) };
}

/** The router listens on addresses of the machine itself. */
export function machineReach(): Reach {
  return { kind: 'direct', hosts: machineHosts() };
}

/** Hosts under which others may reach this machine, the best first. Without any, its loopback address. */
export function machineHosts(
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>> = networkInterfaces(),
  name: string = hostname(),
): readonly string[] {
  const addresses = Object.values(interfaces).flatMap((list) => list ?? []);
  const outward = addresses.filter(({ internal, address }) => !internal && !isLinkLocal(address));
  const ordered = [...outward.filter(({ family }) => family === 'IPv4'), ...outward.filter(({ family }) => family !== 'IPv4')];
  const hosts = ordered.map(({ address }) => address);
  // The bare host name comes last, since it resolves only where the DNS of the network knows it.
  const named = isResourceName(name.toLowerCase()) && name !== 'localhost' ? [name.toLowerCase()] : [];
  return hosts.length === 0 ? ['127.0.0.1', ...named] : [...new Set([...hosts, ...named])];
}

/** RFC 3927, RFC 4291 section 2.5.6: valid only together with an interface of this machine. */
function isLinkLocal(address: string): boolean {
  return address.startsWith('169.254.') || /^fe[89ab]/i.test(address);
}
