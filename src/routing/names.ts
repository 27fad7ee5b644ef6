import { Buffer } from 'node:buffer';
import type { RouterId } from './contract.ts';
import type { ByteCursor } from './byte-cursor.ts';
import { RoutingError } from './errors.ts';
import { SITE_ID_LENGTH, writeSiteId } from '../identity/site-id.ts';
import { firstBytes, isOneLine, quoted } from '../text/printable.ts';
import { isLabel, isSiteId } from '../text/names.ts';

/** Size in bytes of the longest routing key and of the longest text in a record. */
export const LONGEST_TEXT = 253;

/**
 * Whether the text is a valid routing key: 1 to 253 bytes of UTF-8 without control characters and line separators. Everything else is
 * allowed, so a key must be escaped wherever it is displayed, stored or sent.
 */
export function isRoutingKey(text: string): boolean {
  return text.length > 0 && isText(text);
}

/** Whether a record can carry the text: at most 253 bytes of UTF-8, without characters that end or hide a log line. */
export function isText(text: string): boolean {
  return text.length <= LONGEST_TEXT && isOneLine(text) && Buffer.byteLength(text) <= LONGEST_TEXT;
}

/** Removes the characters that a record cannot carry, and cuts the text to its maximum length. */
export function fitText(text: string): string {
  if (isText(text)) return text;
  return firstBytes([...text].filter(isOneLine).join(''), LONGEST_TEXT);
}

export function routerId(siteId: string, router: string): RouterId {
  return `${siteId}/${router}`;
}

/** Returns the site id of a router id: the part before the slash. */
export function siteOf(router: RouterId): string {
  return router.slice(0, router.indexOf('/'));
}

/** Returns the router's name: the part after the slash. */
export function routerOf(router: RouterId): string {
  return router.slice(router.indexOf('/') + 1);
}

/** Whether the text is a valid router id. */
export function isRouterId(text: string): boolean {
  return text.charAt(SITE_ID_LENGTH) === '/' && isSiteId(text.slice(0, SITE_ID_LENGTH)) && isLabel(text.slice(SITE_ID_LENGTH + 1));
}

/** Formats a router id for the wire: 16 bytes of the site id, one byte for the length of the name, the name in ASCII. */
export function routerIdBytes(router: RouterId): Buffer {
  const name = router.slice(SITE_ID_LENGTH + 1);
  const bytes = Buffer.allocUnsafe(17 + name.length);
  bytes.write(router.slice(0, SITE_ID_LENGTH).replaceAll('-', ''), 0, 'hex');
  bytes.writeUInt8(name.length, 16);
  bytes.write(name, 17, 'latin1');
  return bytes;
}

/**
 * Parses a router id.
 * @param what the object that names it, for error messages
 * @throws RoutingError if it is cut short, or the router's name is invalid
 */
export function readRouterId(cursor: ByteCursor, what: string): RouterId {
  writeSiteId(cursor.bytes, cursor.skip(16), written);
  const size = cursor.number(1);
  const name = cursor.skip(size);
  written[SITE_ID_LENGTH] = SLASH;
  cursor.bytes.copy(written, SITE_ID_LENGTH + 1, name, name + size);
  const id = written.toString('latin1', 0, SITE_ID_LENGTH + 1 + size);
  if (isLabel(routerOf(id))) return id;
  throw new RoutingError('routing-message', `A ${what} names a router ${quoted(routerOf(id))}, which is not a valid name of a router.`);
}

const SLASH = 0x2f;
/** Scratch buffer for the longest length that one byte can give. */
const written = Buffer.alloc(SITE_ID_LENGTH + 1 + 255);
