/** Limits the size of the published network data: it grows with the number of sites, but objects of a cluster have a limit. */
import { NETWORK_DATA } from '../../api/skupper/cluster-names.ts';
import type { SiteRecord } from '../../api/skupper/index.ts';
import { podKeys, siteRecords, toolsStatus, type NetworkSeen, type ToolsStatus } from './network-status.ts';

/** Maximum number of characters of each entry: there are three, and a ConfigMap may have 1 MiB. */
const MOST_CHARACTERS = 300_000;

/**
 * Entries of the ConfigMap, as text.
 * @param exposed routing keys of Listeners whose pods are exposed by name
 * @param kept routing keys of pods that stay, whether seen or not
 */
export function networkData(seen: NetworkSeen, exposed: readonly string[], kept: readonly string[] = []): Readonly<Record<string, string>> {
  const sites = fitting(siteRecords(seen), (site): SiteRecord => ({ ...site, links: [], services: [] }));
  const tools = toolsStatus(seen);
  const { addresses, siteStatus } = tools;
  const boundedSites = fitting(siteStatus, ({ site }) => ({ site, routerStatus: [] }));
  const boundedAddresses = fitting(addresses, () => undefined, MOST_CHARACTERS - boundedSites.characters);
  const keys = fitting(podKeys(seen.router.network, exposed, kept), () => undefined);
  const isCut = [sites, boundedSites, boundedAddresses, keys].some(({ cut }) => cut);
  return {
    [NETWORK_DATA.tools]: JSON.stringify({ addresses: boundedAddresses.kept, siteStatus: boundedSites.kept } satisfies ToolsStatus),
    [NETWORK_DATA.sites]: JSON.stringify(sites.kept),
    [NETWORK_DATA.podKeys]: JSON.stringify(keys.kept),
    [NETWORK_DATA.cut]: isCut ? CUT : '',
  };
}

const CUT =
  "The network exceeds the size limit of this object, so farther sites are shortened or omitted. The routers' /metrics count the whole network.";

interface Fitting<T> {
  readonly kept: readonly T[];
  readonly characters: number;
  readonly cut: boolean;
}

/** Adds the entries in order: in full while there is capacity, then shortened, then not at all. */
function fitting<T>(all: readonly T[], shorter: (one: T) => T | undefined, most = MOST_CHARACTERS): Fitting<T> {
  const kept: T[] = [];
  let characters = 2;
  let cut = false;
  // Reserves capacity for the short forms, so that each site is at least named.
  const short = all.map((one) => shorter(one));
  let reserved = short.reduce((sum, one) => sum + sizeOf(one), 0);
  for (const [index, one] of all.entries()) {
    const brief = short[index];
    reserved -= sizeOf(brief);
    const isWhole = characters + sizeOf(one) + reserved <= most;
    cut ||= !isWhole;
    const chosen = isWhole ? one : brief;
    if (chosen === undefined || characters + sizeOf(chosen) > most) continue;
    kept.push(chosen);
    characters += sizeOf(chosen);
  }
  return { kept, characters, cut };
}

/** Length in JSON, including a comma. */
function sizeOf(value: unknown): number {
  return value === undefined ? 0 : JSON.stringify(value).length + 1;
}
