import type { CodeOf, ShownAs } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

/** A link cannot be made, or has to end: its message stands in a status, and may go to the peer. */
export class LinkError extends EarshotError<LinkCode> {}

export type LinkCode = CodeOf<'tls' | 'links' | 'ports'> & ShownAs<'metric'>;

/** Any text, fit for a log line, a status or a field of HTTP: printable ASCII, and not much of it. */
export function printable(text: string, most = 200): string {
  const clean = text.replace(/[^\x20-\x7e]/g, '?');
  return clean.length <= most ? clean : `${clean.slice(0, most)}...`;
}
