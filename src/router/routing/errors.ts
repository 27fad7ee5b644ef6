/**
 * What is wrong with a peer's routing, or with the site's own key. A peer that causes one is cut off: a peer that keeps to
 * the protocol cannot, whatever other sites send through it, because it checks what it passes on.
 */
export class RoutingError extends Error {
  readonly code: RoutingErrorCode;

  constructor(code: RoutingErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RoutingError';
    this.code = code;
  }
}

export type RoutingErrorCode =
  /** A message is empty, cut short, or longer than it may be. */
  | 'routing-message'
  /** A record whose signature is not that of the site that it names. */
  | 'routing-forged'
  /** The peer asks for more than it may at once. */
  | 'routing-request'
  /** A message came for a link that is not up: the caller's mistake. */
  | 'routing-link'
  /** The site's own key cannot be read, or is not the one of its id. */
  | 'site-key';
