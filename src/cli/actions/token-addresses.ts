/** Addresses of the site at which a token can be redeemed. */
import { isIP } from 'node:net';
import type { Resources } from '../../platform/resources.ts';
import { unreachableText } from '../../site/site-endpoints.ts';
import { OTHER_URLS } from '../../trust/tokens/token.ts';
import { CliError } from '../errors.ts';

export interface TokenAddresses {
  readonly url: string;
  /** Addresses tried in order if `url` is unreachable. */
  readonly otherUrls: readonly string[];
}

const MOST_OTHERS = 7;

/**
 * @param url redemption URL of the grant, at the site's first address
 * @param host host to use as the first instead
 * @throws CliError failed if the site does not have this host
 */
export async function addressesFor(url: string, host: string | undefined, resources: Resources): Promise<TokenAddresses> {
  const usual = bare(new URL(url).hostname);
  const hosts = [...new Set([usual, ...(resources.conventions.redeemsAtSite ? await hostsOf(resources) : [])])];
  const first = host ?? usual;
  if (!hosts.includes(first)) {
    const advice = resources.conventions.redeemsAtSite
      ? 'To add a host, create a RouterAccess that lists it in subjectAlternativeNames.'
      : 'In a cluster, tokens are redeemed at the controller: omit --host.';
    throw new CliError('failed', `${unreachableText(first, hosts)} ${advice}`);
  }
  // A name without a dot resolves only inside one network.
  const others = hosts.filter((each) => each !== first && (isIP(each) !== 0 || each.includes('.')));
  return { url: at(url, first), otherUrls: others.slice(0, MOST_OTHERS).map((each) => at(url, each)) };
}

/** Formats the addresses for users: `192.0.2.1, else to 198.51.100.1`. */
export function described({ url, otherUrls }: TokenAddresses): string {
  return [url, ...otherUrls].map((each) => bare(new URL(each).hostname)).join(', alternatively to ');
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
