import type { ErrorCode } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

/** A file that cannot be used as it is, or a namespace that cannot be run. */
export class PlatformError extends EarshotError<PlatformErrorCode> {}

export type PlatformErrorCode = Extract<ErrorCode, 'no-site' | 'router-running' | 'state-damaged'>;
