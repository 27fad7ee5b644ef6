/** State transitions of grants (pure). See `GrantStore`. */
import { limitTable } from '../limits/table.ts';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { TrustError } from './errors.ts';
import type { Grant, GrantSpec, RedeemAttempt } from './stores.ts';
import { quoted } from '../text/printable.ts';
import { isGrantName } from '../text/names.ts';

/** Stored record of a grant: the content of its status, and hashes of the certified keys. */
export interface GrantRecord extends Grant {
  readonly keyHashes: readonly string[];
}

/** Bounds the record, which has an entry for each redemption and is rewritten each time. */
const MAX_REDEMPTIONS = limitTable.redemptionsAllowed.value;
const MAX_CODE_CHARACTERS = limitTable.codeCharacters.value;
/** 160 bits. */
const CODE_BYTES = 20;

/**
 * Computes the record from the spec. The status (`spec.known`) is a second copy of the count and the expiry, so a lost or older record does
 * not permit more redemptions. The first call sets the time of creation and, unless the owner has set one, the code.
 * @param lastRevocation the last revocation before the grant is created
 */
export function planGrant(spec: GrantSpec, before: GrantRecord | undefined, now: number, lastRevocation: string): GrantRecord {
  const { known } = spec;
  const window = Math.round(spec.expirationWindowSeconds * 1_000);
  const created = before?.created ?? (known === undefined ? now : Math.min(now, known.expires - window));
  // For a lost record the last revocation before its creation is unknown: every revocation since its creation counts.
  const order = before === undefined ? (known === undefined ? lastRevocation : undefined) : before.lastRevocation;
  const kept = before !== undefined && !before.ownCode ? before.code : undefined;
  return {
    name: spec.name,
    code: spec.code ?? kept ?? randomBytes(CODE_BYTES).toString('base64url'),
    ...(spec.issuer === undefined ? {} : { issuer: spec.issuer }),
    redemptionsAllowed: spec.redemptionsAllowed,
    redemptions: Math.max(before?.redemptions ?? 0, known?.redemptions ?? 0),
    created,
    ...(order === undefined ? {} : { lastRevocation: order }),
    expires: created + window,
    redeemedBy: before?.redeemedBy ?? [],
    ownCode: spec.code !== undefined,
    keyHashes: before?.keyHashes ?? [],
  };
}

/** @throws TrustError `bad-argument` */
export function refuseSpec(spec: GrantSpec): void {
  const bad = (why: string): never => {
    throw new TrustError('bad-argument', `grant ${quoted(spec.name, 100)}: ${why}`);
  };
  if (!isGrantName(spec.name)) bad('the name must be a DNS name in lower case of at most 200 characters');
  if (spec.code !== undefined && (spec.code === '' || spec.code.length > MAX_CODE_CHARACTERS)) {
    bad(`spec.code must have 1 to ${MAX_CODE_CHARACTERS} characters`);
  }
  if (!Number.isSafeInteger(spec.redemptionsAllowed) || spec.redemptionsAllowed < 0 || spec.redemptionsAllowed > MAX_REDEMPTIONS) {
    bad(`spec.redemptionsAllowed must be a whole number from 0 to ${MAX_REDEMPTIONS}`);
  }
  if (!(spec.expirationWindowSeconds > 0) || spec.expirationWindowSeconds > 100 * 366 * 86_400) {
    bad('spec.expirationWindow must be more than 0 and at most 100 years');
  }
}

/** Checks the code first: without the code, a client learns only that the grant exists. */
export function checkCode(record: GrantRecord | undefined, name: string, code: string, now: number): GrantRecord {
  if (record === undefined) {
    throw unknownGrant(name);
  }
  if (!isSameCode(code, record.code)) {
    throw new TrustError(
      'token-wrong-code',
      `the code does not match grant ${name}: the token was edited, or the grant was created again. Ask for a new token`,
    );
  }
  if (now >= record.expires) {
    throw new TrustError('token-expired', `grant ${name} expired at ${new Date(record.expires).toISOString()}: ask for a new token`);
  }
  return record;
}

export function unknownGrant(name: string): TrustError {
  return new TrustError(
    'token-unknown-grant',
    `grant ${name} does not exist: it was deleted, or the token belongs to another site. Ask for a new token`,
  );
}

/** Constant time for any lengths. */
function isSameCode(given: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(right));
}

/** The same key of the same site counts as the same redemption, since a response may be lost. */
export function planRedemption(attempt: RedeemAttempt, grant: GrantRecord, now: number): GrantRecord {
  const earlier = grant.keyHashes.indexOf(attempt.keyHash);
  if (earlier !== -1 && grant.redeemedBy[earlier]?.siteId === attempt.siteId) return grant;
  if (grant.redemptions >= grant.redemptionsAllowed) {
    throw new TrustError(
      'token-used-up',
      `grant ${grant.name} is used up (${grant.redemptions} of ${grant.redemptionsAllowed} redemptions): ask for a new token`,
    );
  }
  return {
    ...grant,
    redemptions: grant.redemptions + 1,
    redeemedBy: [...grant.redeemedBy, { siteId: attempt.siteId, siteName: attempt.siteName, at: now }],
    keyHashes: [...grant.keyHashes, attempt.keyHash],
  };
}

/** Omits the hashes, which other modules do not need. */
export function shown({ keyHashes: _keyHashes, ...grant }: GrantRecord): Grant {
  return grant;
}
