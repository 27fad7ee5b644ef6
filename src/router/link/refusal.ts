/** How a request is refused, and what a refusal says: `proxy-status` (RFC 9209) with a short code, and details between links. */
import type { ShownAs } from '../../errors/catalogue.ts';
import { LinkError, type LinkCode } from './link-errors.ts';
import type { Fields, Stream, StreamHandler } from '../http2/contract.ts';
import { STATUS_FIELD } from '../wire.ts';
import { printableAscii } from '../../text/printable.ts';

/** Answers with a status and its error type of RFC 9209 section 2.3. What else arrives is let go by: the window is given back, so that the session goes on. */
export function refuse(stream: Stream, status: number, error: string, details?: string, more: Fields = {}): StreamHandler {
  const said = details === undefined ? '' : `; details="${printableAscii(details, 400).replaceAll(/["\\]/g, "'")}"`;
  stream.respond({ status, fields: { [STATUS_FIELD]: `earshot; error=${error}${said}`, ...more } }, { end: true });
  return { onResponse: () => {}, onData: (chunk) => stream.consumed(chunk.length), onEnd: () => {}, onDrain: () => {}, onReset: () => {} };
}

/** Refuses a link's own request, with what a person at the other end has to know. */
export function refuseLink(stream: Stream, error: LinkError): StreamHandler {
  return refuse(
    stream,
    error.code === 'busy' || error.code === 'draining' ? 503 : 403,
    'http_request_denied',
    `${error.code}: ${error.message}`,
  );
}

/**
 * What a peer said about us, as an error of ours; undefined where it said nothing that we know.
 * @param self the name of this site, as the peer knows it
 */
export function refusalIn(text: string, peer: string, self: string): LinkError | undefined {
  // In a GOAWAY's debug data it stands behind what the session says of it.
  const [, code, message] = /(?:^|\()([a-z][a-z-]{1,31}): (.*?)\)?$/s.exec(text) ?? [];
  if (code === undefined || message === undefined || !isSaid(code)) return undefined;
  // In its own words `here` is there.
  if (message.includes(UNREVOKED_BY)) return new LinkError(code, revokedBy(peer, self));
  return new LinkError(code, `${peer} refuses this link: ${printableAscii(message, 300)}`);
}

/** What a refusal says to people. */
export const detailsOf = (fields: Fields): string | undefined => /details="([^"\\]*)"/.exec(fields[STATUS_FIELD] ?? '')?.[1];

export function refusalOf(status: number, fields: Fields, peer: string, self: string): LinkError {
  const details = detailsOf(fields);
  const said = details === undefined ? undefined : refusalIn(details, peer, self);
  return (
    said ??
    new LinkError('not-earshot', `${peer} answered the link's first request with status ${status}. Is this an access port of a site?`)
  );
}

/** What to do about a link to a site that is revoked here. @param site its id, where that is known */
export function waysOn(site: string | undefined): string {
  return `Delete the link, or take that back with \`earshot site unrevoke ${site ?? 'NAME'}\`.`;
}

const UNREVOKED_BY = '`earshot site unrevoke';

/** Also a new token would be refused. */
function revokedBy(peer: string, self: string): string {
  return `The site at ${peer} has revoked this site. Only \`earshot site unrevoke ${self}\`, there, takes it back.`;
}

/** For the other end, which reads it as `revokedBy` where it is of this version. Short, as a GOAWAY holds 120 characters. */
export const UNREVOKE = 'Only `earshot site unrevoke NAME` here helps.';

const SAID: readonly (LinkCode & ShownAs<'answer'>)[] = [
  'tls-expired',
  'tls-not-yet-valid',
  'tls-foreign-ca',
  'tls-weak',
  'tls-wrong-purpose',
  'tls-no-cert',
  'tls-failed',
  'revoked',
  'version',
  'self',
  'edge-only',
  'wrong-proof',
  'wrong-site',
  'protocol',
  'routing',
  'busy',
  'draining',
];

const isSaid = (code: string): code is LinkCode => SAID.some((known) => known === code);
