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

/** Sites behind a request, and routers before it. */
export function pathOf(fields: Fields): readonly string[] {
  const route = fields[ROUTE_FIELD];
  const passed = sitesPassed(fields);
  return route === undefined ? passed : [...passed, ...route.split(' ')];
}

/** The fields with the site that the request came from written down; a certificate may name several. @param self the site that this router is of */
export function writeVia(fields: Fields, { site, certificate }: Party, self: string): Fields {
  const from = (site === undefined ? (certificate?.sites ?? NONE) : [site]).filter((id) => id !== self && isUuid(id));
  if (from.length === 0) return fields;
  const via = fields[VIA_FIELD];
  return { ...fields, [VIA_FIELD]: [...(via === undefined ? NONE : [via]), ...from].join(' ') };
}

const NONE: readonly string[] = [];
