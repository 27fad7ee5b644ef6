import type { GrantRecord } from '../grants.ts';
import { isRecord } from '../../text/is-record.ts';

export function formatGrant(record: GrantRecord): string {
  return `${JSON.stringify({ version: 1, ...record }, null, 1)}\n`;
}

/** @returns undefined if the text was not written by `formatGrant` */
export function parseGrant(text: string, name: string): GrantRecord | undefined {
  const value = parseJson(text);
  if (!isRecord(value)) return undefined;
  const { version, ...fields } = value;
  const { code, issuer, redemptionsAllowed, redemptions, created, lastRevocation, expires, redeemedBy, ownCode, keyHashes } = fields;
  const isWhole =
    version === 1 &&
    fields['name'] === name &&
    typeof code === 'string' &&
    code !== '' &&
    (issuer === undefined || typeof issuer === 'string') &&
    (lastRevocation === undefined || typeof lastRevocation === 'string') &&
    [redemptionsAllowed, redemptions, created, expires].every((number) => Number.isSafeInteger(number)) &&
    typeof ownCode === 'boolean' &&
    Array.isArray(keyHashes) &&
    keyHashes.every((hash) => typeof hash === 'string') &&
    Array.isArray(redeemedBy) &&
    redeemedBy.every(isRedeemer) &&
    keyHashes.length === redeemedBy.length &&
    Number(redemptions) >= redeemedBy.length;
  // Every field was checked above.
  return isWhole ? (fields as unknown as GrantRecord) : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRedeemer(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { siteId, siteName, at } = value;
  return typeof siteId === 'string' && typeof siteName === 'string' && Number.isSafeInteger(at);
}
