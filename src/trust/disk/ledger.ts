import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { KeyedMutex } from '../../work/keyed-mutex.ts';
import type { Clock } from '../contract.ts';
import { TrustError } from '../errors.ts';
import { planRevocation, refuseEntry, withoutRevoked, withRevoked, type NetworkSite } from '../revocation.ts';
import type { AnchoredLedger, Basis, IssuedEntry, LedgerFinding, RevokedSite } from '../stores.ts';
import type { Disk } from '../../files/disk.ts';
import { removeDrafts, writeDurably } from '../../files/durable.ts';
import { realDisk } from './disk.ts';
import { currentRevocations, ledgerFindings, withIssued, withRecordSeen, type CurrentRevocations } from '../anchor.ts';
import { ANCHOR, AnchorFile } from './anchor-file.ts';
import {
  damagedEntry,
  formatEntry,
  formatRevoked,
  MAX_ENTRY_BYTES,
  parseEntry,
  parseRevoked,
  type RevocationList,
} from './ledger-files.ts';
import { lockTrust } from './lock.ts';

const ISSUED = 'issued.jsonl';
const REVOKED = 'revoked.yaml';
/** Maximum size of the list of revoked sites, which users cause to grow. */
const MAX_BYTES = 64 * 1_048_576;
/** Minimum number of new entries before the record is scanned for expired ones. It must also have doubled since the last scan. */
const COMPACT_AFTER = 100;

export interface LedgerOptions {
  readonly clock?: Clock;
  readonly disk?: Disk;
  /** Other sites of the network. `revoke` also accepts their names. */
  readonly network?: readonly NetworkSite[];
  /** Called once for each damaged line. Damage does not stop anything. */
  readonly onDamage?: (damage: TrustError) => void;
}

/** @param directory the namespace's `internal/` */
export async function openLedger(directory: string, options: LedgerOptions = {}): Promise<AnchoredLedger> {
  const ledger = new DirectoryLedger(directory, options);
  await ledger.open();
  return ledger;
}

/** Reads the list of revoked sites without taking the lock. */
export function readRevoked(directory: string): Promise<readonly RevokedSite[]> {
  return new DirectoryLedger(directory, {}).revoked();
}

/**
 * Ledger in a directory: issued certificates in `issued.jsonl`, revoked sites in `revoked.yaml`. Each change holds the lock `trust.lock`.
 */
class DirectoryLedger implements AnchoredLedger {
  readonly #directory: string;
  readonly #issued: string;
  readonly #revoked: string;
  readonly #clock: Clock;
  readonly #network: readonly NetworkSite[];
  readonly #disk: Disk;
  readonly #turns = new KeyedMutex();
  readonly #onDamage: (damage: TrustError) => void;
  readonly #notifiedOf = new Set<number>();
  readonly #anchor: AnchorFile;
  #parsed: { readonly text: string; readonly list: RevocationList } | undefined;
  /** Stamp of the record when `mend` last read it. */
  #lookedAt: string | undefined;
  /** The directory entry of the file is synced, not only its content. */
  #isNamed = false;
  /** Number of entries that this process may write before the next compaction. */
  #untilCompaction = COMPACT_AFTER;

  constructor(directory: string, { clock = Date.now, disk = realDisk, network = [], onDamage = () => {} }: LedgerOptions) {
    this.#directory = directory;
    this.#issued = join(directory, ISSUED);
    this.#revoked = join(directory, REVOKED);
    this.#clock = clock;
    this.#network = network;
    this.#disk = disk;
    this.#onDamage = onDamage;
    this.#anchor = new AnchorFile(directory, disk);
  }

  async open(): Promise<void> {
    await this.#disk.makeDirectory(this.#directory);
    await this.#locked(async () => {
      for (const file of [ISSUED, REVOKED, ANCHOR]) await removeDrafts(this.#directory, this.#disk, file);
      await this.#compact();
    });
  }

  record(entry: IssuedEntry, basis?: Basis): Promise<void> {
    return this.#locked(async () => {
      refuseEntry(entry, await this.revoked(), basis);
      await this.#disk.appendLine(this.#issued, formatEntry(entry));
      if (!this.#isNamed) await this.#disk.syncDirectory(this.#directory);
      this.#isNamed = true;
      await this.#anchor.changeLocked((anchor) => withIssued(anchor, entry));
      this.#untilCompaction -= 1;
      if (this.#untilCompaction <= 0) await this.#compact();
    });
  }

  async *issued(): AsyncGenerator<IssuedEntry> {
    for await (const { entry } of this.#entries()) if (entry !== undefined) yield entry;
  }

  async revoked(): Promise<readonly RevokedSite[]> {
    return (await this.#current()).list.revoked;
  }

  revoke(site: string): Promise<RevokedSite> {
    return this.#locked(async () => {
      const before = (await this.#current()).list;
      const revoked = await planRevocation(site, this.issued(), before.revoked, this.#clock(), this.#network);
      await this.#writeRevoked({ sequence: before.sequence + 1, revoked: withRevoked(before.revoked, revoked) });
      return revoked;
    });
  }

  unrevoke(site: string): Promise<boolean> {
    return this.#locked(async () => {
      const before = (await this.#current()).list;
      const after = await withoutRevoked(before.revoked, site, this.issued());
      if (after !== before.revoked) await this.#writeRevoked({ sequence: before.sequence + 1, revoked: after });
      return after !== before.revoked;
    });
  }

  async mend(): Promise<readonly LedgerFinding[]> {
    const now = this.#clock();
    const { list, isRestored } = await this.#current();
    const anchor = await this.#anchor.get();
    const isNews = isRestored || !isDeepStrictEqual(anchor.revocations, list) || (await this.#recordStamp()) !== this.#lookedAt;
    if (isNews) await this.#locked(() => this.#mend(now));
    const state = isNews ? await this.#anchor.get() : anchor;
    return ledgerFindings(state, { location: this.#directory, anchor: this.#anchor.location, now });
  }

  async #mend(now: number): Promise<void> {
    const { list, isRestored } = await this.#current();
    if (isRestored) await writeDurably(this.#revoked, formatRevoked(list), 0o600, this.#disk);
    const before = await this.#anchor.get();
    const marks = new Set([before.lost?.serial, before.issued?.serial]);
    const found = new Set<string>();
    let last: IssuedEntry | undefined;
    for await (const entry of this.issued()) {
      if (marks.has(entry.serial)) found.add(entry.serial);
      last = entry;
    }
    await this.#anchor.changeLocked((anchor) => {
      const seen = withRecordSeen(anchor, (serial) => found.has(serial), now);
      const next = last === undefined || last.serial === seen.issued?.serial ? seen : withIssued(seen, last);
      return { ...next, revocations: list, ...(isRestored ? { restored: now } : {}) };
    });
    this.#lookedAt = await this.#recordStamp();
  }

  /** Changes whenever the record changes, or the marks in the anchor that refer to it. */
  async #recordStamp(): Promise<string> {
    const { ino, size, mtimeMs } = await stat(this.#issued).catch(() => ({ ino: 0, size: 0, mtimeMs: 0 }));
    const { lost, issued } = await this.#anchor.get();
    return JSON.stringify([ino, size, mtimeMs, lost, issued]);
  }

  /** Returns the valid list: the one in the file, or the newer copy in the anchor. */
  async #current(): Promise<CurrentRevocations> {
    const text = (await this.#disk.read(this.#revoked, MAX_BYTES))?.toString('utf8');
    // Each renewal, redemption and scan needs the list. Parsing ten thousand serial numbers takes 0.2 s.
    if (text !== undefined && this.#parsed?.text !== text) this.#parsed = { text, list: parseRevoked(text, this.#revoked) };
    return currentRevocations(text === undefined ? undefined : this.#parsed?.list, await this.#anchor.get());
  }

  #locked<T>(work: () => Promise<T>): Promise<T> {
    return this.#turns.run(this.#directory, async () => {
      await using _lock = await lockTrust(this.#directory);
      // Awaited here because the lock is released at the end of this block.
      return await work();
    });
  }

  /** Writes the file before its copy in the anchor: until the copy is written, the file has the higher number. */
  async #writeRevoked(list: Required<RevocationList>): Promise<void> {
    await writeDurably(this.#revoked, formatRevoked(list), 0o600, this.#disk);
    await this.#anchor.changeLocked((anchor) => ({ ...anchor, revocations: list }));
  }

  async *#entries(): AsyncGenerator<{ readonly entry: IssuedEntry | undefined; readonly text: string }> {
    let number = 0;
    for await (const { text, isWhole } of this.#disk.lines(this.#issued, MAX_ENTRY_BYTES)) {
      number += 1;
      // A crash cut off the last line, and its certificate was not handed out.
      if (!isWhole) return;
      const entry = parseEntry(text);
      if (entry === undefined) this.#notify(number);
      yield { entry, text };
    }
  }

  #notify(line: number): void {
    if (this.#notifiedOf.has(line)) return;
    this.#notifiedOf.add(line);
    this.#onDamage(damagedEntry(this.#issued, line));
  }

  /**
   * Removes expired entries once they are at least half of the record. Damaged lines stay, since a person may repair them. An unreadable
   * record is reported to callers that need its content. It does not prevent the process from starting or sites from being admitted.
   */
  async #compact(): Promise<void> {
    try {
      const counts = { all: 0, kept: 0 };
      for await (const _ of this.#kept(counts)) counts.kept += 1;
      if (counts.all >= COMPACT_AFTER && counts.kept <= counts.all / 2) {
        await writeDurably(this.#issued, this.#kept({ all: 0 }), 0o600, this.#disk);
        this.#notifiedOf.clear();
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
