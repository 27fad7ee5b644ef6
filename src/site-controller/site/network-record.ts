import type { IncomingLink, SiteRecord } from '../../api/skupper/index.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';

/** An object may have 1.5 MiB, and a Site contains more than this record. */
const MOST_CHARACTERS = 262_144;
const LONGEST_NAME = 253;
const MOST_LINKS = 256;
const MOST_SERVICES = 1024;
const MOST_ENTRIES = 64;

export interface ReadNetwork {
  readonly network: readonly SiteRecord[];
  readonly sitesInNetwork: number;
}

/**
 * Parses the sites that a router pod reported. The pod may be compromised, and it repeats data of other sites. Entries without the form of
 * `Site.status.network` are dropped, and the size is limited so that the Site can still be written.
 */
export function readNetwork(json: string | undefined): ReadNetwork {
  const sites = recordsIn(parsed(json));
  const network: SiteRecord[] = [];
  let characters = 0;
  for (const site of sites) {
    const record = siteRecord(site);
    characters += JSON.stringify(record).length;
    if (characters > MOST_CHARACTERS) break;
    network.push(record);
  }
  return { network, sitesInNetwork: sites.length };
}

const MOST_INCOMING = 128;
const LONGEST_MESSAGE = 200;

/** Parses the links that other sites opened, as a router pod reported them: see `readNetwork`. */
export function readIncomingLinks(json: string | undefined): readonly IncomingLink[] {
  return recordsIn(parsed(json))
    .slice(0, MOST_INCOMING)
    .map((link) => ({
      ...texts(link, ['siteId', 'siteName', 'address', 'since']),
      ...(Number.isSafeInteger(link['cost']) ? { cost: Math.min(Math.max(Number(link['cost']), 0), 65_535) } : {}),
      ...(typeof link['operational'] === 'boolean' ? { operational: link['operational'] } : {}),
      ...(typeof link['message'] === 'string' ? { message: printable(link['message'], LONGEST_MESSAGE) } : {}),
    }));
}

function siteRecord(site: Fields): SiteRecord {
  return {
    ...texts(site, ['id', 'name', 'namespace', 'platform', 'version']),
    links: recordsIn(site['links'])
      .slice(0, MOST_LINKS)
      .map((link) => ({
        ...texts(link, ['name', 'remoteSiteId', 'remoteSiteName']),
        ...(typeof link['operational'] === 'boolean' ? { operational: link['operational'] } : {}),
      })),
    services: recordsIn(site['services'])
      .slice(0, MOST_SERVICES)
      .map((service) => ({
        ...texts(service, ['routingKey']),
        connectors: namesIn(service['connectors']),
        listeners: namesIn(service['listeners']),
      })),
  };
}

type Fields = Readonly<Record<string, unknown>>;

function texts<K extends string>(from: Fields, keys: readonly K[]): { readonly [key in K]?: string } {
  const found = keys.flatMap((key): readonly [string, string][] => {
    const value = from[key];
    return typeof value === 'string' ? [[key, name(value)]] : [];
  });
  // Contains only those of the given keys that are present.
  return Object.fromEntries(found) as { readonly [key in K]?: string };
}

function namesIn(value: unknown): readonly string[] {
  return (Array.isArray(value) ? value : []).slice(0, MOST_ENTRIES).flatMap((each) => (typeof each === 'string' ? [name(each)] : []));
}

function name(text: string): string {
  return printable(text, LONGEST_NAME);
}

function recordsIn(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function parsed(json: string | undefined): unknown {
  try {
    return JSON.parse(json ?? '[]');
  } catch {
    return [];
  }
}
