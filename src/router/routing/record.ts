/**
 * A record: what a router says of itself, or a part of it, signed by its site. The format is at the top of `codec.ts`.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import type { SiteKey } from '../contract.ts';
import type { RouterId } from './contract.ts';
import { ByteCursor } from './byte-cursor.ts';
import { RoutingError } from './errors.ts';
import { PARTS_OF_ROUTER } from './limits.ts';
import { isRoutingKey, isText, readRouterId, routerId, routerIdBytes } from './names.ts';
import { siteIdOf } from '../../identity/site-id.ts';
import { PUBLIC_KEY_BYTES, SIGNATURE_BYTES } from '../../identity/site-key.ts';
import { quoted } from '../../text/printable.ts';
import { isLabel, isReservedKey } from '../../text/names.ts';

/** A record that was read. Nothing of it changes: the bytes are what is forwarded. */
export interface RouteRecord {
  readonly bytes: Buffer;
  readonly router: RouterId;
  readonly epoch: number;
  readonly counter: number;
  readonly part: number;
  /** The first four bytes of the signature: which of two records goes before the other where all else is equal. */
  readonly check: number;
  readonly bodyStart: number;
  /** Only in part 0. */
  readonly about?: About;
  readonly neighbours: readonly Neighbour[];
  /**
   * Where in the bytes the values of its keys begin. They are not held as objects, since most are never asked for: `eachKey` reads them, and nobody
   * goes through fields that are none.
   */
  readonly keys: readonly number[];
}

/** What a router says of its site and itself. */
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
  /** Paths over it begin or end at that neighbour's site. */
  readonly confined?: boolean;
}

export interface KeyCount {
  readonly routingKey: string;
  readonly connectors: number;
  readonly listeners: number;
  /** All servers of its connectors refused at the last attempt. Undefined: the router does not announce this. */
  readonly failing?: boolean;
}

/** What stands before a record's body. */
export interface RecordHead {
  readonly router: string;
  readonly epoch: number;
  readonly counter: number;
  readonly part: number;
}

/** Which of several records of a router is the newest: by epoch, then within the part by counter, then by check. */
export interface RecordVersion {
  readonly epoch: number;
  readonly part: number;
  readonly counter: number;
  readonly check: number;
}

/** Bytes of the longest record. */
export const LONGEST_RECORD = 4096;

/** Of the epoch, which has 48 bits, and of the counter, which has 32. */
export const GREATEST_EPOCH = 2 ** 48 - 1;
export const GREATEST_COUNTER = 2 ** 32 - 1;

/** What stands before a record's body, and what of it follows from that. */
export interface ReadHead extends RecordHead {
  readonly id: RouterId;
  readonly publicKey: Buffer;
  readonly check: number;
  readonly bodyStart: number;
}

/** Reads what stands before the body, without a look at the signature. @throws RoutingError where it is cut short or cannot be */
export function readHead(bytes: Buffer): ReadHead {
  if (bytes.length > LONGEST_RECORD)
    throw new RoutingError('routing-message', `A record has ${bytes.length} bytes, ${LONGEST_RECORD} are allowed.`);
  const cursor = new ByteCursor(bytes, 'record', 0, Math.max(0, bytes.length - SIGNATURE_BYTES));
  const publicKey = cursor.take(PUBLIC_KEY_BYTES);
  const router = cursor.take(cursor.number(1)).toString('latin1');
  if (!isLabel(router))
    throw new RoutingError('routing-message', `A record names a router ${quoted(router)}, which no router can be named.`);
  const epoch = cursor.number(6);
  const counter = cursor.number(4);
  const part = cursor.number(2);
  if (part >= PARTS_OF_ROUTER)
    throw new RoutingError('routing-message', `A record is part ${part} of its router, parts are below ${PARTS_OF_ROUTER}.`);
  const check = signatureOf(bytes).readUInt32BE();
  return { publicKey, router, id: routerId(siteIdOf(publicKey), router), epoch, counter, part, check, bodyStart: cursor.at };
}

/** The bytes that the signature is over. */
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
 * Reads a whole record.
 * @param head of these bytes, where it was read already
 * @returns undefined where the body is not one: its origin's fault, whoever passed it on
 * @throws RoutingError where the head is not one, which nobody may pass on
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

/** Calls back with each key in the record's body, in its order. Reserved ones, which a site of an earlier version may have, are nobody's. */
export function eachKey(record: RouteRecord, found: (key: KeyCount) => void): void {
  for (const at of record.keys) {
    const key = readKey(keyCursor(record.bytes, at));
    if (!isReservedKey(key.routingKey)) found(key);
  }
}

/** Calls back with where each key is in the record's bytes, those that are reserved among them. */
export function eachKeyBytes({ bytes, keys }: RouteRecord, found: (bytes: Buffer, start: number, end: number) => void): void {
  for (const at of keys) found(bytes, at + 5, at + 5 + (bytes[at + 4] ?? 0));
}

/** The first entry of that key (as bytes) in the record, if it has one. Reads no other. */
export function findKey({ bytes, keys }: RouteRecord, key: Buffer): Omit<KeyCount, 'routingKey'> | undefined {
  for (const at of keys) {
    if (bytes[at + 4] !== key.length || bytes.compare(key, 0, key.length, at + 5, at + 5 + key.length) !== 0) continue;
    const { routingKey: _, ...counts } = readKey(keyCursor(bytes, at));
    return counts;
  }
  return undefined;
}

/** The bytes of the entry whose value begins there: its length stands in front. */
function keyCursor(bytes: Buffer, at: number): ByteCursor {
  return new ByteCursor(bytes, 'key', at, at + bytes.readUInt16BE(at - 2));
}

/** Makes and signs a record. */
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

/** Numbers of a body's fields. Others are for later versions. */
const field = { name: 1, namespace: 2, platform: 3, version: 4, flags: 5, neighbour: 6, key: 7 } as const;
const EDGE_FLAG = 1;
const CONFINED_FLAG = 1;
const FAILING_FLAG = 1;

/** So no other signature of the site's key can be taken for a record's. */
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
      default: // Of a later version: carried, not read.
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
    throw new RoutingError('routing-message', 'A text in a record is too long, not UTF-8, or has characters that it may not have.');
  return text;
}
