import { join } from 'node:path';
import type { Revocations } from '../identity/issued.ts';
import type { Clock } from './contract.ts';
import type { IssuedEntry, Ledger, RevokedSite } from './stores.ts';
import type { Disk } from '../files/disk.ts';
import { removeDrafts, writeDurably } from '../files/durable.ts';
import { realDisk } from './disk/disk.ts';
import { TrustError } from './errors.ts';
import { InTurn } from '../work/in-turn.ts';
import { formatEntry, formatRevoked, parseIssued, parseRevoked } from './disk/ledger-files.ts';
import { acquireLock } from './disk/lock.ts';
import { EarshotError } from '../errors/earshot-error.ts';

const ISSUED = 'issued.jsonl';
const REVOKED = 'revoked.yaml';
/** Some 100 bytes a certificate: a site that renews every 20 days for 100,000 others stays within. */
const MAX_BYTES = 64 * 1_048_576;
const LOCK_WAIT_MILLISECONDS = 10_000;
/** A command may have the lock for as long as a disk takes to sync. */
const PRUNE_AFTER_ENTRIES = 1_000;

export interface LedgerOptions {
  readonly clock?: Clock;
  readonly disk?: Disk;
}

/**
 * Opens the record of what was issued to other sites, and of those that are out. `directory` is the namespace's `internal/`.
 * Each change holds the lock `trust.lock`, so a certificate is either on record before its site is revoked, and revoked with
 * it, or refused.
 */
export async function openLedger(directory: string, options: LedgerOptions = {}): Promise<Ledger> {
  const { clock = Date.now, disk = realDisk } = options;
  await disk.makeDirectory(directory);
  const issuedPath = join(directory, ISSUED);
  const revokedPath = join(directory, REVOKED);
  const turns = new InTurn();
  /** The file's name is on disk, not only its content. */
  let isNamed = false;

  const locked = <T>(work: () => Promise<T>): Promise<T> =>
    turns.run(directory, async () => {
      await using _lock = await acquireLock(join(directory, 'trust.lock'), { waitMilliseconds: LOCK_WAIT_MILLISECONDS });
      // Awaited here: the lock is given back at the end of this block.
      return await work();
    });

  const readIssued = async (): Promise<readonly IssuedEntry[]> => {
    const bytes = await disk.read(issuedPath, MAX_BYTES);
    return bytes === undefined ? [] : parseIssued(bytes.toString('utf8'), issuedPath);
  };
  const readRevoked = async (): Promise<readonly RevokedSite[]> => {
    const bytes = await disk.read(revokedPath, MAX_BYTES);
    return bytes === undefined ? [] : parseRevoked(bytes.toString('utf8'), revokedPath);
  };
  const writeRevoked = async (revoked: readonly RevokedSite[]): Promise<void> => {
    await writeDurably(revokedPath, await formatRevoked(revoked), 0o600, disk);
  };

  const prune = async (): Promise<void> => {
    const all = await readIssued();
    const valid = all.filter(({ notAfter }) => notAfter > clock());
    if (all.length < PRUNE_AFTER_ENTRIES || valid.length > all.length / 2) return;
    await writeDurably(issuedPath, valid.map((entry) => `${formatEntry(entry)}\n`).join(''), 0o600, disk);
  };

  await locked(async () => {
    for (const file of [ISSUED, REVOKED]) await removeDrafts(directory, disk, file);
    // Damage is told to whoever asks for what is in it; it must not keep the site from starting.
    await prune().catch((error: unknown) => {
      if (!(error instanceof TrustError)) throw error;
    });
  });

  return {
    record: (entry) =>
      locked(async () => {
        refuseRevoked(entry, await readRevoked());
        await disk.appendLine(issuedPath, formatEntry(entry));
        if (!isNamed) await disk.syncDirectory(directory);
        isNamed = true;
      }),
    issued: readIssued,
    revoked: readRevoked,
    revoke: (site) =>
      locked(async () => {
        const before = await readRevoked();
        const revoked = planRevocation(site, await readIssued(), before, clock());
        await writeRevoked([...before.filter(({ name }) => name !== revoked.name), revoked]);
        return revoked;
      }),
    unrevoke: (site) =>
      locked(async () => {
        const before = await readRevoked();
        const after = before.filter(({ name, siteIds }) => name !== site && !siteIds.includes(site));
        if (after.length < before.length) await writeRevoked(after);
        return after.length < before.length;
      }),
  };
}

function refuseRevoked({ siteId, siteName }: IssuedEntry, revoked: readonly RevokedSite[]): void {
  if (siteId === undefined || !revoked.some(({ siteIds }) => siteIds.includes(siteId))) return;
  throw new TrustError(
    'revoked',
    `site ${siteName} (${siteId}) is revoked here: it gets no certificate until its revocation is taken back`,
  );
}

/**
 * All ids and serials on record under a name, or under an id's name. A name that sites of several ids have borne takes them
 * all out: a name is only what a site calls itself, and who revokes one wants nobody of that name left.
 */
export function planRevocation(site: string, issued: readonly IssuedEntry[], before: readonly RevokedSite[], now: number): RevokedSite {
  const byId = issued.filter(({ siteId }) => siteId === site);
  const name = byId.at(-1)?.siteName ?? site;
  const entries = byId.length > 0 ? byId : issued.filter(({ siteName }) => siteName === site);
  const earlier = before.find((one) => one.name === name || one.siteIds.includes(site));
  if (entries.length === 0 && earlier === undefined) {
    const names = [...new Set(issued.map(({ siteName }) => siteName))].sort();
    const known =
      names.length === 0 ? 'none was issued yet' : `they were issued to ${names.slice(0, 20).join(', ')}${names.length > 20 ? ', …' : ''}`;
    throw new EarshotError(
      'unknown-site',
      `no certificate of this site was ever issued to ${JSON.stringify(site.slice(0, 100))}: ${known}.`,
    );
  }
  return {
    name: earlier?.name ?? name,
    at: now,
    siteIds: distinct([...(earlier?.siteIds ?? []), ...entries.flatMap(({ siteId }) => (siteId === undefined ? [] : [siteId]))]),
    serials: distinct([...(earlier?.serials ?? []), ...entries.map(({ serial }) => serial)]),
  };
}

const distinct = (values: readonly string[]): readonly string[] => [...new Set(values)];

/** For a router's config. */
export function revocationsOf(revoked: readonly RevokedSite[]): Revocations {
  return { sites: distinct(revoked.flatMap(({ siteIds }) => siteIds)), serials: distinct(revoked.flatMap(({ serials }) => serials)) };
}
