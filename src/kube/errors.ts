import type { CodeOf, ShownAs } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** The API server answered with an error. */
export class ApiError extends EarshotError<'kube-api'> {
  /** HTTP status, or the code of the Status in a watch event. */
  readonly status: number;
  /** Kubernetes' machine-readable reason (`NotFound`, `Conflict`, `Invalid`, …); empty if the response was not a Status. */
  readonly reason: string;
  /** The server's message, without control characters and truncated, for conditions and log lines. */
  readonly statusMessage: string;
  readonly retryAfterSeconds: number | undefined;
  /** Token with which an expired list can continue, from another point in time. */
  readonly continueToken: string | undefined;
  /** `reason` of each entry in details.causes. */
  readonly causes: readonly string[];

  constructor(call: string, answer: ApiErrorAnswer) {
    super('kube-api', `${call}: ${answer.message} (${answer.status}${answer.reason === '' ? '' : ` ${answer.reason}`})`);
    this.status = answer.status;
    this.reason = answer.reason;
    this.statusMessage = answer.message;
    this.retryAfterSeconds = answer.retryAfterSeconds;
    this.continueToken = answer.continueToken;
    this.causes = answer.causes ?? [];
  }
}

export interface ApiErrorAnswer {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
  readonly retryAfterSeconds?: number | undefined;
  readonly continueToken?: string | undefined;
  readonly causes?: readonly string[] | undefined;
}

/** No complete response arrived. */
export class TransportError extends EarshotError<TransportCode> {
  /** False if the request certainly did not reach the server, so that it is safe to repeat. */
  readonly sent: boolean;
  /** True once the status line of the response has arrived. */
  readonly answered: boolean;

  constructor(code: TransportCode, message: string, options: { sent: boolean; answered?: boolean; cause?: unknown }) {
    super(code, message, options.cause);
    this.sent = options.sent;
    this.answered = options.answered ?? false;
  }
}

export type TransportCode = CodeOf<'kube'> & ShownAs<'metric'>;

/** Leadership was lost: everything that it protects must stop at once. */
export class LeaseLostError extends EarshotError<'kube-lease-lost'> {
  constructor(message: string, cause?: unknown) {
    super('kube-lease-lost', message, cause);
  }
}

/** Milliseconds that the server asks to wait before a retry. */
export const askedToWait = (error: unknown): number => (error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0);

const statusIs = (error: unknown, status: number): boolean => error instanceof ApiError && error.status === status;

export const isNotFound = (error: unknown): boolean => statusIs(error, 404);

/** The caller has no permission, or another policy forbids the request. */
export const isForbidden = (error: unknown): boolean => statusIs(error, 403);

/** The object changed, is a different one, or exists already (see `isAlreadyExists`). */
export const isConflict = (error: unknown): boolean => statusIs(error, 409);

export const isAlreadyExists = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && error.reason === 'AlreadyExists';

/** The caller closed the client, so retries are pointless. */
export const isClosed = (error: unknown): boolean => error instanceof TransportError && error.code === 'kube-closed';

/**
 * The API server refuses the object as it is. Repeating the request does not help; the object has to be changed. Conflicts and
 * throttling are excluded. Server-side apply answers an unknown field or a wrong type with 500 and no reason
 * (k8s.io/apimachinery, managedfields: the error is not a Status). Only its message identifies it.
 */
export function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (error.status === 500) return error.statusMessage.startsWith('failed to create typed patch object');
  return error.status === 400 || error.status === 403 || error.status === 422;
}

/** The resourceVersion or continue token is too old (410), or newer than the server's state (after restoring a backup). */
export const isExpired = (error: unknown): boolean =>
  statusIs(error, 410) || (error instanceof ApiError && error.causes.includes('ResourceVersionTooLarge'));

/** The object cannot be created because its namespace is being deleted (core/v1, NamespaceTerminatingCause). */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 403 && error.causes.includes('NamespaceTerminating');
