import type { ErrorCode } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

/**
 * What is wrong with a peer's routing. A peer that causes one is cut off: a peer that keeps to
 * the protocol cannot, whatever other sites send through it, because it checks what it passes on.
 */
export class RoutingError extends EarshotError<RoutingErrorCode> {}

export type RoutingErrorCode = Extract<ErrorCode, 'routing-message' | 'routing-forged' | 'routing-request' | 'routing-link'>;
