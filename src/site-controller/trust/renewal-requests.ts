/** Renewal requests of routers for the sites linked to them, and the controller's answers: texts in a ConfigMap. */
import { RENEW_NOW } from '../../api/skupper/cluster-names.ts';
import { EarlyRenewalError } from '../../identity/issued.ts';
import type { IssuedCertificate } from '../../identity/issued.ts';
import { isRecord } from '../../text/is-record.ts';
import { isUuid } from '../../text/names.ts';
import { printable } from '../../text/printable.ts';

export interface AskedRenewal {
  /** 32 hexadecimal digits, which the requester chooses. */
  readonly id: string;
  /** Certificate in DER form. */
  readonly certificate: Buffer;
  readonly siteId: string;
  /** PKCS #10, PEM. */
  readonly request: string;
}

/** A malformed entry gets an answer too, so that its requester need not wait for the timeout. */
export type OpenRequest = AskedRenewal | { readonly id: string; readonly malformed: string };

export interface OpenRequests {
  /** Requests without an answer. */
  readonly open: readonly OpenRequest[];
  /** Keys that no requester waits for any longer. */
  readonly stale: readonly string[];
}

/** Milliseconds after which an answer is removed: its requester has timed out long before. */
const KEPT = 3_600_000;
/** Maximum number of open requests. A site sends one in several weeks. */
const MOST_OPEN = 64;
const LONGEST = 32_768;

/** @param data content of the ConfigMap, which routers write */
export function readRequests(data: Readonly<Record<string, string>>, now: number): OpenRequests {
  const ids = Object.keys(data).filter((key) => ID.test(key));
  const open = ids.filter((id) => !Object.hasOwn(data, answerKey(id)));
  const isStale = (key: string): boolean => {
    // Routers answer these entries themselves, and the requester removes them.
    if (key.startsWith(RENEW_NOW)) return false;
    if (!key.endsWith(ANSWER)) return !ID.test(key);
    const text = data[key] ?? '';
    const at = text.length > LONGEST ? undefined : answeredAt(text);
    return at === undefined || Math.abs(now - at) > KEPT;
  };
  const staleAnswers = Object.keys(data).filter(isStale);
  const theirs = staleAnswers.map((key) => key.slice(0, -ANSWER.length)).filter((id) => Object.hasOwn(data, id));
  return {
    open: open.slice(0, MOST_OPEN).map((id) => parseRequest(id, data[id] ?? '')),
    stale: [...new Set([...staleAnswers, ...theirs, ...open.slice(MOST_OPEN)])],
  };
}

/** Below 1 MiB, the limit of the API server. */
const MOST_BYTES = 900_000;

/**
 * Patch of the ConfigMap. If the result would be too large, only the answers stay: requesters without an answer ask again.
 * @param stale keys to remove
 */
export function withAnswers(
  data: Readonly<Record<string, string>>,
  stale: readonly string[],
  answers: Readonly<Record<string, string>>,
): Readonly<Record<string, string | null>> {
  const gone = new Set(stale);
  const kept = Object.entries(data).filter(([key]) => !gone.has(key) && !Object.hasOwn(answers, key));
  const bytes = [...kept, ...Object.entries(answers)].flat().reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (bytes > MOST_BYTES) for (const [key] of kept) gone.add(key);
  return Object.fromEntries<string | null>([...[...gone].map((key) => [key, null] as const), ...Object.entries(answers)]);
}

export function answerKey(id: string): string {
  return `${id}${ANSWER}`;
}

export function answerOf(issued: IssuedCertificate, now: number): string {
  return JSON.stringify({ cert: issued.cert, ca: issued.ca, at: new Date(now).toISOString() });
}

export function refusalOf(error: unknown, now: number): string {
  const refused = printable(error instanceof Error ? error.message : String(error), 1_000);
  const early = error instanceof EarlyRenewalError ? { retryAfter: Math.round(error.retryAfter) } : {};
  return JSON.stringify({ refused, ...early, at: new Date(now).toISOString() });
}

function parseRequest(id: string, text: string): OpenRequest {
  if (text.length > LONGEST) return { id, malformed: `it has more than ${LONGEST} characters` };
  const value = parseJson(text);
  if (!isRecord(value)) return { id, malformed: 'it is not a JSON object' };
  const { certificate, siteId, request } = value;
  if (typeof certificate !== 'string' || typeof siteId !== 'string' || typeof request !== 'string') {
    return { id, malformed: 'it must have certificate, siteId and request' };
  }
  if (!isUuid(siteId)) return { id, malformed: 'siteId is not a UUID' };
  return { id, certificate: Buffer.from(certificate, 'base64'), siteId, request };
}

function answeredAt(text: string): number | undefined {
  const value = parseJson(text);
  const at = isRecord(value) && typeof value['at'] === 'string' ? Date.parse(value['at']) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const ID = /^[0-9a-f]{32}$/;
const ANSWER = '.answer';
