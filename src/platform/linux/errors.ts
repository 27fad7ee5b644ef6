import type { ErrorCode } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

/** A file that cannot be used as it is, or a namespace that cannot be run. */
export class PlatformError extends EarshotError<PlatformErrorCode> {}

export type PlatformErrorCode = Extract<
  ErrorCode,
  | 'file-kind'
  | 'file-too-big'
  | 'file-unreadable'
  | 'file-outside'
  | 'file-encoding'
  | 'no-site'
  | 'router-running'
  | 'state-damaged'
  | 'state-unavailable'
>;

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}
