import type { CodeOf, ErrorCode } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/**
 * Everything that this room throws. The message is a clause without a full stop, which whoever shows it puts into a
 * sentence; it never holds a key or a code.
 */
export class TrustError extends EarshotError<TrustCode> {}

export type TrustCode =
  | CodeOf<'tls' | 'trust'>
  | Extract<ErrorCode, 'state-damaged' | 'state-missing' | 'state-unavailable' | 'state-busy' | 'revoked' | 'unreachable'>;
