import { EarshotError } from '../errors/earshot-error.ts';

/** Error codes of RFC 9113 section 7. */
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

/** Name of an error code for a log line, or its number if it has no name. */
export function nameOfErrorCode(code: number): string {
  return NAMES.get(code) ?? `error code ${code}`;
}

const NAMES = new Map<number, string>(Object.entries(ErrorCode).map(([name, code]) => [code, name]));

/** The peer violated the protocol or a limit in a way that ends the connection (RFC 9113 section 5.4.1). */
export class ConnectionError extends EarshotError<'http2-connection'> {
  /** Error code for the GOAWAY frame. */
  readonly errorCode: number;

  constructor(errorCode: number, message: string) {
    super('http2-connection', message);
    this.errorCode = errorCode;
  }
}

/** Error of a request on a session that accepts no more requests. */
export function sessionClosed(state: string): EarshotError {
  return new EarshotError('http2-session-closed', `the HTTP/2 session is ${state}: open the stream on another one`);
}

/** Most characters of a peer's text in logs and errors. */
export const MOST_WORDS = 120;
