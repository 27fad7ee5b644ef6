import type { CodeOf } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** A file that cannot be used as it is. */
export class FileError extends EarshotError<CodeOf<'files'>> {}
