import type { CodeOf, ErrorCode } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** Everything that this room throws. The message is a clause without a full stop, which whoever shows it puts into a sentence. */
export class TrustError extends EarshotError<TrustCode> {
  get problem(): TrustProblem {
    return { code: this.code, message: this.message };
  }
}

/** What is wrong with a certificate, a token or a file of this room: for a status, a log line and a metric. */
export interface TrustProblem {
  readonly code: TrustCode;
  /** What is wrong, where, and what to do. Never holds a key or a code. */
  readonly message: string;
}

export type TrustCode =
  | CodeOf<'tls' | 'trust'>
  | Extract<ErrorCode, 'state-damaged' | 'state-unavailable' | 'state-busy' | 'revoked' | 'unreachable'>;
