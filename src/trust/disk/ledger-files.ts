import type { IssuedEntry, RevokedSite } from '../stores.ts';
import { TrustError } from '../errors.ts';
import { isRecord } from '../../text/is-record.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { parseWritten } from '../../text/yaml.ts';

/** Formats one line of `issued.jsonl`. */
export function formatEntry({ siteName, siteId, serial, notAfter }: IssuedEntry): string {
  return JSON.stringify({ siteName, ...(siteId === undefined ? {} : { siteId }), serial, notAfter: new Date(notAfter).toISOString() });
}

/** @returns undefined if the line is damaged */
export function parseEntry(line: string): IssuedEntry | undefined {
  const value = parseJson(line);
  if (!isRecord(value)) return undefined;
  const { siteName, siteId, serial, notAfter } = value;
  const end = typeof notAfter === 'string' ? Date.parse(notAfter) : Number.NaN;
  if (typeof siteName !== 'string' || typeof serial !== 'string' || Number.isNaN(end)) return undefined;
  if (siteId !== undefined && typeof siteId !== 'string') return undefined;
  return { siteName, ...(siteId === undefined ? {} : { siteId }), serial, notAfter: end };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Longer than any line that Earshot writes. */
export const MAX_ENTRY_BYTES = 4_096;

export const damagedEntry = (path: string, line: number): TrustError =>
  new TrustError(
    'state-damaged',
    `${path} is damaged in line ${line}, so the certificate of that line is unknown; the others are known. Restore the file from a ` +
      'backup, or delete the line; if it was for a site that must not connect, revoke that site by its ID',
  );

const HEADER = '# Revoked sites. Written by "earshot site revoke". You may edit this file while no process of the site runs.\n';

/** List of revoked sites, in the order of revocation. */
export interface RevocationList {
  /** Number of changes so far. Undefined if the file was written by an earlier version, or is truncated. */
  readonly sequence?: number;
  readonly revoked: readonly RevokedSite[];
}

/** The sequence number is the last line, so a truncated file has none. */
export function formatRevoked({ sequence = 0, revoked }: RevocationList): string {
  return HEADER + writeYaml({ version: 1, revoked: revoked.map(revokedText), sequence });
}

/** Formats the time as text. */
export const revokedText = (site: RevokedSite): Omit<RevokedSite, 'at'> & { readonly at: string } => ({
  ...site,
  at: new Date(site.at).toISOString(),
});

/**
 * @param longestByHand maximum number of characters of a file that is not in the form of `formatRevoked`. Parsing arbitrary YAML takes one
 * second for half a megabyte
 * @throws TrustError `state-damaged`: treating an unreadable file as empty would lift every revocation
 */
export function parseRevoked(text: string, path: string, longestByHand = Number.POSITIVE_INFINITY): RevocationList {
  try {
    const written = readWritten(text);
    if (written !== undefined) return { ...written, revoked: written.revoked.map(parseRevokedSite) };
    if (text.length > longestByHand)
      throw new Error(`Earshot did not write it in this form, and it has more than ${longestByHand} characters`);
    const document = parseWritten(text);
    const { version, revoked, sequence } = isRecord(document) ? document : {};
    if (version !== 1 || !Array.isArray(revoked)) throw new Error('it must contain "version: 1" and a list "revoked"');
    return { ...(typeof sequence === 'number' ? { sequence } : {}), revoked: revoked.map(parseRevokedSite) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TrustError(
      'state-damaged',
      `${path} is damaged: ${why}. Correct it or restore it from a backup: until then no site can be accepted or revoked`,
      error,
    );
  }
}

/**
 * Parses the output of `formatRevoked` line by line.
 * @returns undefined if the text has another form, which may still be valid YAML
 */
function readWritten(text: string): { readonly revoked: readonly unknown[]; readonly sequence?: number } | undefined {
  const [version, list, ...lines] = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const [, digits] = SEQUENCE.exec(lines.at(-1) ?? '') ?? [];
  if (digits !== undefined) lines.pop();
  const numbered = digits === undefined ? {} : { sequence: Number(digits) };
  if (version !== 'version: 1') return undefined;
  if (list === 'revoked: []') return lines.length === 0 ? { revoked: [], ...numbered } : undefined;
  if (list !== 'revoked:') return undefined;
  const sites: Record<string, unknown>[] = [];
  let texts: string[] | undefined;
  for (const line of lines) {
    const [, begin, item, key, value = ''] = LINE.exec(line) ?? [];
    const site = sites.at(-1);
    const scalar = readScalar(item ?? value);
    if (item !== undefined) {
      if (texts === undefined || scalar === undefined) return undefined;
      texts.push(scalar);
      continue;
    }
    if (key === undefined || (begin === undefined && site === undefined)) return undefined;
    const fields = begin === undefined ? site : {};
    if (fields === undefined || Object.hasOwn(fields, key)) return undefined;
    if (begin !== undefined) sites.push(fields);
    texts = value === '' ? [] : undefined;
    const read = texts ?? (value === '[]' ? [] : scalar);
    if (read === undefined) return undefined;
    fields[key] = read;
  }
  return { revoked: sites, ...numbered };
}

/** Pattern of the last line. A truncated number must not count. */
const SEQUENCE = /^sequence: (\d{1,15})$/;

/** Matches `- key: value` and `  key: value` of a site, and `    - item` of one of its lists. */
const LINE = /^(?:(- )|  )(?:- (.+)|(name|at|siteIds|serials):(?: (.+))?)$/;

/** Parses a string as `writeYaml` writes it, with or without quotes. */
function readScalar(text: string): string | undefined {
  if (!text.startsWith('"')) return /^[A-Za-z][A-Za-z0-9./-]*$/.test(text) && !WORD.test(text) ? text : undefined;
  const value = parseJson(text);
  return typeof value === 'string' ? value : undefined;
}

/** Words that some YAML parsers do not treat as strings. */
const WORD = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

/** @throws Error that names the problem */
export function parseRevokedSite(value: unknown, index: number): RevokedSite {
  const { name, at, siteIds, serials } = isRecord(value) ? value : {};
  const time = at instanceof Date ? at.getTime() : Date.parse(String(at));
  if (typeof name !== 'string' || Number.isNaN(time) || !isTexts(siteIds) || !isTexts(serials)) {
    throw new Error(`entry ${index + 1} of "revoked" must have name, at, siteIds and serials`);
  }
  return { name, at: time, siteIds, serials: serials.map((serial) => serial.toUpperCase()) };
}

const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((one) => typeof one === 'string');
