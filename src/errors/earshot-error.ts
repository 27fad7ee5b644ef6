import type { ErrorCode } from './catalogue.ts';

/**
 * Base class of Earshot's errors. The message says what is wrong, where, and what to do; it contains no key and no code of a token.
 *
 * A message has whole sentences. Those of files and of trust are a clause without a full stop, which callers put into a sentence. Derive a
 * class only for errors that are caught by class or carry more data.
 */
export class EarshotError<Code extends ErrorCode = ErrorCode> extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
  }
}
