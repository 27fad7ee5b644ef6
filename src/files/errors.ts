import type { CodeOf } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** A file that cannot be used. The message is a clause without a full stop. */
export class FileError extends EarshotError<CodeOf<'files'>> {}
