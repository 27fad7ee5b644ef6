/**
 * What goes wrong on an HTTP/2 connection. Each class has a stable `code`; `errorCode` is what goes on the wire.
 */

/** RFC 9113 section 7. */
export const ErrorCode = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  SETTINGS_TIMEOUT: 0x4,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  CONNECT_ERROR: 0xa,
  ENHANCE_YOUR_CALM: 0xb,
} as const;

/** The name of an error code, for a log line; the number where it has none. */
export function nameOfErrorCode(code: number): string {
  return NAMES.get(code) ?? `error code ${code}`;
}

const NAMES = new Map<number, string>(Object.entries(ErrorCode).map(([name, code]) => [code, name]));

/** The peer broke the protocol, or a bound, in a way that ends the whole connection (RFC 9113 section 5.4.1). */
export class ConnectionError extends Error {
  readonly code = 'HTTP2_CONNECTION';
  readonly errorCode: number;

  constructor(errorCode: number, message: string) {
    super(message);
    this.name = 'ConnectionError';
    this.errorCode = errorCode;
  }
}

/** A request was made on a session that takes none any more. */
export class SessionClosedError extends Error {
  readonly code = 'HTTP2_SESSION_CLOSED';

  constructor(state: string) {
    super(`the HTTP/2 session is ${state}: open the stream on another one`);
    this.name = 'SessionClosedError';
  }
}

/** A ping without an answer in time, or cut off by the session's end. */
export class PingError extends Error {
  readonly code = 'HTTP2_PING';

  constructor(message: string) {
    super(message);
    this.name = 'PingError';
  }
}

/** What this end asked for cannot be said in HTTP/2: a mistake of the caller's. */
export class UsageError extends Error {
  readonly code = 'HTTP2_USAGE';

  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** A peer's text, fit for a log line: printable ASCII, cut. */
export function printable(text: string, most = 120): string {
  const clean = text.slice(0, most).replaceAll(/[^\x20-\x7e]/g, '?');
  return text.length > most ? `${clean}...` : clean;
}
