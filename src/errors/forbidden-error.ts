import { EarshotError } from './earshot-error.ts';

/** The user lacks a right in the cluster. Readers of several kinds go on with the others. */
export class ForbiddenError extends EarshotError {}
