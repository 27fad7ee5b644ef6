import type { TrustCode, TrustProblem } from './contract.ts';

/** Everything that this room throws. `code` is stable; the message says what is wrong, where, and what to do. */
export class TrustError extends Error {
  readonly code: TrustCode;

  constructor(code: TrustCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'TrustError';
    this.code = code;
  }

  get problem(): TrustProblem {
    return { code: this.code, message: this.message };
  }
}
