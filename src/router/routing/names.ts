import { Buffer } from 'node:buffer';
import type { RouterId } from './contract.ts';
import type { ByteCursor } from './byte-cursor.ts';
import { RoutingError } from './errors.ts';
import { SITE_ID_LENGTH, writeSiteId } from '../../identity/site-id.ts';
import { firstBytes, isOneLine, quoted } from '../../text/printable.ts';
import { isLabel, isSiteId } from '../../text/names.ts';

/** Bytes of the longest routing key, and of the longest text in a record. */
export const LONGEST_TEXT = 253;

/**
 * Whether the text can be a routing key: 1 to 253 bytes of UTF-8 without control characters and line separators. All else is
 * allowed, so a key is data wherever it is shown, stored or sent.
 */
export function isRoutingKey(text: string): boolean {
  return text.length > 0 && isText(text);
}

/** Whether the text can be carried in a record: at most 253 bytes of UTF-8, nothing that ends or hides a line of a log. */
export function isText(text: string): boolean {
  return text.length <= LONGEST_TEXT && isOneLine(text) && Buffer.byteLength(text) <= LONGEST_TEXT;
}

/** The longest beginning of the text that a record can carry, without what it cannot. */
export function fitText(text: string): string {
  if (isText(text)) return text;
  return firstBytes([...text].filter(isOneLine).join(''), LONGEST_TEXT);
}

export function routerId(siteId: string, router: string): RouterId {
  return `${siteId}/${router}`;
}

/** The site of a router, which is its id up to the slash. */
export function siteOf(router: RouterId): string {
  return router.slice(0, router.indexOf('/'));
}

/** Its name. */
export function routerOf(router: RouterId): string {
  return router.slice(router.indexOf('/') + 1);
}

/** Whether the text can be a router's id. */
export function isRouterId(text: string): boolean {
  return text.charAt(SITE_ID_LENGTH) === '/' && isSiteId(text.slice(0, SITE_ID_LENGTH)) && isLabel(text.slice(SITE_ID_LENGTH + 1));
}

/** A router's id on the wire: 16 bytes of the site, one for the length of the name, the name (ASCII). */
export function routerIdBytes(router: RouterId): Buffer {
  const name = router.slice(SITE_ID_LENGTH + 1);
  const bytes = Buffer.allocUnsafe(17 + name.length);
  bytes.write(router.slice(0, SITE_ID_LENGTH).replaceAll('-', ''), 0, 'hex');
  bytes.writeUInt8(name.length, 16);
  bytes.write(name, 17, 'latin1');
  return bytes;
}

/** The reverse. @param what names it, in a message @throws RoutingError where it is cut short, or no router can be named so */
export function readRouterId(cursor: ByteCursor, what: string): RouterId {
  writeSiteId(cursor.bytes, cursor.skip(16), written);
  const size = cursor.number(1);
  const name = cursor.skip(size);
  written[SITE_ID_LENGTH] = SLASH;
  cursor.bytes.copy(written, SITE_ID_LENGTH + 1, name, name + size);
  const id = written.toString('latin1', 0, SITE_ID_LENGTH + 1 + size);
  if (isLabel(routerOf(id))) return id;
  throw new RoutingError('routing-message', `A ${what} names a router ${quoted(routerOf(id))}, which no router can be named.`);
}

const SLASH = 0x2f;
/** Of a length that one byte says. */
const written = Buffer.alloc(SITE_ID_LENGTH + 1 + 255);
