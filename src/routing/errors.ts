import type { ErrorCode } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/**
 * A protocol violation by a peer, which is disconnected. A peer that keeps to the protocol never causes one, whatever other sites send
 * through it, because it validates what it forwards.
 */
export class RoutingError extends EarshotError<RoutingErrorCode> {}

export type RoutingErrorCode = Extract<ErrorCode, 'routing-message' | 'routing-forged' | 'routing-request' | 'routing-link'>;
