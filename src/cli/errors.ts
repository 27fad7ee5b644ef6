import type { ShownAs } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** An error that ends a command, with a message for the user at the terminal. */
export class CliError extends EarshotError<ShownAs<'exit'>> {}

/** Documented in docs/reference/cli.md. Numbers never change their meaning. */
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
  // As shells report SIGINT.
  interrupted: 130,
} as const satisfies Record<ShownAs<'exit'>, number>;

/** Exit code for any error. */
export function exitCodeOf(error: unknown): number {
  return error instanceof EarshotError && isExit(error.code) ? exitCodes[error.code] : exitCodes.failed;
}

const isExit = (code: string): code is ShownAs<'exit'> => Object.hasOwn(exitCodes, code);
