import type { ShownAs } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** What ends a command, in words for the person at the terminal. */
export class CliError extends EarshotError<ShownAs<'exit'>> {}

/** Documented in docs/reference/cli.md; numbers never change their meaning. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  'bad-name': 2,
  'no-home': 2,
  'not-ready': 3,
  'not-found': 4,
  'unknown-site': 4,
  exists: 5,
  'not-running': 6,
} as const satisfies Record<ShownAs<'exit'>, number>;

/** For any error. */
export function exitCodeOf(error: unknown): number {
  return error instanceof EarshotError && isExit(error.code) ? exitCodes[error.code] : exitCodes.failed;
}

const isExit = (code: string): code is ShownAs<'exit'> => Object.hasOwn(exitCodes, code);
