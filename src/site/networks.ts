/**
 * Container networks of a site on a machine (pure). The site has a router in each of them, beside the routers on the machine's own network.
 * A Listener or Connector with `settings.network` runs on the router of that network only.
 */
import { createHash } from 'node:crypto';
import type { Site } from '../api/skupper/index.ts';
import { isHost, isLabel } from '../text/names.ts';
import { quoted } from '../text/printable.ts';
import { isIP } from 'node:net';
import type { Capabilities } from './capabilities.ts';
import { errorIn, warningIn, type ResourceProblem } from './problem.ts';
import { keyOf, type OfKind, type ResourceKey, type SiteResources } from './resources.ts';
import { SETTING, settingOf } from './settings.ts';

/** Name of the router in each network, for containers there. */
export const ROUTER_ALIAS = 'earshot';

/** Networks and network modes of Podman and Docker that do not resolve names of containers. */
const NAMELESS: ReadonlySet<string> = new Set(['podman', 'bridge', 'host', 'none', 'default', 'private', 'slirp4netns', 'pasta']);

const MOST_CHARACTERS = 128;

/** Whether it can be the name of a network of Podman or Docker. */
export function isNetworkName(text: string): boolean {
  return text.length <= MOST_CHARACTERS && /^[a-zA-Z0-9][a-zA-Z0-9_.-]*$/.test(text);
}

/** Says why a network cannot be used; undefined if it can. */
export function networkFault(network: string): string | undefined {
  if (!isNetworkName(network)) {
    return `${quoted(network)} cannot be the name of a container network; use letters, digits, _, . and -, and begin with a letter or digit.`;
  }
  if (!NAMELESS.has(network)) return undefined;
  return `containers of ${network} have no names in DNS; create a network, for example with \`podman network create apps\`, and use that.`;
}

/** Usable networks that the Site lists, sorted. */
export function siteNetworks(site: Pick<Site, 'spec'>): readonly string[] {
  return listed(site).filter((network) => networkFault(network) === undefined);
}

function listed(site: Pick<Site, 'spec'>): readonly string[] {
  const names = (settingOf({ spec: site.spec }, SETTING.networks) ?? '').split(',').map((name) => name.trim());
  return [...new Set(names)].filter((name) => name !== '').sort();
}

/** Problems of the list in the Site. Settings of other platforms are reported elsewhere. */
export function networkListProblems(site: Site, capabilities: Capabilities): readonly ResourceProblem[] {
  const names = listed(site);
  if (names.length === 0 || capabilities.has('services')) return [];
  const field = `spec.settings.${SETTING.networks}`;
  if (!capabilities.has('container-networks')) return [warningIn(keyOf(site), field, 'not-on-platform', NEEDS_ENGINE)];
  return names.flatMap((network) => {
    const fault = networkFault(network);
    return fault === undefined ? [] : [warningIn(keyOf(site), field, 'network', fault)];
  });
}

const NEEDS_ENGINE =
  'container networks need a router in a container, and this one runs on the machine itself; install it with --platform podman or docker, or remove the setting.';

type NetworkPart = OfKind<'Listener' | 'MultiKeyListener' | 'Connector'>;

export interface NetworkOf {
  /** Undefined for the machine's own network. */
  readonly network?: string;
  /** Errors, since elsewhere the resource would be open to others than intended. */
  readonly problems: readonly ResourceProblem[];
}

/** Decides on which network a Listener or Connector runs. */
export function networkOf(part: NetworkPart, site: Site, capabilities: Capabilities): NetworkOf {
  const network = settingOf(part, SETTING.network) ?? '';
  if (network === '' || capabilities.has('services')) return { problems: [] };
  const wrong = (code: ResourceProblem['code'], message: string): NetworkOf => ({
    problems: [errorIn(keyOf(part), `spec.settings.${SETTING.network}`, code, message)],
  });
  if (!capabilities.has('container-networks')) return wrong('not-on-platform', NEEDS_ENGINE);
  const fault = networkFault(network);
  if (fault !== undefined) return wrong('network', fault);
  if (siteNetworks(site).includes(network)) return { network, problems: [] };
  const message = `the Site has no router in the network ${network}; add it to settings.${SETTING.networks} of the Site, or correct the name.`;
  return wrong('network', message);
}

/** Whether the text is a name that containers of a network can use for the router. */
export function isNetworkAlias(host: string): boolean {
  return isHost(host) && isIP(host) === 0 && host.toLowerCase() !== 'localhost';
}

/**
 * Names in DNS of the router of a network: its own, and the hosts of the Listeners of the network. Sorted, in lower case.
 * @returns an empty list if the Site does not list the network
 */
export function networkAliases(
  resources: Pick<SiteResources, 'Site' | 'Listener' | 'MultiKeyListener'>,
  network: string,
): readonly string[] {
  if (!resources.Site.some((site) => siteNetworks(site).includes(network))) return [];
  const hosts = [...resources.Listener, ...resources.MultiKeyListener]
    .filter((listener) => settingOf(listener, SETTING.network) === network && isNetworkAlias(listener.spec.host))
    .map(({ spec }) => spec.host.toLowerCase());
  return [...new Set([ROUTER_ALIAS, ...hosts])].sort();
}

const HASH_LENGTH = 8;
const PREFIX = 'net-';

/** Name of the router of a network within its site. Names that are not DNS labels get a hash, since several may have the same valid part. */
export function networkRouterName(network: string): string {
  const name = `${PREFIX}${network}`;
  if (isLabel(name)) return name;
  const hash = createHash('sha256').update(network).digest('hex').slice(0, HASH_LENGTH);
  const readable = network.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-');
  return `${PREFIX}${readable.slice(0, 63 - PREFIX.length - HASH_LENGTH - 1)}-${hash}`;
}

/** Running router of a network, as it announced itself. */
export interface NetworkRouter {
  readonly network: string;
  /** Name of the router. */
  readonly router: string;
  /** Its names in DNS; undefined if unknown. */
  readonly aliases?: readonly string[];
}

/** Network of a planned part, for a message about its router. */
export type PartNetworks = ReadonlyMap<ResourceKey, string>;
