import type { CodeOf, ErrorCode } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/**
 * Every error that the trust module throws. The message is a clause without a full stop, which its consumer puts into a sentence. It never
 * contains a key or a code.
 */
export class TrustError extends EarshotError<TrustCode> {}

export type TrustCode =
  | CodeOf<'tls' | 'trust'>
  | Extract<ErrorCode, 'state-damaged' | 'state-missing' | 'state-unavailable' | 'state-busy' | 'revoked' | 'unreachable'>;
