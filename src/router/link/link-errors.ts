import type { ShownAs } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import type { Problem } from '../contract.ts';

/** A link cannot be made, or has to end: its message stands in a status, and may go to the peer. */
export class LinkError extends EarshotError<LinkCode> {}

export type LinkCode = Extract<
  ShownAs<'metric'>,
  // The bundle, and certificates: ours, the peer's, or ours in the peer's eyes.
  | 'tls-no-cert'
  | 'tls-no-key'
  | 'tls-no-ca'
  | 'tls-mangled'
  | 'tls-key-mismatch'
  | 'tls-expired'
  | 'tls-not-yet-valid'
  | 'tls-foreign-ca'
  | 'tls-host-mismatch'
  | 'tls-wrong-purpose'
  | 'tls-weak'
  | 'tls-failed'
  // The way to the peer.
  | 'no-endpoint'
  | 'name-unknown'
  | 'refused'
  | 'unreachable'
  | 'timeout'
  | 'silent'
  | 'lost'
  | 'closed'
  // The peer.
  | 'revoked'
  | 'not-earshot'
  | 'version'
  | 'self'
  | 'edge-only'
  | 'wrong-proof'
  | 'wrong-site'
  | 'wrong-router'
  | 'protocol'
  | 'routing'
  | 'too-slow'
  | 'busy'
  | 'draining'
  // This machine.
  | 'port-in-use'
  | 'port-not-permitted'
  | 'host-not-local'
  | 'listen-failed'
>;

export function problemOf(error: LinkError): Problem {
  return { code: error.code, message: error.message };
}

/** Any text, fit for a log line, a status or a field of HTTP: printable ASCII, and not much of it. */
export function printable(text: string, most = 200): string {
  const clean = text.replace(/[^\x20-\x7e]/g, '?');
  return clean.length <= most ? clean : `${clean.slice(0, most)}...`;
}
