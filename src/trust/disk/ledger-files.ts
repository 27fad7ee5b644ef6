import type { IssuedEntry, RevokedSite } from '../stores.ts';
import { TrustError } from '../errors.ts';
import { isRecord } from '../../text/is-record.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { parseWritten } from '../../text/yaml.ts';

/** One line of `issued.jsonl`. */
export function formatEntry({ siteName, siteId, serial, notAfter }: IssuedEntry): string {
  return JSON.stringify({ siteName, ...(siteId === undefined ? {} : { siteId }), serial, notAfter: new Date(notAfter).toISOString() });
}

/** A last line without its end was cut off by a crash: its certificate was not handed out. @throws TrustError `state-damaged` */
export function parseIssued(text: string, path: string): readonly IssuedEntry[] {
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  return whole
    .split('\n')
    .slice(0, -1)
    .map((line, index) => {
      const entry = parseEntry(line);
      if (entry !== undefined) return entry;
      throw new TrustError(
        'state-damaged',
        `${path} is damaged in line ${index + 1}, so not all certificates that were issued are known. Restore it from a backup; ` +
          'or remove the line: then the certificate that it named can only be revoked by its site id',
      );
    });
}

function parseEntry(line: string): IssuedEntry | undefined {
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

const HEADER =
  '# Sites that may not come back. Written by "earshot site revoke"; a person may read it, and change it while nothing else does.\n';

export function formatRevoked(revoked: readonly RevokedSite[]): string {
  return HEADER + writeYaml({ version: 1, revoked: revoked.map((site) => ({ ...site, at: new Date(site.at).toISOString() })) });
}

/** @throws TrustError `state-damaged`: to take an unreadable file for an empty one would let everyone back in */
export function parseRevoked(text: string, path: string): readonly RevokedSite[] {
  try {
    const document = parseWritten(text);
    const { version, revoked } = isRecord(document) ? document : {};
    if (version !== 1 || !Array.isArray(revoked)) throw new Error('it must hold "version: 1" and a list "revoked"');
    return revoked.map(parseRevokedSite);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TrustError(
      'state-damaged',
      `${path} is damaged: ${why}. Mend it or restore it from a backup: until then nobody can be let in or revoked`,
      error,
    );
  }
}

function parseRevokedSite(value: unknown, index: number): RevokedSite {
  const { name, at, siteIds, serials } = isRecord(value) ? value : {};
  const time = at instanceof Date ? at.getTime() : Date.parse(String(at));
  if (typeof name !== 'string' || Number.isNaN(time) || !isTexts(siteIds) || !isTexts(serials)) {
    throw new Error(`entry ${index + 1} of "revoked" must have name, at, siteIds and serials`);
  }
  return { name, at: time, siteIds, serials: serials.map((serial) => serial.toUpperCase()) };
}

const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((one) => typeof one === 'string');
