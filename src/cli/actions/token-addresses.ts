/** Addresses of the site at which a token can be redeemed. */
import { isIP } from 'node:net';
import type { Resources } from '../../platform/resources.ts';
import { unreachableText } from '../../site/site-endpoints.ts';
import { printable } from '../../text/printable.ts';
import { OTHER_URLS } from '../../trust/tokens/token.ts';
import { CliError } from '../errors.ts';

export interface TokenAddresses {
  readonly url: string;
  /** Addresses tried in order if `url` is unreachable. */
  readonly otherUrls: readonly string[];
  /** Hosts to which links connect, if tokens are redeemed elsewhere. */
  readonly linkHosts: readonly string[];
}

const MOST_OTHERS = 7;
const LONGEST_HOST = 253;

/**
 * @param url redemption URL of the grant, at the site's first address
 * @param host host to use as the first instead
 * @throws CliError failed if the site does not have this host
 */
export async function addressesFor(url: string, host: string | undefined, resources: Resources): Promise<TokenAddresses> {
  const { redeemsAtSite } = resources.conventions;
  const usual = bare(new URL(url).hostname);
  const ofSite = await hostsOf(resources);
  const hosts = [...new Set([usual, ...(redeemsAtSite ? ofSite : [])])];
  const first = host ?? usual;
  if (!hosts.includes(first)) {
    const advice = redeemsAtSite
      ? 'To add a host, create a RouterAccess that lists it in subjectAlternativeNames.'
      : 'In a cluster, tokens are redeemed at the controller: omit --host.';
    throw new CliError('failed', `${unreachableText(first, hosts)} ${advice}`);
  }
  // A name without a dot resolves only inside one network.
  const others = hosts.filter((each) => each !== first && (isIP(each) !== 0 || each.includes('.')));
  return {
    url: at(url, first),
    otherUrls: others.slice(0, MOST_OTHERS).map((each) => at(url, each)),
    linkHosts: redeemsAtSite ? [] : [...new Set(ofSite)].slice(0, MOST_OTHERS).map((each) => printable(each, LONGEST_HOST)),
  };
}

/** Says which addresses the other site must reach. */
export function reachText({ url, otherUrls, linkHosts }: TokenAddresses): string {
  const redeemed = [url, ...otherUrls].map((each) => bare(new URL(each).hostname));
  const connects = (hosts: readonly string[]): string => `Its link connects to ${hosts.join(', alternatively to ')}.`;
  if (linkHosts.every((host) => redeemed.includes(host)))
    return `${connects(redeemed)}${otherUrls.length === 0 ? '' : ' To try another address first, use --host.'}`;
  return `It is redeemed at ${redeemed.join(', ')}. ${connects(linkHosts)}`;
}

/** The setting in a token's spec that lists the other addresses. */
export function settingsOf(otherUrls: readonly string[] = []): { readonly settings?: Readonly<Record<string, string>> } {
  return otherUrls.length === 0 ? {} : { settings: { [OTHER_URLS]: otherUrls.join(' ') } };
}

async function hostsOf(resources: Resources): Promise<readonly string[]> {
  const [sites, accesses] = await Promise.all([resources.list('Site'), resources.list('RouterAccess')]);
  return [...sites, ...accesses].flatMap(({ status }) => status?.endpoints ?? []).flatMap(({ host }) => host ?? []);
}

function at(url: string, host: string): string {
  const changed = new URL(url);
  changed.hostname = isIP(host) === 6 ? `[${host}]` : host;
  return changed.href;
}

const bare = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');
