import { isDeepStrictEqual } from 'node:util';
import type { Link } from '../api/skupper/index.ts';
import type { GroupEndpoint, Learned } from '../router/contract.ts';
import { isRecord } from '../text/is-record.ts';
import { isHost, isSiteId } from '../text/names.ts';
import { parsePort } from './plan/fields.ts';
import { nameOf } from './resources.ts';
import { limitTable } from '../limits/table.ts';

/** A stored Link with its status, whatever process wrote that. */
export interface StandingLink {
  readonly metadata: { readonly generation?: number | undefined };
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** As many endpoints as a site announces. */
const MOST_ENDPOINTS = limitTable.announcedEndpoints.value;

/**
 * Endpoints of the remote site that earlier routers of this site learned, from the Link's status. A status for other endpoints, or for an
 * earlier spec, may concern another site and does not count.
 */
export function rememberedOf(link: Link, { metadata, spec, status }: StandingLink): Learned | undefined {
  if (!isRecord(status) || !isRecord(spec)) return undefined;
  const { remoteSiteId, endpoints, conditions } = status;
  if (typeof remoteSiteId !== 'string' || !isSiteId(remoteSiteId) || !Array.isArray(endpoints)) return undefined;
  if (!isDeepStrictEqual(spec['endpoints'], link.spec.endpoints)) return undefined;
  const isOfSpec =
    Array.isArray(conditions) && conditions.filter(isRecord).every((each) => each['observedGeneration'] === metadata.generation);
  const usable = endpoints.slice(0, MOST_ENDPOINTS).flatMap((endpoint: unknown) => endpointIn(endpoint) ?? []);
  return isOfSpec && usable.length > 0 ? { site: remoteSiteId, endpoints: usable } : undefined;
}

/** Keyed by the names of the Links. */
export function rememberedOfAll(
  links: readonly Link[],
  standing: (name: string) => StandingLink | undefined,
): ReadonlyMap<string, Learned> {
  return new Map(
    links.flatMap((link) => {
      const stands = standing(nameOf(link));
      const remembered = stands === undefined ? undefined : rememberedOf(link, stands);
      return remembered === undefined ? [] : [[nameOf(link), remembered] as const];
    }),
  );
}

function endpointIn(value: unknown): GroupEndpoint | undefined {
  if (!isRecord(value)) return undefined;
  const { host, port } = value;
  const number = typeof port === 'string' ? parsePort(port) : undefined;
  return typeof host !== 'string' || !isHost(host) || number === undefined ? undefined : { host, port: number };
}
