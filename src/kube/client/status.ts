import { ApiError } from '../errors.ts';
import { isRecord } from '../../text/is-record.ts';
import { printable } from '../../text/printable.ts';

const MESSAGE_LIMIT = 2_048;
const VALUE_LIMIT = 256;

const UNSERVED = 'the API server does not serve this kind, or not yet';

/** Converts an unsuccessful response to an ApiError. `body` is whatever the server, or a proxy before it, sent. */
export function apiErrorOf(call: string, status: number, retryAfter: string | undefined, body: string): ApiError {
  const parsed = statusOf(body);
  if (parsed === undefined) {
    const said = clean(body.slice(0, 256));
    // The API server's response for an unknown group or kind.
    const isUnserved = status === 404 && said === '404 page not found';
    return new ApiError(call, {
      status,
      reason: '',
      message: isUnserved ? UNSERVED : said === '' ? `the server answered ${status} without a message` : `not a Kubernetes Status: ${said}`,
      retryAfterSeconds: retryAfterOf(retryAfter),
    });
  }
  return errorOfStatus(call, parsed, status, retryAfterOf(retryAfter));
}

/** Converts a Status from a watch's ERROR event to an ApiError. */
export function apiErrorOfEvent(call: string, object: unknown): ApiError {
  return errorOfStatus(call, isRecord(object) ? object : {}, 500, undefined);
}

function errorOfStatus(call: string, body: Record<string, unknown>, httpStatus: number, retryAfter: number | undefined): ApiError {
  const details = isRecord(body['details']) ? body['details'] : {};
  const metadata = isRecord(body['metadata']) ? body['metadata'] : {};
  const causes = Array.isArray(details['causes']) ? details['causes'] : [];
  const fromDetails = details['retryAfterSeconds'];
  const token = metadata['continue'];
  const code = body['code'];
  return new ApiError(call, {
    status: typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600 ? code : httpStatus,
    reason: text(body['reason']),
    message: text(body['message']) || 'the server gave no reason',
    retryAfterSeconds: retryAfter ?? (typeof fromDetails === 'number' && fromDetails > 0 ? fromDetails : undefined),
    continueToken: typeof token === 'string' && token !== '' ? token : undefined,
    causes: causes.flatMap((cause) => (isRecord(cause) ? [text(cause['reason'])] : [])),
  });
}

function statusOf(body: string): Record<string, unknown> | undefined {
  try {
    const parsed: unknown = JSON.parse(body);
    return isRecord(parsed) && parsed['kind'] === 'Status' ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** Parses Retry-After (RFC 9110, section 10.2.3): seconds, or a date. */
export function retryAfterOf(header: string | undefined, now: number = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  const trimmed = header.trim();
  if (/^\d{1,9}$/.test(trimmed)) return Number(trimmed);
  const date = Date.parse(trimmed);
  return Number.isNaN(date) ? undefined : Math.max(0, Math.ceil((date - now) / 1_000));
}

function text(value: unknown): string {
  return typeof value === 'string' ? clean(value) : '';
}

/**
 * For an invalid patch the server quotes the whole object ("patch: Invalid value: …", field.Error in k8s.io/apimachinery) before
 * the reason.
 */
const QUOTED_VALUE = /(?<=Invalid value: )"[^"\\]*(?:\\.[^"\\]*)*"/g;

/** Removes control characters and limits the length, because the server's message is used in log lines and conditions. */
function clean(value: string): string {
  const brief = value.replaceAll(QUOTED_VALUE, (quoted) => (quoted.length > VALUE_LIMIT ? '"…"' : quoted));
  return printable(brief, MESSAGE_LIMIT).trim();
}
