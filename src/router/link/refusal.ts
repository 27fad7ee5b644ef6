/** Refusals of requests: `proxy-status` (RFC 9209) with a short code, and with details between links. */
import type { ShownAs } from '../../errors/catalogue.ts';
import { LinkError, type LinkCode } from './link-errors.ts';
import type { Fields, Stream, StreamHandler } from '../../http2/contract.ts';
import { STATUS_FIELD } from '../wire.ts';
import { printableAscii } from '../../text/printable.ts';

/**
 * Responds with a status and an error type of RFC 9209 section 2.3. Further input is consumed and dropped, so that the session's window
 * stays open.
 */
export function refuse(stream: Stream, status: number, error: string, details?: string, more: Fields = {}): StreamHandler {
  const said = details === undefined ? '' : `; details="${printableAscii(details, 400).replaceAll(/["\\]/g, "'")}"`;
  stream.respond({ status, fields: { [STATUS_FIELD]: `earshot; error=${error}${said}`, ...more } }, { end: true });
  return { onResponse: () => {}, onData: (chunk) => stream.consumed(chunk.length), onEnd: () => {}, onDrain: () => {}, onReset: () => {} };
}

/** Refuses a link's own request, with details for an administrator at the other end. */
export function refuseLink(stream: Stream, error: LinkError): StreamHandler {
  return refuse(
    stream,
    error.code === 'busy' || error.code === 'draining' ? 503 : 403,
    'http_request_denied',
    `${error.code}: ${error.message}`,
  );
}

/**
 * Converts a peer's refusal of this router to a local error; undefined if it has no known code.
 * @param self the name of this site, as the peer knows it
 */
export function refusalIn(text: string, peer: string, self: string): LinkError | undefined {
  const [, code, message] = PEER_TEXT.exec(text) ?? [];
  if (code === undefined || message === undefined || !isSaid(code)) return undefined;
  // The peer's own text says `here` and means its site.
  if (message.includes(UNREVOKED_BY)) return new LinkError(code, revokedBy(peer, self));
  return new LinkError(code, `${peer} refuses this link: ${printableAscii(message, 300)}`);
}

/** In the debug data of a GOAWAY, code and message follow the text of the session. */
const PEER_TEXT = /(?:^|\()([a-z][a-z-]{1,31}): (.*?)\)?$/s;

/** Why the other end closes the link, for users. @param text reason of its GOAWAY */
export function closingBecause(text: string): string {
  const [, code] = PEER_TEXT.exec(text) ?? [];
  if (code === 'silent') return 'The other end closed the link, because it had received nothing from this one for too long.';
  return `the peer is closing: ${printableAscii(text)}`;
}

/** Message of a refusal for users. */
export const detailsOf = (fields: Fields): string | undefined => /details="([^"\\]*)"/.exec(fields[STATUS_FIELD] ?? '')?.[1];

export function refusalOf(status: number, fields: Fields, peer: string, self: string): LinkError {
  const details = detailsOf(fields);
  const said = details === undefined ? undefined : refusalIn(details, peer, self);
  return (
    said ??
    new LinkError('not-earshot', `${peer} answered the link's first request with status ${status}. Is this an access port of a site?`)
  );
}

/** Remedy for a link to a site that is revoked here. @param site its ID, if known */
export function waysOn(site: string | undefined): string {
  return `Delete the link, or lift the revocation with \`earshot site unrevoke ${site ?? 'NAME'}\`.`;
}

const UNREVOKED_BY = '`earshot site unrevoke';

/** No mention of a new token, which would be refused too. */
function revokedBy(peer: string, self: string): string {
  return `The site at ${peer} has revoked this site. To lift the revocation, use \`earshot site unrevoke ${self}\` there.`;
}

/** Sent to the other end, which replaces it by `revokedBy` if it has this version. Short, since a GOAWAY holds 120 characters. */
export const UNREVOKE = 'Lift it with `earshot site unrevoke NAME`.';

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
