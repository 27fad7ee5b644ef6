import type { CodeOf, ShownAs } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

/** A link cannot be made, or has to end: its message stands in a status, and may go to the peer. */
export class LinkError extends EarshotError<LinkCode> {}

export type LinkCode = CodeOf<'tls' | 'links' | 'ports'> & ShownAs<'metric'>;
