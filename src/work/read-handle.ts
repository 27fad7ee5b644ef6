import type { Socket } from 'node:net';

/** What reads a connection, below streams and TLS. Not in the types since it is not documented; whether it is there is looked at. */
export interface ReadHandle {
  readStart(): void;
  readStop(): void;
  /** The system's number of it; below zero once it has closed. */
  readonly fd?: number;
}

export function readHandleOf(socket: Socket): ReadHandle | undefined {
  const { _handle: own } = socket as unknown as { readonly _handle?: Layer | null };
  const handle = own?._parent ?? own;
  return typeof handle?.readStart === 'function' && typeof handle.readStop === 'function' ? (handle as ReadHandle) : undefined;
}

/** TLS has the connection itself below it. */
type Layer = Partial<ReadHandle> & { readonly _parent?: Partial<ReadHandle> };
