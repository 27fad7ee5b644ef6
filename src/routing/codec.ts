/**
 * Wire format of the routing protocol, version 1. All numbers are unsigned and big-endian.
 *
 * A message is one byte of type and a payload. The transport preserves message boundaries and order (on a link: a length of four
 * bytes before each). A message has at most 65,536 bytes. Receivers ignore messages of an unknown type, and bytes after the last
 * field that this version knows, except where the payload is a list.
 *
 *     1 summary   64 times 8 bytes: checksums of the sender's database, in 64 buckets (see below)
 *     2 digest    1 byte: 1 if the receiver should return a digest of the same buckets, else 0
 *                 8 bytes: bit mask of the buckets covered, bit 63 - n for bucket n; then any number of
 *                   router id, 6 bytes epoch, 2 bytes count, count times
 *                   (2 bytes part, 4 bytes counter, 4 bytes: the first of the signature)
 *     3 request   any number of: router id, 2 bytes count, count times 2 bytes part. At most 256 parts in all
 *     4 records   any number of: 2 bytes age, 2 bytes length, a record of that length
 *     5 done      empty: all requested records that exist have been sent
 *
 * A router id is the 16 bytes of the site's id, one byte of length, and the router's name in ASCII,
 * `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`.
 *
 * A record has at most 4,096 bytes:
 *
 *     32 bytes    the site's Ed25519 public key; the site's id is derived from it
 *     1 + n       the router's name
 *     6 bytes     epoch: identifies one start of the router. Milliseconds since 1970 at the start, or more
 *     4 bytes     counter: raised by each new version of this part, within an epoch
 *     2 bytes     part, 0 to 4,095
 *     body        any number of fields: 1 byte number, 2 bytes length, value of that length
 *     64 bytes    Ed25519 signature over the ASCII text `earshot routing record 1`, a line feed (0x0a), and all bytes above
 *
 * The newest record of (router, part) has the greatest epoch, then the greatest counter, then the greatest first four bytes of the
 * signature. Only a router with a running copy, or a malicious one, creates two records that differ in the signature alone. A record
 * of a greater epoch replaces all parts of smaller epochs. A router that receives a record of itself newer than its own begins an
 * epoch greater than that record's. A router's facts are the union of its parts, in the order of their numbers. If several entries
 * name the same key, the first one counts. Fields:
 *
 *     1, 2, 3, 4  the site's name, namespace, platform, version: UTF-8, at most 253 bytes. In part 0
 *     5 flags     1 byte; bit 0 (least significant): edge. In part 0
 *     6 neighbour router id, 2 bytes cost from 1, 1 + n bytes name of the link (UTF-8, at most 253 bytes), optional 1 byte flags;
 *                 bit 0: confined
 *     7 key       2 bytes connectors, 2 bytes listeners, 1 + n bytes routing key (UTF-8, 1 to 253 bytes); with connectors
 *                 optional 1 byte flags; bit 0: their servers took no connection at the last attempt
 *
 * Texts contain no control characters and no line or paragraph separators. Fields with other numbers, and further bytes in a value,
 * belong to later versions. Receivers do not parse them, but keep and forward them, since the signature covers them. A record that
 * breaks these rules after its head is the fault of its origin: receivers neither store nor forward it. An invalid head or a
 * signature that is not the site's is the fault of the sending peer, and ends the link.
 *
 * The age is the time in whole seconds since part 0 of the router was last created, as far as the sender knows: the age that it
 * received, plus the time since. The age is not signed. The least age announced by any peer counts, and it grows by the local clock
 * only. Reachable routers are never forgotten, and their age is at most 600. Other routers are forgotten at age 1,800.
 * A router creates part 0 again at least every 600 s.
 *
 * The bucket of a router is the first byte of its site's id, modulo 64. The summary of a bucket is the exclusive or of the first 8
 * bytes of the signatures of all its records, or zero if it is empty.
 *
 * On a new adjacency, the router with the smaller id sends its summary. A router that receives a summary and differs in some buckets
 * sends a digest of those and asks for one in return. A router that receives a digest requests the records that are newer there, one
 * request at a time: the next one after `done`. A router may delay a digest or an answer that is requested too often. A router that
 * omits a digest sends a summary later. A summary may be sent at any time to start over. One goes over each link at least every 30 s,
 * or every 40 s if only the router with the greater id sends them. A router sends each record that is new to it at once to all its
 * other adjacent routers. Of a router with a new epoch, part 0 is sent first.
 */
import { Buffer } from 'node:buffer';
import type { RouterId } from './contract.ts';
import { ByteCursor } from './byte-cursor.ts';
import { RoutingError } from './errors.ts';
import { LONGEST_RECORD } from './record.ts';
import { readRouterId, routerIdBytes } from './names.ts';

export const BUCKETS = 64;

/** Maximum number of parts in one request. */
export const LONGEST_REQUEST = 256;

/** Parts of one router. */
export interface PartsOf {
  readonly router: RouterId;
  readonly parts: readonly number[];
}

export interface VersionsOf {
  readonly router: RouterId;
  readonly epoch: number;
  readonly parts: readonly { readonly part: number; readonly counter: number; readonly check: number }[];
}

export interface AgedRecord {
  /** Age in seconds. */
  readonly age: number;
  /** View into the message, not a copy. */
  readonly bytes: Buffer;
}

export type Message =
  | { readonly kind: 'summary'; readonly sums: readonly bigint[] }
  | {
      readonly kind: 'digest';
      readonly requested: boolean;
      readonly buckets: ReadonlySet<number>;
      readonly versions: readonly VersionsOf[];
    }
  | { readonly kind: 'request'; readonly parts: readonly PartsOf[] }
  | { readonly kind: 'records'; readonly records: readonly AgedRecord[] }
  | { readonly kind: 'done' }
  | { readonly kind: 'unknown' };

/** @throws RoutingError if the bytes are not a valid message */
export function readMessage(bytes: Buffer): Message {
  const cursor = new ByteCursor(bytes, 'routing message');
  switch (cursor.number(1)) {
    case type.summary:
      return { kind: 'summary', sums: Array.from({ length: BUCKETS }, () => cursor.take(8).readBigUInt64BE()) };
    case type.digest:
      return readDigest(cursor);
    case type.request:
      return readRequest(cursor);
    case type.records:
      return readRecords(cursor);
    case type.done:
      return { kind: 'done' };
    default:
      return { kind: 'unknown' };
  }
}

/**
 * Splits a long message of records into messages of a few records each, in order, since verifying all signatures takes a tenth of a
 * second. Any other message, and the rest of a truncated one, stays one piece.
 */
export function piecesOf(message: Buffer): readonly Buffer[] {
  if (message[0] !== type.records) return [message];
  const pieces: Buffer[] = [];
  let from = 1;
  for (let at = 1, count = 1; at + RECORD_HEAD < message.length; count += 1) {
    at += RECORD_HEAD + message.readUInt16BE(at + 2);
    if (count % RECORDS_OF_PIECE > 0 || at >= message.length) continue;
    pieces.push(Buffer.concat([message.subarray(0, 1), message.subarray(from, at)]));
    from = at;
  }
  if (from === 1) return [message];
  return [...pieces, Buffer.concat([message.subarray(0, 1), message.subarray(from)])];
}

export function writeSummary(sums: readonly bigint[]): Buffer {
  const message = Buffer.alloc(1 + BUCKETS * 8);
  message.writeUInt8(type.summary);
  for (const [index, sum] of sums.entries()) message.writeBigUInt64BE(sum, 1 + index * 8);
  return message;
}

/**
 * Writes as few messages of at most `longest` bytes as possible. Without versions it is one message, which asks for a digest in return.
 */
export function writeDigest(requested: boolean, of: ReadonlySet<number>, versions: readonly VersionsOf[], longest: number): Buffer[] {
  let bits = 0n;
  for (const bucket of of) bits |= 1n << BigInt(63 - bucket);
  const head = Buffer.alloc(10);
  head.writeUInt8(type.digest);
  head.writeBigUInt64BE(bits, 2);
  const messages = pack(
    head,
    versions.flatMap((entry) => writeVersions(entry, longest - head.length)),
    longest,
    true,
  );
  // One digest in return is enough.
  if (requested) messages[0]?.writeUInt8(1, 1);
  return messages;
}

/** Writes one message. The caller keeps to `LONGEST_REQUEST`. */
export function writeRequest(parts: readonly PartsOf[]): Buffer {
  return Buffer.concat([
    Buffer.of(type.request),
    ...parts.map((entry) => {
      const numbers = Buffer.alloc(2 + entry.parts.length * 2);
      numbers.writeUInt16BE(entry.parts.length);
      for (const [index, part] of entry.parts.entries()) numbers.writeUInt16BE(part, 2 + index * 2);
      return Buffer.concat([routerIdBytes(entry.router), numbers]);
    }),
  ]);
}

export function writeRecords(records: readonly AgedRecord[], longest: number): Buffer[] {
  return pack(
    Buffer.of(type.records),
    records.map(({ age, bytes }) => {
      const head = Buffer.alloc(RECORD_HEAD);
      head.writeUInt16BE(Math.min(age, 0xffff));
      head.writeUInt16BE(bytes.length, 2);
      return Buffer.concat([head, bytes]);
    }),
    longest,
    false,
  );
}

export function writeDone(): Buffer {
  return Buffer.of(type.done);
}

/** Size of a part's version in a digest, in bytes. */
const VERSION_BYTES = 10;

/** Size of age and length before each record, in bytes. */
const RECORD_HEAD = 4;
const RECORDS_OF_PIECE = 8;

const type = { summary: 1, digest: 2, request: 3, records: 4, done: 5 } as const;

function readDigest(cursor: ByteCursor): Message {
  const requested = cursor.number(1) === 1;
  const bits = cursor.take(8).readBigUInt64BE();
  const of = new Set<number>();
  for (let bucket = 0; bucket < BUCKETS; bucket += 1) if ((bits >> BigInt(63 - bucket)) & 1n) of.add(bucket);
  const versions: VersionsOf[] = [];
  while (cursor.left > 0) {
    const router = readRouterId(cursor, 'message');
    const epoch = cursor.number(6);
    const list = cursor.take(cursor.number(2) * VERSION_BYTES);
    const parts: VersionsOf['parts'][number][] = [];
    for (let at = 0; at < list.length; at += VERSION_BYTES) {
      parts.push({ part: list.readUInt16BE(at), counter: list.readUInt32BE(at + 2), check: list.readUInt32BE(at + 6) });
    }
    versions.push({ router, epoch, parts });
  }
  return { kind: 'digest', requested, buckets: of, versions };
}

function readRequest(cursor: ByteCursor): Message {
  const parts: PartsOf[] = [];
  let total = 0;
  while (cursor.left > 0) {
    const router = readRouterId(cursor, 'message');
    const list = cursor.take(cursor.number(2) * 2);
    total += list.length / 2;
    if (total > LONGEST_REQUEST || parts.length >= LONGEST_REQUEST) {
      throw new RoutingError('routing-request', `The peer requests more than ${LONGEST_REQUEST} records at once.`);
    }
    parts.push({ router, parts: Array.from({ length: list.length / 2 }, (_, index) => list.readUInt16BE(index * 2)) });
  }
  return { kind: 'request', parts };
}

function readRecords(cursor: ByteCursor): Message {
  const records: AgedRecord[] = [];
  while (cursor.left > 0) {
    const age = cursor.number(2);
    const length = cursor.number(2);
    if (length > LONGEST_RECORD) throw new RoutingError('routing-message', `A record has ${length} bytes, ${LONGEST_RECORD} are allowed.`);
    records.push({ age, bytes: cursor.take(length) });
  }
  return { kind: 'records', records };
}

/** Splits the versions of a router into pieces that each fit into a message. */
function writeVersions({ router, epoch, parts }: VersionsOf, longest: number): Buffer[] {
  const id = routerIdBytes(router);
  const fit = Math.max(1, Math.floor((longest - id.length - 8) / VERSION_BYTES));
  const pieces: Buffer[] = [];
  for (let from = 0; from < parts.length; from += fit) {
    const some = parts.slice(from, from + fit);
    const numbers = Buffer.alloc(8 + some.length * VERSION_BYTES);
    numbers.writeUIntBE(epoch, 0, 6);
    numbers.writeUInt16BE(some.length, 6);
    for (const [index, { part, counter, check }] of some.entries()) {
      const at = 8 + index * VERSION_BYTES;
      numbers.writeUInt16BE(part, at);
      numbers.writeUInt32BE(counter, at + 2);
      numbers.writeUInt32BE(check, at + 6);
    }
    pieces.push(Buffer.concat([id, numbers]));
  }
  return pieces;
}

/** Packs whole pieces behind copies of the head, in order and into as few messages as possible. */
function pack(head: Buffer, pieces: readonly Buffer[], longest: number, evenEmpty: boolean): Buffer[] {
  const messages: Buffer[] = [];
  let some: Buffer[] = [head];
  let size = head.length;
  for (const piece of pieces) {
    if (size + piece.length > longest && some.length > 1) {
      messages.push(Buffer.concat(some, size));
      some = [head];
      size = head.length;
    }
    some.push(piece);
    size += piece.length;
  }
  if (some.length > 1 || evenEmpty) messages.push(Buffer.concat(some, size));
  return messages;
}
