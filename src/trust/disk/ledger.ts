import { join } from 'node:path';
import { InTurn } from '../../work/in-turn.ts';
import type { Clock } from '../contract.ts';
import { TrustError } from '../errors.ts';
import { planRevocation, refuseEntry, withoutRevoked, withRevoked } from '../revocation.ts';
import type { IssuedEntry, Ledger, RevokedSite } from '../stores.ts';
import type { Disk } from '../../files/disk.ts';
import { removeDrafts, writeDurably } from '../../files/durable.ts';
import { realDisk } from './disk.ts';
import { formatEntry, formatRevoked, parseIssued, parseRevoked } from './ledger-files.ts';
import { acquireLock } from './lock.ts';

const ISSUED = 'issued.jsonl';
const REVOKED = 'revoked.yaml';
/** Some 100 bytes a certificate: a site that renews every 20 days for 100,000 others stays within. */
const MAX_BYTES = 64 * 1_048_576;
/** A command may have the lock for as long as a disk takes to sync. */
const LOCK_WAIT_MILLISECONDS = 10_000;
const PRUNE_AFTER_ENTRIES = 1_000;

export interface LedgerOptions {
  readonly clock?: Clock;
  readonly disk?: Disk;
}

/** `directory` is the namespace's `internal/`. */
export async function openLedger(directory: string, options: LedgerOptions = {}): Promise<Ledger> {
  const ledger = new DirectoryLedger(directory, options);
  await ledger.open();
  return ledger;
}

/** What was issued in `issued.jsonl`, who is revoked in `revoked.yaml`. Each change holds the lock `trust.lock`. */
class DirectoryLedger implements Ledger {
  readonly #directory: string;
  readonly #issued: string;
  readonly #revoked: string;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #turns = new InTurn();
  /** The file's name is on disk, not only its content. */
  #isNamed = false;

  constructor(directory: string, { clock = Date.now, disk = realDisk }: LedgerOptions) {
    this.#directory = directory;
    this.#issued = join(directory, ISSUED);
    this.#revoked = join(directory, REVOKED);
    this.#clock = clock;
    this.#disk = disk;
  }

  async open(): Promise<void> {
    await this.#disk.makeDirectory(this.#directory);
    await this.#locked(async () => {
      for (const file of [ISSUED, REVOKED]) await removeDrafts(this.#directory, this.#disk, file);
      // Damage is told to whoever asks for what is in it; it must not keep the site from starting.
      await this.#prune().catch((error: unknown) => {
        if (!(error instanceof TrustError)) throw error;
      });
    });
  }

  record(entry: IssuedEntry): Promise<void> {
    return this.#locked(async () => {
      refuseEntry(entry, await this.revoked());
      await this.#disk.appendLine(this.#issued, formatEntry(entry));
      if (!this.#isNamed) await this.#disk.syncDirectory(this.#directory);
      this.#isNamed = true;
    });
  }

  async issued(): Promise<readonly IssuedEntry[]> {
    const bytes = await this.#disk.read(this.#issued, MAX_BYTES);
    return bytes === undefined ? [] : parseIssued(bytes.toString('utf8'), this.#issued);
  }

  async revoked(): Promise<readonly RevokedSite[]> {
    const bytes = await this.#disk.read(this.#revoked, MAX_BYTES);
    return bytes === undefined ? [] : parseRevoked(bytes.toString('utf8'), this.#revoked);
  }

  revoke(site: string): Promise<RevokedSite> {
    return this.#locked(async () => {
      const before = await this.revoked();
      const revoked = planRevocation(site, await this.issued(), before, this.#clock());
      await this.#writeRevoked(withRevoked(before, revoked));
      return revoked;
    });
  }

  unrevoke(site: string): Promise<boolean> {
    return this.#locked(async () => {
      const before = await this.revoked();
      const after = withoutRevoked(before, site);
      if (after.length < before.length) await this.#writeRevoked(after);
      return after.length < before.length;
    });
  }

  #locked<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run(this.#directory, async () => {
      await using _lock = await acquireLock(join(this.#directory, 'trust.lock'), LOCK_WAIT_MILLISECONDS);
      // Awaited here: the lock is given back at the end of this block.
      return await work();
    });
  }

  async #writeRevoked(revoked: readonly RevokedSite[]): Promise<void> {
    await writeDurably(this.#revoked, formatRevoked(revoked), 0o600, this.#disk);
  }

  async #prune(): Promise<void> {
    const all = await this.issued();
    const valid = all.filter(({ notAfter }) => notAfter > this.#clock());
    if (all.length < PRUNE_AFTER_ENTRIES || valid.length > all.length / 2) return;
    await writeDurably(this.#issued, valid.map((entry) => `${formatEntry(entry)}\n`).join(''), 0o600, this.#disk);
  }
}
