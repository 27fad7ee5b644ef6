import { join } from 'node:path';
import { InTurn } from '../../work/in-turn.ts';
import type { Clock } from '../contract.ts';
import { TrustError } from '../errors.ts';
import { planRevocation, refuseEntry, withoutRevoked, withRevoked } from '../revocation.ts';
import type { Basis, IssuedEntry, Ledger, RevokedSite } from '../stores.ts';
import type { Disk } from '../../files/disk.ts';
import { removeDrafts, writeDurably } from '../../files/durable.ts';
import { realDisk } from './disk.ts';
import { damagedEntry, formatEntry, formatRevoked, MAX_ENTRY_BYTES, parseEntry, parseRevoked } from './ledger-files.ts';
import { acquireLock } from './lock.ts';

const ISSUED = 'issued.jsonl';
const REVOKED = 'revoked.yaml';
/** Of who is revoked: what a person has written, or had written. */
const MAX_BYTES = 64 * 1_048_576;
/** A command may have the lock for as long as a disk takes to sync. */
const LOCK_WAIT_MILLISECONDS = 10_000;
/** So many new ones, or as many as there were, before it is worth while to look for those that have ended. */
const COMPACT_AFTER = 100;

export interface LedgerOptions {
  readonly clock?: Clock;
  readonly disk?: Disk;
  /** Told of each damaged line once; nothing stops for it. */
  readonly onDamage?: (damage: TrustError) => void;
}

/** `directory` is the namespace's `internal/`. */
export async function openLedger(directory: string, options: LedgerOptions = {}): Promise<Ledger> {
  const ledger = new DirectoryLedger(directory, options);
  await ledger.open();
  return ledger;
}

/** Who is revoked, without taking part in what changes that. */
export function readRevoked(directory: string): Promise<readonly RevokedSite[]> {
  return new DirectoryLedger(directory, {}).revoked();
}

/** What was issued in `issued.jsonl`, who is revoked in `revoked.yaml`. Each change holds the lock `trust.lock`. */
class DirectoryLedger implements Ledger {
  readonly #directory: string;
  readonly #issued: string;
  readonly #revoked: string;
  readonly #clock: Clock;
  readonly #disk: Disk;
  readonly #turns = new InTurn();
  readonly #onDamage: (damage: TrustError) => void;
  readonly #toldOf = new Set<number>();
  #parsed: { readonly text: string; readonly revoked: readonly RevokedSite[] } | undefined;
  /** The file's name is on disk, not only its content. */
  #isNamed = false;
  /** Entries that this process may still write before the next look for ended ones. */
  #untilCompaction = COMPACT_AFTER;

  constructor(directory: string, { clock = Date.now, disk = realDisk, onDamage = () => {} }: LedgerOptions) {
    this.#directory = directory;
    this.#issued = join(directory, ISSUED);
    this.#revoked = join(directory, REVOKED);
    this.#clock = clock;
    this.#disk = disk;
    this.#onDamage = onDamage;
  }

  async open(): Promise<void> {
    await this.#disk.makeDirectory(this.#directory);
    await this.#locked(async () => {
      for (const file of [ISSUED, REVOKED]) await removeDrafts(this.#directory, this.#disk, file);
      await this.#compact();
    });
  }

  record(entry: IssuedEntry, basis?: Basis): Promise<void> {
    return this.#locked(async () => {
      refuseEntry(entry, await this.revoked(), basis);
      await this.#disk.appendLine(this.#issued, formatEntry(entry));
      if (!this.#isNamed) await this.#disk.syncDirectory(this.#directory);
      this.#isNamed = true;
      this.#untilCompaction -= 1;
      if (this.#untilCompaction <= 0) await this.#compact();
    });
  }

  async *issued(): AsyncGenerator<IssuedEntry> {
    for await (const { entry } of this.#entries()) if (entry !== undefined) yield entry;
  }

  async revoked(): Promise<readonly RevokedSite[]> {
    const text = (await this.#disk.read(this.#revoked, MAX_BYTES))?.toString('utf8');
    if (text === undefined) return [];
    // It is asked for at each renewal, redemption and look, and ten thousand serial numbers take a fifth of a second to parse.
    if (this.#parsed?.text !== text) this.#parsed = { text, revoked: parseRevoked(text, this.#revoked) };
    return this.#parsed.revoked;
  }

  revoke(site: string): Promise<RevokedSite> {
    return this.#locked(async () => {
      const before = await this.revoked();
      const revoked = await planRevocation(site, this.issued(), before, this.#clock());
      await this.#writeRevoked(withRevoked(before, revoked));
      return revoked;
    });
  }

  unrevoke(site: string): Promise<boolean> {
    return this.#locked(async () => {
      const before = await this.revoked();
      const after = await withoutRevoked(before, site, this.issued());
      if (after !== before) await this.#writeRevoked(after);
      return after !== before;
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

  async *#entries(): AsyncGenerator<{ readonly entry: IssuedEntry | undefined; readonly text: string }> {
    let number = 0;
    for await (const { text, isWhole } of this.#disk.lines(this.#issued, MAX_ENTRY_BYTES)) {
      number += 1;
      // A last line without its end was cut off by a crash: its certificate was not handed out.
      if (!isWhole) return;
      const entry = parseEntry(text);
      if (entry === undefined) this.#tell(number);
      yield { entry, text };
    }
  }

  #tell(line: number): void {
    if (this.#toldOf.has(line)) return;
    this.#toldOf.add(line);
    this.#onDamage(damagedEntry(this.#issued, line));
  }

  /**
   * Takes out what has ended, once that is most of it. Damaged lines stay: somebody may mend them. What cannot be read now is told to
   * whoever asks for what is in it, and keeps nobody from starting or from being let in.
   */
  async #compact(): Promise<void> {
    try {
      const counts = { all: 0, kept: 0 };
      for await (const _ of this.#kept(counts)) counts.kept += 1;
      if (counts.all >= COMPACT_AFTER && counts.kept <= counts.all / 2) {
        await writeDurably(this.#issued, this.#kept({ all: 0 }), 0o600, this.#disk);
        this.#toldOf.clear();
      }
      this.#untilCompaction = Math.max(COMPACT_AFTER, counts.kept);
    } catch (error) {
      if (!(error instanceof TrustError)) throw error;
      this.#untilCompaction = COMPACT_AFTER;
    }
  }

  async *#kept(counts: { all: number }): AsyncGenerator<string> {
    const now = this.#clock();
    for await (const { entry, text } of this.#entries()) {
      counts.all += 1;
      if (entry === undefined || entry.notAfter > now) yield `${text}\n`;
    }
  }
}
