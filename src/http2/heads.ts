import type { Fields, RequestHead, ResponseHead } from './contract.ts';
import { EarshotError } from '../errors/earshot-error.ts';

export type FieldLine = readonly [name: string, value: string];

/** Parsed header block, or why it is malformed (RFC 9113 section 8.1.1). */
export type Parsed<T> = { readonly ok: true; readonly head: T } | { readonly ok: false; readonly reason: string };

/** RFC 9113 sections 8.3.1 and 8.5. */
export function parseRequest(lines: readonly FieldLine[]): Parsed<RequestHead> {
  const parts = split(lines, REQUEST_PSEUDO);
  if (typeof parts === 'string') return malformed(parts);
  const { pseudo, fields } = parts;
  const method = pseudo[':method'];
  const path = pseudo[':path'];
  const authority = pseudo[':authority'];
  if (method === undefined || !TOKEN.test(method)) return malformed('a request has no valid :method');
  if (method === 'CONNECT') {
    if (path !== undefined || pseudo[':scheme'] !== undefined) return malformed('CONNECT has a :scheme or a :path');
    if (authority === undefined || authority === '') return malformed('CONNECT has no :authority');
    return { ok: true, head: { method, authority, fields } };
  }
  if (path === undefined || path === '') return malformed('a request has no :path');
  if (pseudo[':scheme'] === undefined) return malformed('a request has no :scheme');
  return { ok: true, head: { method, authority: authority ?? fields['host'] ?? '', path, fields } };
}

/** RFC 9113 section 8.3.2. */
export function parseResponse(lines: readonly FieldLine[]): Parsed<ResponseHead> {
  const parts = split(lines, RESPONSE_PSEUDO);
  if (typeof parts === 'string') return malformed(parts);
  const status = parts.pseudo[':status'] ?? '';
  if (!/^[1-9]\d\d$/.test(status)) return malformed('a response has no valid :status');
  return { ok: true, head: { status: Number(status), fields: parts.fields } };
}

/** Trailers have no pseudo-header fields (RFC 9113 section 8.1). @returns the fault if they are malformed */
export function faultOfTrailers(lines: readonly FieldLine[]): string | undefined {
  const parts = split(lines, NO_PSEUDO);
  return typeof parts === 'string' ? parts : undefined;
}

/** @throws EarshotError `http2-usage` if a field is not valid in HTTP/2. Input from outside must be checked before. */
export function requestLines(head: RequestHead): FieldLine[] {
  const lines: FieldLine[] = [[':method', head.method]];
  if (head.method !== 'CONNECT') lines.push([':scheme', 'https'], [':path', head.path ?? '/']);
  lines.push([':authority', head.authority]);
  return append(lines, head.fields);
}

/** @throws EarshotError `http2-usage` if a field is not valid in HTTP/2 */
export function responseLines(head: ResponseHead): FieldLine[] {
  return append([[':status', String(head.status)]], head.fields);
}

const REQUEST_PSEUDO: ReadonlySet<string> = new Set([':method', ':scheme', ':authority', ':path']);
const RESPONSE_PSEUDO: ReadonlySet<string> = new Set([':status']);
const NO_PSEUDO: ReadonlySet<string> = new Set();
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 9113 section 8.2.1. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
// eslint-disable-next-line no-control-regex -- RFC 9113 section 8.2.1 names these three
const BAD_VALUE = /[\0\r\n]|^[ \t]|[ \t]$/;
/** RFC 9113 section 8.2.2. */
const CONNECTION_FIELDS: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade']);

interface Parts {
  readonly pseudo: Readonly<Partial<Record<string, string>>>;
  readonly fields: Fields;
}

/** @returns the fault as text if the section is malformed. The text goes to logs and quotes nothing of the peer. */
function split(lines: readonly FieldLine[], known: ReadonlySet<string>): Parts | string {
  // Only known names become keys.
  const pseudo: Partial<Record<string, string>> = {};
  // No prototype, so that a field named `__proto__` is an ordinary field.
  const fields = Object.create(null) as Record<string, string>; // `Object.create` returns `any`.
  let regular = false;
  for (const [name, value] of lines) {
    if (BAD_VALUE.test(value)) return 'the value of a field has forbidden characters';
    if (name.startsWith(':')) {
      if (regular) return 'a pseudo-header field follows a regular field';
      if (!known.has(name)) return 'an unknown pseudo-header field';
      if (pseudo[name] !== undefined) return `${name} occurs twice`;
      pseudo[name] = value;
      continue;
    }
    regular = true;
    if (!NAME.test(name)) return 'the name of a field has forbidden characters';
    if (CONNECTION_FIELDS.has(name)) return `the field ${name} belongs to HTTP/1.1`;
    if (name === 'te' && value !== 'trailers') return 'the value of the field te is not trailers';
    const before = fields[name];
    // `te` has one allowed value, even if repeated.
    fields[name] = before === undefined || name === 'te' ? value : join(before, name === 'cookie' ? ';' : ',', value);
  }
  return { pseudo, fields };
}

/** Fields of the same name form one list (RFC 9110 section 5.3). An empty value adds no space, since no value may end with one. */
function join(before: string, separator: string, value: string): string {
  return value === '' ? `${before}${separator}` : `${before}${separator} ${value}`;
}

function append(lines: FieldLine[], fields: Fields): FieldLine[] {
  for (const name of Object.keys(fields)) {
    if (!NAME.test(name) || CONNECTION_FIELDS.has(name))
      throw new EarshotError('http2-usage', `${JSON.stringify(name)} is not a valid name of an HTTP/2 field`);
    lines.push([name, fields[name] ?? '']);
  }
  for (const [name, value] of lines)
    if (BAD_VALUE.test(value) || /[^\0-\xff]/.test(value))
      throw new EarshotError('http2-usage', `the value of ${name} is invalid in HTTP/2: ${JSON.stringify(value)}`);
  return lines;
}

function malformed(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
