/**
 * The sites that a connection passes through. Its origin is only claimed (`earshot-origin`). But each router on the path records the site
 * that sent it the request (`earshot-via`), as proved by its hello or named by its certificate. So a site that is revoked here cannot enter
 * through another site, unless that site hides it.
 */
import type { Party } from '../identity/revocation.ts';
import { isUuid } from '../text/names.ts';
import type { Fields } from '../http2/contract.ts';
import { ORIGIN_FIELD, ROUTE_FIELD, VIA_FIELD } from './wire.ts';

/** Whether the field is a valid list of site IDs. It is extended before it is passed on, and must remain valid to send. */
export function isVia({ [VIA_FIELD]: via }: Fields): boolean {
  return via === undefined || via.split(' ').every(isUuid);
}

/** IDs of sites, possibly repeated. */
export function sitesPassed({ [VIA_FIELD]: via, [ORIGIN_FIELD]: origin }: Fields): readonly string[] {
  const passed = via === undefined ? NONE : via.includes(' ') ? via.split(' ') : [via];
  return origin === undefined ? passed : [origin, ...passed];
}

/** Whether a request comes from or through sites other than its sender. */
export function passedOthers(fields: Fields, from: Party): boolean {
  const own = sitesOf(from);
  return sitesPassed(fields).some((site) => !own.includes(site));
}

/** Sites that the request came through, and routers that it still has to visit. */
export function pathOf(fields: Fields): readonly string[] {
  const route = fields[ROUTE_FIELD];
  const passed = sitesPassed(fields);
  return route === undefined ? passed : [...passed, ...route.split(' ')];
}

/** Adds the sending site to the fields; a certificate may name several. @param self the site of this router */
export function writeVia(fields: Fields, party: Party, self: string): Fields {
  const before = fields[VIA_FIELD];
  let via = before;
  for (const id of sitesOf(party)) if (id !== self && isUuid(id)) via = via === undefined ? id : `${via} ${id}`;
  return via === undefined || via === before ? fields : { ...fields, [VIA_FIELD]: via };
}

const sitesOf = ({ site, certificate }: Party): readonly string[] => (site === undefined ? (certificate?.sites ?? NONE) : [site]);

const NONE: readonly string[] = [];
