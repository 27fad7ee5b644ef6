import type { CodeOf, ShownAs } from '../errors/catalogue.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** The API server answered, and the answer is no. */
export class ApiError extends EarshotError<'kube-api'> {
  /** HTTP status, or the Status' code where a watch carried it. */
  readonly status: number;
  /** Kubernetes' machine-readable reason (`NotFound`, `Conflict`, `Invalid`, …); empty where the answer was no Status. */
  readonly reason: string;
  /** The server's own words, cleaned of control characters and cut: fit for a condition or a log line. */
  readonly statusMessage: string;
  readonly retryAfterSeconds: number | undefined;
  /** The token with which an expired list may go on, as of another moment than it began. */
  readonly continueToken: string | undefined;
  /** `reason` of each of details.causes. */
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

/** No whole answer arrived. */
export class TransportError extends EarshotError<TransportCode> {
  /** False where the request certainly did not reach the server, so that sending it again is safe. */
  readonly sent: boolean;
  /** True once the answer's status line had arrived. */
  readonly answered: boolean;

  constructor(code: TransportCode, message: string, options: { sent: boolean; answered?: boolean; cause?: unknown }) {
    super(code, message, options.cause);
    this.sent = options.sent;
    this.answered = options.answered ?? false;
  }
}

export type TransportCode = CodeOf<'kube'> & ShownAs<'metric'>;

/** Leadership ended without our wish: whatever it protected must stop at once. */
export class LeaseLostError extends EarshotError<'kube-lease-lost'> {
  constructor(message: string, cause?: unknown) {
    super('kube-lease-lost', message, cause);
  }
}

/** Milliseconds that the server asks us to wait before the next try. */
export const askedToWait = (error: unknown): number => (error instanceof ApiError ? (error.retryAfterSeconds ?? 0) * 1_000 : 0);

const statusIs = (error: unknown, status: number): boolean => error instanceof ApiError && error.status === status;

export const isNotFound = (error: unknown): boolean => statusIs(error, 404);

/** The caller has no right to it, or something else forbids it. */
export const isForbidden = (error: unknown): boolean => statusIs(error, 403);

/** The object changed, is another one, or exists already: see `isAlreadyExists` to tell the last apart. */
export const isConflict = (error: unknown): boolean => statusIs(error, 409);

export const isAlreadyExists = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && error.reason === 'AlreadyExists';

/** The caller closed the client: nothing will ever come of trying again. */
export const isClosed = (error: unknown): boolean => error instanceof TransportError && error.code === 'kube-closed';

/**
 * The API server will not have this object as it is: repeating the request does not mend it, somebody has to change what
 * was written. Conflicts and throttling are not among these.
 *
 * Server-side apply of a field that the kind does not have, or of a value of the wrong type, is answered with 500 and no
 * reason (k8s.io/apimachinery, managedfields: the typed patch is no Status error), so its words are what tells it.
 */
export function isRefusal(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  if (error.status === 500) return error.statusMessage.startsWith('failed to create typed patch object');
  return error.status === 400 || error.status === 403 || error.status === 422;
}

/** The resourceVersion or continue token is too old (410), or newer than what the server holds (after a restored backup). */
export const isExpired = (error: unknown): boolean =>
  statusIs(error, 410) || (error instanceof ApiError && error.causes.includes('ResourceVersionTooLarge'));

/** The object cannot be made because its namespace is being deleted (core/v1, NamespaceTerminatingCause). */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 403 && error.causes.includes('NamespaceTerminating');
