import type { TrustCode } from '../errors.ts';
import { TrustError } from '../errors.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';
import { limitTable } from '../../limits/table.ts';

/** Codes of a grant server that are passed on with its message. */
const known: ReadonlySet<string> = new Set<TrustCode>([
  'token-unknown-grant',
  'token-wrong-code',
  'token-expired',
  'token-used-up',
  'token-refused',
  'revoked',
  'server-busy',
  'server-failed',
]);

/** Converts a response other than 200 into an error for the redeemer. */
export function refusalOf(status: number, body: string, url: URL): TrustError {
  const { code, message } = parse(body);
  const said = message === undefined ? '' : `: ${message}`;
  if (status === 429 || status === 503) return new TrustError('server-busy', `${url.host} is busy${said}. Try again later`);
  if (code !== undefined && known.has(code)) {
    // The code is in `known`.
    return new TrustError(code as TrustCode, `${url.host} refuses the token${said}`);
  }
  if (status === 404) {
    return new TrustError(
      'token-unknown-grant',
      `${url.host} does not serve ${url.pathname}: the grant was deleted, or another server answers there`,
    );
  }
  if (status >= 500) return new TrustError('server-failed', `${url.host} failed with status ${status}${said}`);
  return new TrustError('token-refused', `${url.host} refuses the token with status ${status}${said}`);
}

/** The text goes to a terminal and into a status, so it is stripped of control characters and truncated. */
function parse(body: string): { readonly code?: string; readonly message?: string } {
  try {
    const value: unknown = JSON.parse(body);
    if (!isRecord(value)) return {};
    const { code, message } = value;
    return {
      ...(typeof code === 'string' ? { code } : {}),
      ...(typeof message === 'string' ? { message: printable(message, limitTable.answerMessage.value) } : {}),
    };
  } catch {
    return {};
  }
}
