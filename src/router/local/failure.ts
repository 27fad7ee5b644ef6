import type { ShownAs } from '../../errors/catalogue.ts';
import type { Fields } from '../../http2/contract.ts';
import { STATUS_FIELD } from '../wire.ts';

/** Reason why a connection could not be opened. */
export interface Failure<Code extends FailureCode = FailureCode> {
  readonly code: Code;
  /** Names the fault and its place, for a log line and a status. */
  readonly message: string;
}

export type FailureCode = keyof typeof answers;

/** Reason why a server did not accept a connection. */
export type ServerFailure = Failure<
  'refused' | 'unreachable' | 'timeout' | 'name-unknown' | 'tls-failed' | 'tls-certificate' | 'connect-failed'
>;

/**
 * HTTP response for each failure: the status, and the error type of RFC 9209 section 2.3 in `proxy-status`. Only 404 and 502 concern a
 * single destination; another one may still accept.
 */
const answers = {
  'no-connector': { status: 404, error: 'destination_not_found' },
  'no-link': { status: 502, error: 'destination_unavailable' },
  'name-unknown': { status: 502, error: 'dns_error' },
  refused: { status: 502, error: 'connection_refused' },
  unreachable: { status: 502, error: 'destination_ip_unroutable' },
  timeout: { status: 504, error: 'connection_timeout' },
  'tls-failed': { status: 502, error: 'tls_protocol_error' },
  'tls-certificate': { status: 502, error: 'tls_certificate_error' },
  'connect-failed': { status: 502, error: 'destination_unavailable' },
  'peer-refused': { status: 502, error: 'destination_unavailable' },
  'stream-reset': { status: 502, error: 'connection_terminated' },
  busy: { status: 503, error: 'connection_limit_reached' },
  draining: { status: 503, error: 'destination_unavailable' },
  'client-gone': { status: 499, error: 'connection_terminated' },
} as const satisfies Partial<Record<ShownAs<'metric'>, { readonly status: number; readonly error: string }>>;

// The keys of the table.
export const FAILURE_CODES = Object.keys(answers) as readonly FailureCode[];

export const failure = <Code extends FailureCode>(code: Code, message: string): Failure<Code> => ({ code, message });

export const statusOf = ({ code }: Failure): number => answers[code].status;

/** `proxy-status` gives the reason as one token, so that the other end can log and count it. No detail leaves this site. */
export const fieldsOf = ({ code }: Failure): Fields => ({ [STATUS_FIELD]: `earshot; error=${answers[code].error}` });

/** Returns the error type that another router gave, a token of RFC 9209. It is untrusted. */
export function errorGiven(fields: Fields): string | undefined {
  return /;\s*error=([a-z_]{1,40})/.exec(fields[STATUS_FIELD] ?? '')?.[1];
}
