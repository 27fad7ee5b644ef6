/**
 * Converts a routing key to `:authority` and back. A key is any text; an authority is part of a URI (RFC 3986 section 3.2.2), so other
 * characters are percent-encoded as UTF-8. Ordinary keys are the same in both forms.
 */

/** Unreserved characters, sub-delimiters, and the colon, since `host:port` is a usual key. */
const PLAIN = /^[A-Za-z0-9._~!$&'()*+,;=:-]*$/;
const OTHERS = /[^A-Za-z0-9._~!$&'()*+,;=:-]+/gu;

export function authorityOf(routingKey: string): string {
  if (PLAIN.test(routingKey)) return routingKey;
  return routingKey.toWellFormed().replaceAll(OTHERS, (some) => Buffer.from(some).toString('hex').toUpperCase().replaceAll(/../g, '%$&'));
}

/** @returns undefined if the authority is not validly encoded */
export function keyIn(authority: string): string | undefined {
  if (PLAIN.test(authority)) return authority;
  try {
    return decodeURIComponent(authority);
  } catch {
    return undefined;
  }
}
