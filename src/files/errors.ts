import type { ErrorCode } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** A file that cannot be used as it is. */
export class FileError extends EarshotError<FileErrorCode> {}

export type FileErrorCode = Extract<
  ErrorCode,
  'file-kind' | 'file-too-big' | 'file-unreadable' | 'file-outside' | 'file-encoding' | 'state-unavailable' | 'state-busy'
>;
