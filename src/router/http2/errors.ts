import { EarshotError } from '../../errors/earshot-error.ts';

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
export class ConnectionError extends EarshotError<'http2-connection'> {
  /** What goes on the wire. */
  readonly errorCode: number;

  constructor(errorCode: number, message: string) {
    super('http2-connection', message);
    this.errorCode = errorCode;
  }
}

/** A request was made on a session that takes none any more. */
export function sessionClosed(state: string): EarshotError {
  return new EarshotError('http2-session-closed', `the HTTP/2 session is ${state}: open the stream on another one`);
}

/** Characters of a peer's words that are passed on. */
export const MOST_WORDS = 120;
