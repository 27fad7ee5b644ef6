import type { CodeOf, ShownAs } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

/** A link cannot be opened or has to end. The message appears in a status and may be sent to the peer. */
export class LinkError extends EarshotError<LinkCode> {}

export type LinkCode = CodeOf<'tls' | 'links' | 'ports'> & ShownAs<'metric'>;
