/** A record carries the facts that a router announces, or a part of them, and is signed by its site. `codec.ts` documents the format. */
import { Buffer, isUtf8 } from 'node:buffer';
import type { RouterId } from './contract.ts';
import { ByteCursor } from './byte-cursor.ts';
import { RoutingError } from './errors.ts';
import { PARTS_OF_ROUTER } from './limits.ts';
import { isRoutingKey, isText, readRouterId, routerId, routerIdBytes } from './names.ts';
import { siteIdOf } from '../identity/site-id.ts';
import { PUBLIC_KEY_BYTES, SIGNATURE_BYTES, type SiteKey } from '../identity/site-key.ts';
import { quoted } from '../text/printable.ts';
import { isLabel, isReservedKey } from '../text/names.ts';

/** A parsed record. It is immutable, because its bytes are forwarded unchanged. */
export interface RouteRecord {
  readonly bytes: Buffer;
  readonly router: RouterId;
  readonly epoch: number;
  readonly counter: number;
  readonly part: number;
  /** First four bytes of the signature; the tie-breaker between records that are otherwise equal. */
  readonly check: number;
  readonly bodyStart: number;
  /** Present only in part 0. */
  readonly about?: About;
  readonly neighbours: readonly Neighbour[];
  /**
   * Offsets in `bytes` at which the values of the keys begin. Keys are not stored as objects, since most are never read. `eachKey` parses
   * them without scanning the other fields.
   */
  readonly keys: readonly number[];
}

/** Description of a router and its site. */
export interface About {
  readonly name: string;
  readonly namespace: string;
  readonly platform: string;
  readonly version: string;
  readonly edge: boolean;
}

export interface Neighbour {
  readonly router: RouterId;
  readonly cost: number;
  readonly link: string;
  /** Whether paths over this edge must begin or end at the neighbour's site. */
  readonly confined?: boolean;
}

export interface KeyCount {
  readonly routingKey: string;
  readonly connectors: number;
  readonly listeners: number;
  /** Whether all servers of the connectors refused the last attempt. Undefined if the router does not announce this. */
  readonly failing?: boolean;
}

/** The fields before a record's body. */
export interface RecordHead {
  readonly router: string;
  readonly epoch: number;
  readonly counter: number;
  readonly part: number;
}

/** Orders a router's records: by epoch, then within a part by counter, then by check. */
export interface RecordVersion {
  readonly epoch: number;
  readonly part: number;
  readonly counter: number;
  readonly check: number;
}

/** Size of the longest record in bytes. */
export const LONGEST_RECORD = 4096;

/** Greatest epoch (48 bits) and greatest counter (32 bits). */
export const GREATEST_EPOCH = 2 ** 48 - 1;
export const GREATEST_COUNTER = 2 ** 32 - 1;

/** The fields before a record's body, and the values derived from them. */
export interface ReadHead extends RecordHead {
  readonly id: RouterId;
  readonly publicKey: Buffer;
  readonly check: number;
  readonly bodyStart: number;
}

/** Parses the fields before the body without verifying the signature. @throws RoutingError if the head is invalid or cut short */
export function readHead(bytes: Buffer): ReadHead {
  if (bytes.length > LONGEST_RECORD)
    throw new RoutingError('routing-message', `A record has ${bytes.length} bytes, ${LONGEST_RECORD} are allowed.`);
  const cursor = new ByteCursor(bytes, 'record', 0, Math.max(0, bytes.length - SIGNATURE_BYTES));
  const publicKey = cursor.take(PUBLIC_KEY_BYTES);
  const router = cursor.take(cursor.number(1)).toString('latin1');
  if (!isLabel(router))
    throw new RoutingError('routing-message', `A record names a router ${quoted(router)}, which is not a valid name of a router.`);
  const epoch = cursor.number(6);
  const counter = cursor.number(4);
  const part = cursor.number(2);
  if (part >= PARTS_OF_ROUTER)
    throw new RoutingError('routing-message', `A record is part ${part} of its router, parts are below ${PARTS_OF_ROUTER}.`);
  const check = signatureOf(bytes).readUInt32BE();
  return { publicKey, router, id: routerId(siteIdOf(publicKey), router), epoch, counter, part, check, bodyStart: cursor.at };
}

/** Returns the bytes that the signature covers. */
export function signedBytes(bytes: Buffer): Buffer {
  return Buffer.concat([signedPrefix, bytes.subarray(0, bytes.length - SIGNATURE_BYTES)]);
}

export function signatureOf(bytes: Buffer): Buffer {
  return bytes.subarray(bytes.length - SIGNATURE_BYTES);
}

export function bodyOf(record: RouteRecord): Buffer {
  return record.bytes.subarray(record.bodyStart, record.bytes.length - SIGNATURE_BYTES);
}

/**
 * Parses a whole record.
 * @param head the head of the same bytes, if it was parsed already
 * @returns undefined if the body is invalid, which is the fault of the origin and not of the peer that forwarded it
 * @throws RoutingError if the head is invalid; a peer must not forward such a record
 */
export function readRecord(bytes: Buffer, head = readHead(bytes)): RouteRecord | undefined {
  const { id, epoch, counter, part, check, bodyStart } = head;
  try {
    return { bytes, router: id, epoch, counter, part, check, bodyStart, ...readBody(bytes, bodyStart, part) };
  } catch (error) {
    if (error instanceof RoutingError) return undefined;
    throw error;
  }
}

/** Calls back for each key of the record, in its order. Skips reserved keys, which a site of an earlier version may announce. */
export function eachKey(record: RouteRecord, found: (key: KeyCount) => void): void {
  for (const at of record.keys) {
    const key = readKey(keyCursor(record.bytes, at));
    if (!isReservedKey(key.routingKey)) found(key);
  }
}

/** Calls back with the position of each key in the record's bytes, including reserved keys. */
export function eachKeyBytes({ bytes, keys }: RouteRecord, found: (bytes: Buffer, start: number, end: number) => void): void {
  for (const at of keys) found(bytes, at + 5, at + 5 + (bytes[at + 4] ?? 0));
}

/** Returns the first entry of the key (given as bytes) in the record, if any. Parses no other entry. */
export function findKey({ bytes, keys }: RouteRecord, key: Buffer): Omit<KeyCount, 'routingKey'> | undefined {
  for (const at of keys) {
    if (bytes[at + 4] !== key.length || bytes.compare(key, 0, key.length, at + 5, at + 5 + key.length) !== 0) continue;
    const { routingKey: _, ...counts } = readKey(keyCursor(bytes, at));
    return counts;
  }
  return undefined;
}

/** Returns a cursor over the entry whose value begins at `at`. The two bytes before it are its length. */
function keyCursor(bytes: Buffer, at: number): ByteCursor {
  return new ByteCursor(bytes, 'key', at, at + bytes.readUInt16BE(at - 2));
}

/** Creates and signs a record. */
export function writeRecord(head: RecordHead, fields: readonly Buffer[], key: SiteKey): Buffer {
  const name = Buffer.from(head.router, 'latin1');
  const unsigned = Buffer.concat([key.publicKey, Buffer.of(name.length), name, Buffer.alloc(12), ...fields, Buffer.alloc(SIGNATURE_BYTES)]);
  const at = PUBLIC_KEY_BYTES + 1 + name.length;
  unsigned.writeUIntBE(head.epoch, at, 6);
  unsigned.writeUInt32BE(head.counter, at + 6);
  unsigned.writeUInt16BE(head.part, at + 10);
  key.sign(signedBytes(unsigned)).copy(unsigned, unsigned.length - SIGNATURE_BYTES);
  return unsigned;
}

export function writeAbout(about: About): Buffer {
  return Buffer.concat([
    writeField(field.name, Buffer.from(about.name)),
    writeField(field.namespace, Buffer.from(about.namespace)),
    writeField(field.platform, Buffer.from(about.platform)),
    writeField(field.version, Buffer.from(about.version)),
    writeField(field.flags, Buffer.of(about.edge ? EDGE_FLAG : 0)),
  ]);
}

export function writeNeighbour({ router, cost, link, confined = false }: Neighbour): Buffer {
  const id = routerIdBytes(router);
  const name = Buffer.from(link);
  const flags = confined ? Buffer.of(CONFINED_FLAG) : Buffer.of();
  return writeField(field.neighbour, Buffer.concat([id, Buffer.of(cost >> 8, cost & 0xff, name.length), name, flags]));
}

export function writeKey({ routingKey, connectors, listeners, failing = false }: KeyCount): Buffer {
  const key = Buffer.from(routingKey);
  const flags = connectors === 0 ? Buffer.of() : Buffer.of(failing ? FAILING_FLAG : 0);
  return writeField(
    field.key,
    Buffer.concat([Buffer.of(connectors >> 8, connectors & 0xff, listeners >> 8, listeners & 0xff, key.length), key, flags]),
  );
}

/** Field numbers of a body. Other numbers are reserved for later versions. */
const field = { name: 1, namespace: 2, platform: 3, version: 4, flags: 5, neighbour: 6, key: 7 } as const;
const EDGE_FLAG = 1;
const CONFINED_FLAG = 1;
const FAILING_FLAG = 1;

/** Domain separator: no other signature by the site's key is valid for a record. */
const signedPrefix = Buffer.from('earshot routing record 1\n');

function writeField(number: number, value: Buffer): Buffer {
  return Buffer.concat([Buffer.of(number, value.length >> 8, value.length & 0xff), value]);
}

function readBody(bytes: Buffer, bodyStart: number, part: number): Pick<RouteRecord, 'about' | 'neighbours' | 'keys'> {
  const cursor = new ByteCursor(bytes, 'body of a record', bodyStart, bytes.length - SIGNATURE_BYTES);
  const about = { name: '', namespace: '', platform: '', version: '', edge: false };
  const neighbours: Neighbour[] = [];
  const keys: number[] = [];
  while (cursor.left > 0) {
    const number = cursor.number(1);
    const size = cursor.number(2);
    const start = cursor.skip(size);
    const inside = new ByteCursor(bytes, 'field of a record', start, start + size);
    switch (number) {
      case field.name:
        about.name = readText(inside, size);
        break;
      case field.namespace:
        about.namespace = readText(inside, size);
        break;
      case field.platform:
        about.platform = readText(inside, size);
        break;
      case field.version:
        about.version = readText(inside, size);
        break;
      case field.flags:
        about.edge = (inside.number(1) & EDGE_FLAG) !== 0;
        break;
      case field.neighbour:
        neighbours.push(readNeighbour(inside));
        break;
      case field.key:
        readKey(inside);
        keys.push(start);
        break;
      default: // Field of a later version: forwarded, but not parsed.
    }
  }
  return part === 0 ? { about, neighbours, keys } : { neighbours, keys };
}

function readText(value: ByteCursor, size: number): string {
  return size === 0 ? '' : checked(value.take(size), isText);
}

function readNeighbour(value: ByteCursor): Neighbour {
  const router = readRouterId(value, 'neighbour');
  const cost = value.number(2);
  const link = readText(value, value.number(1));
  if (cost === 0) throw new RoutingError('routing-message', 'A neighbour has no cost; costs are from 1 to 65535.');
  const confined = value.left > 0 && (value.number(1) & CONFINED_FLAG) !== 0;
  return { router, cost, link, ...(confined ? { confined } : {}) };
}

function readKey(value: ByteCursor): KeyCount {
  const connectors = value.number(2);
  const listeners = value.number(2);
  const routingKey = checked(value.take(value.number(1)), isRoutingKey);
  if (value.left === 0) return { routingKey, connectors, listeners };
  return { routingKey, connectors, listeners, failing: (value.number(1) & FAILING_FLAG) !== 0 };
}

function checked(bytes: Buffer, allowed: (text: string) => boolean): string {
  const text = bytes.toString('utf8');
  if (!isUtf8(bytes) || !allowed(text))
    throw new RoutingError('routing-message', 'A text in a record is too long, not UTF-8, or has invalid characters.');
  return text;
}
