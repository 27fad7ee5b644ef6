/** What ends a command, in words for the person at the terminal, and the exit code that scripts see. */
export class CliError extends Error {
  readonly code: CliErrorCode;

  constructor(code: CliErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CliError';
    this.code = code;
  }
}

export type CliErrorCode = keyof typeof exitCodes;

/** Documented in docs/reference/cli.md; numbers never change their meaning. */
export const exitCodes = { FAILED: 1, USAGE: 2, NOT_READY: 3, NOT_FOUND: 4, EXISTS: 5, NOT_RUNNING: 6 } as const;

/** For any error. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return exitCodes[error.code];
  // A name that cannot be one, or a home that is none: what was typed is wrong.
  if (error instanceof Error && error.name === 'LayoutError') return exitCodes.USAGE;
  return exitCodes.FAILED;
}
