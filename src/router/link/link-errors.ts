/**
 * What goes wrong on links, with a stable `code` each. Messages say what is wrong, where, and what to do: they stand in a
 * link's status as they are.
 */
import type { Problem } from '../contract.ts';

export type LinkCode =
  /** The bundle is not whole, or its texts cannot be read. */
  | 'tls-no-cert'
  | 'tls-no-key'
  | 'tls-no-ca'
  | 'tls-bad-cert'
  | 'tls-bad-ca'
  | 'tls-key-mismatch'
  /** A certificate is not good now: ours, the peer's, or ours in the peer's eyes. */
  | 'tls-expired'
  | 'tls-not-yet-valid'
  | 'tls-foreign-ca'
  | 'tls-host-mismatch'
  | 'tls-wrong-purpose'
  | 'tls-weak'
  | 'tls-failed'
  /** The way to the peer. */
  | 'no-endpoint'
  | 'unresolved'
  | 'refused'
  | 'unreachable'
  | 'timeout'
  | 'silent'
  | 'lost'
  | 'closed'
  /** The peer. */
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
  /** This machine. */
  | 'port-in-use'
  | 'port-not-permitted'
  | 'host-not-local'
  | 'listen-failed';

/** A link cannot be made, or has to end. */
export class LinkError extends Error {
  readonly code: LinkCode;

  constructor(code: LinkCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'LinkError';
    this.code = code;
  }
}

export type RenewCode =
  /** There is no such link, or it is not up. */
  | 'RENEW_NO_LINK'
  /** The peer does not renew, or not this certificate. */
  | 'RENEW_REFUSED'
  /** No answer, or one that is none. */
  | 'RENEW_FAILED';

/** The peer of a link gave no new certificate. */
export class RenewError extends Error {
  readonly code: RenewCode;

  constructor(code: RenewCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RenewError';
    this.code = code;
  }
}

export function problemOf(error: LinkError): Problem {
  return { code: error.code, message: error.message };
}

/** Any text, fit for a log line, a status or a field of HTTP: printable ASCII, and not much of it. */
export function printable(text: string, most = 200): string {
  const clean = text.replace(/[^\x20-\x7e]/g, '?');
  return clean.length <= most ? clean : `${clean.slice(0, most)}...`;
}
