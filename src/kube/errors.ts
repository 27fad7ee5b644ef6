/**
 * Every error that this folder throws. Each class has a stable `code`; messages say what failed, where, and what to do.
 */

/** The API server answered, and the answer is no. */
export class ApiError extends Error {
  readonly code = 'KUBE_API';
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
    super(`${call}: ${answer.message} (${answer.status}${answer.reason === '' ? '' : ` ${answer.reason}`})`);
    this.name = 'ApiError';
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

export type TransportCode =
  /** No connection: refused, unresolvable, a certificate that is not trusted. The request was not sent. */
  | 'KUBE_UNREACHABLE'
  /** The connection broke before the answer was whole. The server may have acted on the request. */
  | 'KUBE_CUT'
  /** A deadline passed, or a watch fell silent. */
  | 'KUBE_TIMEOUT'
  /** What arrived is not what the API speaks. */
  | 'KUBE_MALFORMED'
  /** More arrived than the client is willing to hold. */
  | 'KUBE_TOO_LARGE'
  /** Too many requests wait for a connection already. The request was not sent. */
  | 'KUBE_BUSY'
  /** The client was closed. */
  | 'KUBE_CLOSED';

/** No whole answer arrived. */
export class TransportError extends Error {
  readonly code: TransportCode;
  /** False where the request certainly did not reach the server, so that sending it again is safe. */
  readonly sent: boolean;
  /** True once the answer's status line had arrived. */
  readonly answered: boolean;

  constructor(code: TransportCode, message: string, options: { sent: boolean; answered?: boolean; cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TransportError';
    this.code = code;
    this.sent = options.sent;
    this.answered = options.answered ?? false;
  }
}

/** No usable way to the API server in a kubeconfig or in the pod's service account. */
export class ConfigError extends Error {
  readonly code = 'KUBE_CONFIG';

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ConfigError';
  }
}

/** A name that must not become a path segment of a request. */
export class NameError extends Error {
  readonly code = 'KUBE_NAME';

  constructor(message: string) {
    super(message);
    this.name = 'NameError';
  }
}

/** Thrown by a reconcile: trying again changes nothing until the object changes, so the queue does not retry. */
export class TerminalError extends Error {
  readonly code = 'KUBE_TERMINAL';

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'TerminalError';
  }
}

/** The informer of a cache was stopped before its first list was in. */
export class StoppedError extends Error {
  readonly code = 'KUBE_STOPPED';

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'StoppedError';
  }
}

/** Leadership ended without our wish: whatever it protected must stop at once. */
export class LeaseLostError extends Error {
  readonly code = 'KUBE_LEASE_LOST';

  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'LeaseLostError';
  }
}

const statusIs = (error: unknown, status: number): boolean => error instanceof ApiError && error.status === status;

export const isNotFound = (error: unknown): boolean => statusIs(error, 404);

/** The object changed, is another one, or exists already: see `isAlreadyExists` to tell the last apart. */
export const isConflict = (error: unknown): boolean => statusIs(error, 409);

export const isAlreadyExists = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && error.reason === 'AlreadyExists';

/** The caller closed the client: nothing will ever come of trying again. */
export const isClosed = (error: unknown): boolean => error instanceof TransportError && error.code === 'KUBE_CLOSED';

/** The server understood and refuses the content: trying again changes nothing. */
export const isInvalid = (error: unknown): boolean => statusIs(error, 422) || statusIs(error, 400);

/** The resourceVersion or continue token is too old (410), or newer than what the server holds (after a restored backup). */
export const isExpired = (error: unknown): boolean =>
  statusIs(error, 410) || (error instanceof ApiError && error.causes.includes('ResourceVersionTooLarge'));

/** The object cannot be made because its namespace is being deleted (core/v1, NamespaceTerminatingCause). */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 403 && error.causes.includes('NamespaceTerminating');
