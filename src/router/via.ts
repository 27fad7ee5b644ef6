/**
 * Which sites a connection passes through. Where it began is only said (`earshot-origin`); but each router on the way writes down the
 * site that it got the request from (`earshot-via`), as proved by its hello or named by its certificate. So a site that is revoked here
 * cannot come in by way of another, unless that one hides it.
 */
import type { Party } from '../identity/revocation.ts';
import { isUuid } from '../text/names.ts';
import type { Fields } from './http2/contract.ts';
import { ORIGIN_FIELD, ROUTE_FIELD, VIA_FIELD } from './wire.ts';

/** Whether the request says in order which sites it came through: what is passed on is added to, and must remain a field that can be sent. */
export function isVia({ [VIA_FIELD]: via }: Fields): boolean {
  return via === undefined || via.split(' ').every(isUuid);
}

/** Ids of sites, each perhaps several times. */
export function sitesPassed({ [VIA_FIELD]: via, [ORIGIN_FIELD]: origin }: Fields): readonly string[] {
  const passed = via === undefined ? NONE : via.split(' ');
  return origin === undefined ? passed : [origin, ...passed];
}

/** Whether a request comes from, or by way of, sites other than the one that sends it. */
export function passedOthers(fields: Fields, from: Party): boolean {
  const own = sitesOf(from);
  return sitesPassed(fields).some((site) => !own.includes(site));
}

/** Sites behind a request, and routers before it. */
export function pathOf(fields: Fields): readonly string[] {
  const route = fields[ROUTE_FIELD];
  const passed = sitesPassed(fields);
  return route === undefined ? passed : [...passed, ...route.split(' ')];
}

/** The fields with the site that the request came from written down; a certificate may name several. @param self the site that this router is of */
export function writeVia(fields: Fields, party: Party, self: string): Fields {
  const from = sitesOf(party).filter((id) => id !== self && isUuid(id));
  if (from.length === 0) return fields;
  const via = fields[VIA_FIELD];
  return { ...fields, [VIA_FIELD]: [...(via === undefined ? NONE : [via]), ...from].join(' ') };
}

const sitesOf = ({ site, certificate }: Party): readonly string[] => (site === undefined ? (certificate?.sites ?? NONE) : [site]);

const NONE: readonly string[] = [];
