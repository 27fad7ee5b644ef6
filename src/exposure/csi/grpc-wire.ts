/** Encodes and decodes gRPC messages and header values. Pure. Source: github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md. */
import { Status, type Refusal } from './grpc-status.ts';

/** Length-Prefixed-Message: a flag (0: not compressed), the length in four bytes, the message. */
const PREFIX = 5;

export function frame(message: Uint8Array): Buffer {
  const framed = Buffer.alloc(PREFIX + message.length);
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, PREFIX);
  return framed;
}

/** The single message of a unary request. Undefined stands for a request that is too long. */
export function unframe(body: Buffer | undefined): { readonly bytes: Uint8Array } | Refusal {
  if (body === undefined) return { status: Status.RESOURCE_EXHAUSTED, message: 'The request is too long.' };
  if (body.length < PREFIX) return { status: Status.INTERNAL, message: 'The request contains no message.' };
  if (body[0] !== 0) return { status: Status.UNIMPLEMENTED, message: 'The request is compressed; only identity is supported.' };
  if (body.readUInt32BE(1) !== body.length - PREFIX) return { status: Status.INTERNAL, message: 'The request is not exactly one message.' };
  return { bytes: body.subarray(PREFIX) };
}

const MILLISECONDS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 };

/** Deadline from a grpc-timeout, limited to the maximum of a timer; Infinity if absent. */
export function deadlineOf(timeout: string | readonly string[] | undefined, now: number = Date.now()): number {
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(typeof timeout === 'string' ? timeout : '') ?? [];
  if (digits === '') return Infinity;
  return now + Math.min(Math.ceil(Number(digits) * (MILLISECONDS[unit] ?? 0)), 2 ** 31 - 1);
}

/** Status-Message: UTF-8, with bytes that are not printable ASCII as %XX. */
export function encodeMessage(message: string): string {
  const encode = (byte: number): string => (byte >= 0x20 && byte <= 0x7e && byte !== 0x25 ? String.fromCharCode(byte) : hex(byte));
  return [...Buffer.from(message)].map(encode).join('').trimEnd();
}

function hex(byte: number): string {
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
}
