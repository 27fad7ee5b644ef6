/** Figures of a router that others may read: sums without names of resources, addresses and clients (pure). */
import { limitTable } from '../../limits/table.ts';
import type { AdjacentSite, FigureSharing, LinkState, RouterFigures } from '../contract.ts';
import type { Fields } from '../../http2/contract.ts';
import type { Party } from '../../identity/revocation.ts';
import type { KeyMetrics } from '../local/key-metrics.ts';
import { passedOthers } from '../via.ts';
import { LINK_RANK } from './figures-format.ts';

export interface FigureFacts {
  readonly version: string;
  /** Milliseconds since the router started. */
  readonly uptime: number;
  readonly keys: Iterable<Pick<KeyMetrics, 'routingKey' | 'role' | 'open' | 'opened' | 'failed' | 'toServer' | 'toClient'>>;
  /** Links with other sites that are up. */
  readonly links: Iterable<LinkFacts>;
  /** Links that the site opens. */
  readonly configured: Iterable<Pick<LinkState, 'operational' | 'remoteSiteId'>>;
  /** Seconds. */
  readonly eventLoopDelay: number | undefined;
}

export interface LinkFacts {
  readonly site: string;
  readonly isSilent: boolean;
  readonly cost: number;
  /** Milliseconds. */
  readonly roundTrip: number | undefined;
}

export function collectFigures({ version, uptime, keys, links, configured, eventLoopDelay }: FigureFacts): RouterFigures {
  const sums = { open: 0, opened: 0, failed: 0, up: 0, down: 0 };
  for (const { open, opened, failed, toServer, toClient } of countedOnce([...keys])) {
    sums.open += open;
    sums.opened += opened;
    for (const count of failed.values()) sums.failed += count;
    sums.up += toServer.bytes;
    sums.down += toClient.bytes;
  }
  return {
    version,
    uptime: Math.round(uptime),
    ...sums,
    ...(eventLoopDelay === undefined ? {} : { eventLoopDelay: tenths(eventLoopDelay * 1_000) }),
    // Links with a problem are never the ones left out.
    links: adjacentSites(links, configured)
      .toSorted((one, other) => LINK_RANK[one.state] - LINK_RANK[other.state])
      .slice(0, limitTable.observedLinks.value),
  };
}

/** A connection from a listener to a connector of the same router counts at the listener. The console sums up its own site in the same way. */
function countedOnce<T extends Pick<KeyMetrics, 'routingKey' | 'role'>>(keys: readonly T[]): readonly T[] {
  const listened = new Set(keys.filter(({ role }) => role === 'listener').map(({ routingKey }) => routingKey));
  return keys.filter(({ role, routingKey }) => role === 'listener' || !listened.has(routingKey));
}

/** The best link to each site. */
function adjacentSites(links: FigureFacts['links'], configured: FigureFacts['configured']): readonly AdjacentSite[] {
  const found = new Map<string, AdjacentSite>();
  for (const { operational, remoteSiteId } of configured)
    if (!operational && remoteSiteId !== undefined) found.set(remoteSiteId, { site: remoteSiteId, state: 'down' });
  for (const { site, isSilent, cost, roundTrip } of links) {
    const known = found.get(site);
    const state = isSilent ? 'silent' : 'up';
    if (known !== undefined && (LINK_RANK[known.state] > LINK_RANK[state] || (known.state === state && (known.cost ?? 0) <= cost)))
      continue;
    found.set(site, { site, state, cost, ...(roundTrip === undefined ? {} : { roundTrip: tenths(roundTrip) }) });
  }
  return [...found.values()];
}

const tenths = (number: number): number => Math.round(number * 10) / 10;

/**
 * Whether a site's setting permits the answer to a request.
 * @param from the sender, whose hello proved its site
 */
export function isShared(sharing: FigureSharing, from: Party, fields: Fields, ownSite: string): boolean {
  if (sharing === 'site') return from.site === ownSite && !passedOthers(fields, from);
  return sharing === 'network';
}
