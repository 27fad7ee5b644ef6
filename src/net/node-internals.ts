/**
 * All undocumented parts of Node.js that Earshot uses; no other file touches them. Each use checks that its part exists, and has a slower or
 * less protected way without it. `reportMissingInternals` makes that visible.
 */
import { createHook } from 'node:async_hooks';
import { Buffer } from 'node:buffer';
import { Socket } from 'node:net';
import { connect, createSecureContext, type TLSSocket } from 'node:tls';
import type { Logger } from '../telemetry/log.ts';
import { gauge } from '../telemetry/metrics.ts';

/** Each part, and the consequence if it is missing. */
const LOSSES = {
  'read-control': 'short TLS records and unlimited key updates of one peer can delay others',
  'tls-input': 'TLS handshakes have no limit of bytes, and one of them can delay others',
  'tls-handshakes': 'a TLS server that renegotiates without limit is not disconnected',
  'read-buffer': 'each read allocates memory, so traffic costs more CPU time',
} as const;

export type NodeInternal = keyof typeof LOSSES;

/** Reads a connection, below streams and TLS. */
export interface ReadHandle {
  readStart(): void;
  readStop(): void;
  /** File descriptor; negative once closed. */
  readonly fd?: number;
}

/** Takes encrypted bytes, below streams. */
export interface TlsInput {
  /** Processes the bytes as if they had just been read. */
  receive(bytes: Buffer): void;
}

/** Reports handshakes on a connection, below streams. */
export interface TlsHandshakes {
  /** Called by OpenSSL while it starts another handshake. */
  onhandshakestart: () => void;
  onhandshakedone: () => void;
  setVerifyMode(request: boolean, reject: boolean): void;
}

interface Handle extends Partial<ReadHandle>, Partial<TlsInput>, Partial<TlsHandshakes> {
  /** The connection below a TLS handle. */
  readonly _parent?: Handle;
  useUserBuffer?(buffer: Buffer): void;
}

export function readHandleOf(socket: Socket): ReadHandle | undefined {
  const own = handleOf(socket);
  const handle = own?._parent ?? own;
  return typeof handle?.readStart === 'function' && typeof handle.readStop === 'function' ? (handle as ReadHandle) : undefined;
}

/** The TLS input of a socket that this process has connected. */
export function tlsInputOf(socket: Socket): TlsInput | undefined {
  const handle = handleOf(socket);
  return typeof handle?.receive === 'function' ? (handle as TlsInput) : undefined;
}

/** Resource of the TLS handle that was created last while the hook was on. */
let created: unknown;
const hook = createHook({
  init: (_, type, __, resource) => {
    if (type === 'TLSWRAP') created = resource;
  },
  trackPromises: false,
});

/** Makes a TLS server take a connection. @returns the TLS input that it created, which Node.js does not expose otherwise */
export function takeWithTlsInput<S, R>(take: (this: S, raw: R) => void, server: S, raw: R): TlsInput | undefined {
  created = undefined;
  hook.enable();
  try {
    take.call(server, raw);
  } finally {
    hook.disable();
  }
  const input = created;
  created = undefined;
  return isTlsInput(input) ? input : undefined;
}

function isTlsInput(value: unknown): value is TlsInput {
  return typeof value === 'object' && value !== null && 'receive' in value && typeof value.receive === 'function';
}

export function tlsHandshakesOf(socket: TLSSocket): TlsHandshakes | undefined {
  const handle = handleOf(socket);
  return typeof handle?.onhandshakestart === 'function' && typeof handle.setVerifyMode === 'function'
    ? (handle as TlsHandshakes)
    : undefined;
}

interface ReadSlots {
  readonly buffer: symbol;
  readonly callback: symbol;
}

/** Finds the properties in which a socket created with `onread` keeps its buffer and its callback. */
function findReadSlots(): ReadSlots | undefined {
  const given = { buffer: Buffer.allocUnsafeSlow(1), callback: (): boolean => true };
  const probe = new Socket({ onread: given });
  const keyOf = (value: unknown): symbol | undefined =>
    Object.getOwnPropertySymbols(probe).find((key) => Reflect.get(probe, key) === value);
  const [buffer, callback] = [keyOf(given.buffer), keyOf(given.callback)];
  probe.destroy();
  return buffer === undefined || callback === undefined ? undefined : { buffer, callback };
}

const readSlots = findReadSlots();

/** Whether `readInto` and `onReadInto` work on this socket. */
export const canReadInto = (socket: Socket): boolean => readSlots !== undefined && typeof handleOf(socket)?.useUserBuffer === 'function';

/** Makes a socket read into the buffer. Node.js documents this (`onread`) for sockets that a program creates, not for those of a server. */
export function readInto(socket: Socket, buffer: Buffer): void {
  if (readSlots === undefined) return;
  handleOf(socket)?.useUserBuffer?.(buffer);
  Reflect.set(socket, readSlots.buffer, buffer);
}

/** @param callback gets the number of bytes of each read. @see readInto */
export function onReadInto(socket: Socket, callback: (length: number) => boolean): void {
  if (readSlots !== undefined) Reflect.set(socket, readSlots.callback, callback);
}

const handleOf = (socket: Socket): Handle | undefined => (socket as unknown as { readonly _handle?: Handle | null })._handle ?? undefined;

/** Returns the parts that this Node.js lacks. They are looked up on a TLS socket that never connects. */
export function findMissingInternals(): readonly NodeInternal[] {
  // An empty list keeps OpenSSL from loading all root certificates.
  const secureContext = createSecureContext({ ca: [] });
  const open: TLSSocket[] = [];
  const start = (lookup: () => void): void => void open.push(connect({ host: 'localhost', port: 1, secureContext, lookup }));
  const captured = takeWithTlsInput(start, undefined, () => {});
  const missing = open.flatMap((socket) => missingOn(socket, captured));
  for (const socket of open) socket.on('error', () => {}).destroy();
  return missing;
}

function missingOn(socket: TLSSocket, captured: TlsInput | undefined): readonly NodeInternal[] {
  const reads = readHandleOf(socket);
  const present: { readonly [part in NodeInternal]: boolean } = {
    'read-control': reads !== undefined,
    'tls-input': captured !== undefined && captured === tlsInputOf(socket) && typeof reads?.fd === 'number',
    'tls-handshakes': tlsHandshakesOf(socket) !== undefined,
    'read-buffer': canReadInto(socket) && typeof handleOf(socket)?._parent?.useUserBuffer === 'function',
  };
  return PARTS.filter((part) => !present[part]);
}

const PARTS = Object.keys(LOSSES) as readonly NodeInternal[];

/** Must be called once when a process that serves TLS starts. Sets the gauge, and logs the consequences of missing parts. */
export function reportMissingInternals(log: Logger): void {
  const missing = findMissingInternals();
  const metric = gauge('earshot_node_internals_missing', '1 for each missing internal part of Node.js that Earshot uses.', ['part']);
  for (const part of PARTS) metric.set({ part }, missing.includes(part) ? 1 : 0);
  if (missing.length === 0) return;
  const lost = missing.map((part) => `${part} (${LOSSES[part]})`).join(', ');
  log.warn(
    { missing, node: process.version },
    `Node.js ${process.version} lacks internal parts: ${lost}. Use the version that package.json names.`,
  );
}
