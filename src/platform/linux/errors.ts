/** What this folder refuses; each message says what is wrong, where, and what to do. */
export class PlatformError extends Error {
  readonly code: PlatformErrorCode;

  constructor(code: PlatformErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'PlatformError';
    this.code = code;
  }
}

export type PlatformErrorCode =
  /** Not a regular file, too big, unreadable, or a link out of the namespace. */
  | 'FILE_KIND'
  | 'FILE_TOO_BIG'
  | 'FILE_UNREADABLE'
  | 'FILE_OUTSIDE'
  | 'FILE_ENCODING'
  /** The namespace's directories cannot be made or are not ours. */
  | 'NAMESPACE'
  /** Another process runs this router. */
  | 'ROUTER_RUNNING'
  /** What Earshot itself wrote is damaged. */
  | 'STATE_DAMAGED';

export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}
