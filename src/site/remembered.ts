import { isDeepStrictEqual } from 'node:util';
import type { Link } from '../api/skupper/index.ts';
import type { GroupEndpoint, Learned } from '../router/contract.ts';
import { isRecord } from '../text/is-record.ts';
import { isHost, isSiteId } from '../text/names.ts';
import { parsePort } from './plan/fields.ts';
import { nameOf } from './resources.ts';
import { limitTable } from '../limits/table.ts';

/** A Link as it stands with its status, whoever wrote that. */
export interface StandingLink {
  readonly metadata: { readonly generation?: number | undefined };
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** As many as a site tells of. */
const MOST_ENDPOINTS = limitTable.announcedEndpoints.value;

/**
 * What routers of this site were told, before this one began, of where the site at a link's other end is reached. It stands in the Link's
 * status. One that was written for other endpoints of the Link, or before its spec changed, tells of another site perhaps, and nothing.
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

/** By their names. */
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
