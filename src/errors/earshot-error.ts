import type { ErrorCode } from './catalogue.ts';

/**
 * What all errors of ours are. The message says what is wrong, where, and what to do, for whoever reads it in a status, an answer
 * or a log line; it never holds a key, or the code of a token. It is of whole sentences, but for those of files and of trust:
 * they are a clause without a full stop, which others put into a sentence. A class of its own is for what is caught by class, or
 * carries more than this.
 */
export class EarshotError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
  }
}
