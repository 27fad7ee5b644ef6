import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../contract.ts';
import type { TrustProblem } from '../errors.ts';
import type { Grant, GrantSpec, GrantStore, Ledger, RedeemAttempt, RevokedSite } from '../stores.ts';
import type { Disk } from '../../files/disk.ts';
import { removeDrafts, writeDurably } from '../../files/durable.ts';
import { realDisk } from './disk.ts';
import { TrustError } from '../errors.ts';
import { formatGrant, parseGrant, shown, type GrantRecord } from './grant-file.ts';
import { InTurn } from '../../work/in-turn.ts';
import { acquireLock } from './lock.ts';

/** A file holds a line for each redemption and is written anew at each. */
const MAX_REDEMPTIONS = 10_000;
const MAX_FILE_BYTES = 8 * 1_048_576;
const MAX_CODE_CHARACTERS = 1_024;
/** 160 bits. */
const CODE_BYTES = 20;
const EXTENSION = '.json';

export interface GrantStoreOptions {
  readonly ledger: Ledger;
  readonly clock?: Clock;
  readonly disk?: Disk;
}

/** Takes the directory for this process. @throws TrustError `state-busy` with the other's pid */
export async function openGrantStore(directory: string, options: GrantStoreOptions): Promise<GrantStore> {
  const { ledger, clock = Date.now, disk = realDisk } = options;
  await disk.makeDirectory(directory);
  const lock = await acquireLock(join(directory, 'store.lock'));
  const records = new Map<string, GrantRecord>();
  const damaged = new Map<string, TrustProblem>();
  const listeners = new Set<(grant: Grant) => void>();
  let isClosed = false;
  const turns = new InTurn();
  const pathOf = (name: string): string => join(directory, `${name}${EXTENSION}`);

  try {
    await removeDrafts(directory, disk);
    for (const file of await disk.names(directory)) {
      const name = file.slice(0, -EXTENSION.length);
      if (!file.endsWith(EXTENSION) || !isGrantName(name)) continue;
      const found = await readGrant(disk, pathOf(name), name);
      if ('problem' in found) damaged.set(name, found.problem);
      else records.set(name, found.record);
    }
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }

  /** On disk first; what was not written did not happen. */
  const save = async (record: GrantRecord): Promise<void> => {
    if (isClosed) throw new TrustError('state-busy', `the grants in ${directory} are no longer this process's: it is about to stop`);
    await writeDurably(pathOf(record.name), formatGrant(record), 0o600, disk);
    records.set(record.name, record);
  };
  const refuseDamaged = (name: string): void => {
    const problem = damaged.get(name);
    if (problem !== undefined) throw new TrustError(problem.code, problem.message);
  };
  const check = (name: string, code: string): GrantRecord => {
    refuseDamaged(name);
    return checkCode(records.get(name), name, code, clock());
  };

  return {
    ensure: (spec) =>
      turns.run(directory, async () => {
        refuseSpec(spec);
        refuseDamaged(spec.name);
        const before = records.get(spec.name);
        const record = planGrant(spec, before, clock());
        if (before === undefined || formatGrant(before) !== formatGrant(record)) await save(record);
        return shown(record);
      }),
    get: (name) => optionally(records.get(name)),
    list: () => [...records.values()].map(shown),
    remove: (name) =>
      turns.run(directory, async () => {
        if (!isGrantName(name)) return;
        await disk.remove(pathOf(name));
        await disk.syncDirectory(directory);
        records.delete(name);
        damaged.delete(name);
      }),
    get damaged() {
      return [...damaged.values()];
    },
    check: (name, code) => shown(check(name, code)),
    redeem: (attempt) =>
      turns.run(directory, async () => {
        const before = check(attempt.grant, attempt.code);
        refuseRevoked(attempt, before, await ledger.revoked());
        const record = planRedemption(attempt, before, clock());
        if (record !== before) {
          await save(record);
          for (const listener of listeners) listener(shown(record));
        }
        return shown(record);
      }),
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    [Symbol.asyncDispose]: () =>
      turns.run(directory, async () => {
        if (isClosed) return;
        isClosed = true;
        await lock[Symbol.asyncDispose]();
      }),
  };
}

const optionally = (record: GrantRecord | undefined): Grant | undefined => (record === undefined ? undefined : shown(record));

/** The name becomes a file and a part of a URL. RFC 1123, as names of resources are. */
export const isGrantName = (name: string): boolean =>
  name.length <= 200 && /^[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?$/.test(name) && !name.includes('..');

async function readGrant(
  disk: Disk,
  path: string,
  name: string,
): Promise<{ readonly record: GrantRecord } | { readonly problem: TrustProblem }> {
  try {
    const record = parseGrant((await disk.read(path, MAX_FILE_BYTES))?.toString('utf8') ?? '', name);
    if (record !== undefined) return { record };
    const message =
      `${path} is damaged, so nobody knows how often grant ${name} was redeemed, and it is refused. Restore the file from a backup; ` +
      'or remove it and restart the site: the grant then has a new code, and its time and count begin anew';
    return { problem: { code: 'state-damaged', message } };
  } catch (error) {
    if (error instanceof TrustError) return { problem: error.problem };
    throw error;
  }
}

function refuseSpec(spec: GrantSpec): void {
  const bad = (why: string): never => {
    throw new TrustError('bad-argument', `grant ${JSON.stringify(spec.name.slice(0, 100))}: ${why}`);
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

/** The first time decides when it was made and, without a code of the owner's, its code. */
export function planGrant(spec: GrantSpec, before: GrantRecord | undefined, now: number): GrantRecord {
  const created = before?.created ?? now;
  const kept = before !== undefined && !before.ownCode ? before.code : undefined;
  return {
    name: spec.name,
    code: spec.code ?? kept ?? randomBytes(CODE_BYTES).toString('base64url'),
    ...(spec.issuer === undefined ? {} : { issuer: spec.issuer }),
    redemptionsAllowed: spec.redemptionsAllowed,
    redemptions: before?.redemptions ?? 0,
    created,
    expires: created + Math.round(spec.expirationWindowSeconds * 1_000),
    redeemedBy: before?.redeemedBy ?? [],
    ownCode: spec.code !== undefined,
    keyHashes: before?.keyHashes ?? [],
  };
}

/** The code comes first: without it, nobody is told more of a grant than that it is there. */
function checkCode(record: GrantRecord | undefined, name: string, code: string, now: number): GrantRecord {
  if (record === undefined) {
    throw new TrustError(
      'token-unknown-grant',
      `there is no grant ${name}: it was deleted, or the token is of another site. Ask for a new token`,
    );
  }
  if (!isSameCode(code, record.code)) {
    throw new TrustError(
      'token-wrong-code',
      `the code is not that of grant ${name}: the token was edited, or the grant was made anew. Ask for a new token`,
    );
  }
  if (now >= record.expires) {
    throw new TrustError('token-expired', `grant ${name} expired at ${new Date(record.expires).toISOString()}: ask for a new token`);
  }
  return record;
}

/** In constant time, whatever the lengths. */
function isSameCode(given: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(right));
}

/** See `Ledger.revoke` for who is kept out. */
export function refuseRevoked(attempt: RedeemAttempt, grant: Grant, revoked: readonly RevokedSite[]): void {
  const isOut = (siteId: string): boolean => revoked.some(({ siteIds }) => siteIds.includes(siteId));
  if (isOut(attempt.siteId)) {
    throw new TrustError(
      'revoked',
      `site ${attempt.siteName} (${attempt.siteId}) is revoked: no token lets it in until its revocation is taken back`,
    );
  }
  const older = revoked.find(({ name, at }) => name === attempt.siteName && at >= grant.created);
  if (older !== undefined) {
    throw new TrustError(
      'revoked',
      `a site named ${attempt.siteName} was revoked after grant ${grant.name} was made: ask for a token of a new grant`,
    );
  }
  if (grant.redeemedBy.some(({ siteId }) => isOut(siteId))) {
    throw new TrustError(
      'revoked',
      `a site that had used grant ${grant.name} was revoked, and may have the token still: ask for a token of a new grant`,
    );
  }
}

/** The same key of the same site again is the same redemption, for an answer may be lost on its way. */
export function planRedemption(attempt: RedeemAttempt, grant: GrantRecord, now: number): GrantRecord {
  const earlier = grant.keyHashes.indexOf(attempt.keyHash);
  if (earlier !== -1 && grant.redeemedBy[earlier]?.siteId === attempt.siteId) return grant;
  if (grant.redemptions >= grant.redemptionsAllowed) {
    throw new TrustError(
      'token-used-up',
      `grant ${grant.name} was redeemed ${grant.redemptions} times of ${grant.redemptionsAllowed} allowed: ask for a new token`,
    );
  }
  return {
    ...grant,
    redemptions: grant.redemptions + 1,
    redeemedBy: [...grant.redeemedBy, { siteId: attempt.siteId, siteName: attempt.siteName, at: now }],
    keyHashes: [...grant.keyHashes, attempt.keyHash],
  };
}
