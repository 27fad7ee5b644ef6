import type { ErrorCode } from './catalogue.ts';

/**
 * What all errors of ours are. The message says what is wrong, where, and what to do, for whoever reads it in a status, an answer
 * or a log line: sentences that end with a full stop, never with a key or a code of a token. Subclasses are for those who
 * catch by class, or carry more than this.
 */
export class EarshotError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
  }
}
