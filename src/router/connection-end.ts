import type { StreamReset } from '../http2/contract.ts';
import { ErrorCode } from '../http2/errors.ts';

/**
 * How an open connection ended. `client-reset`, `server-reset`: the client or server reset it. `path-broke`: a link on its path ended.
 * `other-router`: another router on its path ended it. `evicted`: for its memory. `command`: by a user of the router API.
 */
export const CONNECTION_ENDS = [
  'orderly',
  'client-reset',
  'server-reset',
  'path-broke',
  'other-router',
  'revoked',
  'drained',
  'evicted',
  'command',
] as const;

export type ConnectionEnd = (typeof CONNECTION_ENDS)[number];

/** Reason of an end that is not in order. */
export interface EndReason extends StreamReset {
  /** Set if this router ended the connection. */
  readonly how?: ConnectionEnd;
}

/** @param end the end of the connection from which the reset came */
export function howEnded(reason: EndReason | undefined, end: 'client' | 'server'): ConnectionEnd {
  if (reason === undefined) return 'orderly';
  if (reason.how !== undefined) return reason.how;
  // Routers pass on the code of a socket's reset.
  if (reason.code === ErrorCode.CONNECT_ERROR) return `${end}-reset`;
  return reason.code === ErrorCode.CANCEL ? 'other-router' : 'path-broke';
}
