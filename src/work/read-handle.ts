import type { Socket } from 'node:net';

/** What reads a connection, below streams. Not in the types since it is not documented; whether it is there is looked at. */
export interface ReadHandle {
  readStart(): void;
  readStop(): void;
}

export function readHandleOf(socket: Socket): ReadHandle | undefined {
  const { _handle: handle } = socket as unknown as { readonly _handle?: Partial<ReadHandle> | null };
  return typeof handle?.readStart === 'function' && typeof handle.readStop === 'function' ? (handle as ReadHandle) : undefined;
}
