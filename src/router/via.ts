/**
 * Which sites a connection passes through. Where it began is only said (`earshot-origin`); but each router on the way writes down the
 * site that it got the request from (`earshot-via`), whose key was proved on the link. So a site that is revoked here cannot come
 * in by way of another, unless that one hides it.
 */
import type { Fields } from './http2/contract.ts';
import type { RouterId } from './routing/contract.ts';
import { ORIGIN_FIELD, VIA_FIELD } from './wire.ts';
import { isUuid } from '../text/names.ts';

/** Whether the request says in order which sites it came through: what is passed on is added to, and must remain a field that can be sent. */
export function isVia({ [VIA_FIELD]: via }: Fields): boolean {
  return via === undefined || via.split(' ').every(isUuid);
}

/** Ids of sites, each perhaps several times. */
export function sitesPassed(fields: Fields): readonly string[] {
  const via = fields[VIA_FIELD];
  const origin = fields[ORIGIN_FIELD];
  if (via === undefined) return origin === undefined ? none : [origin];
  return origin === undefined ? via.split(' ') : [origin, ...via.split(' ')];
}

const none: readonly string[] = [];

/** The fields for the next router. @param from the site that the request came from; undefined where it is this one or has no id */
export function passOn(fields: Fields, from: string | undefined): Fields {
  if (from === undefined) return fields;
  const via = fields[VIA_FIELD];
  return { ...fields, [VIA_FIELD]: via === undefined ? from : `${via} ${from}` };
}

/** The first of some sites, or of some routers' sites, that is revoked. */
export function revokedAmong(sitesOnRoute: readonly (string | RouterId)[], revoked: ReadonlySet<string>): string | undefined {
  if (revoked.size === 0) return undefined;
  return sitesOnRoute.map((site) => site.slice(0, SITE_ID)).find((site) => revoked.has(site));
}

/** Characters of a UUID. */
const SITE_ID = 36;
