import { EarshotError } from '../errors/earshot-error.ts';
import { certificateHolder, revocationsOf } from '../trust/revocation.ts';
import type { Ledger } from '../trust/stores.ts';

/** Milliseconds: whoever edits a resource may take it away and put it back. */
const ABSENT_FOR = 400;

/**
 * What a Certificate gave is refused once the Certificate is gone. Which have given something is on record, so one that went while
 * nothing ran is missed as well.
 */
export class RevokeOnDelete {
  readonly #ledger: Ledger;
  readonly #absentFor: number;
  /** Resources, as on record. Undefined: read it. */
  #given: Set<string> | undefined;
  /** Since when. */
  readonly #absent = new Map<string, number>();

  /** @param absentFor milliseconds for which one must be missing */
  constructor(ledger: Ledger, absentFor = ABSENT_FOR) {
    this.#ledger = ledger;
    this.#absentFor = absentFor;
  }

  /** @param resource its key */
  gave(resource: string): void {
    if (resource.startsWith(PREFIX)) this.#given?.add(resource);
  }

  /**
   * @param present resources that are there, or of which nobody knows
   * @returns whether one is missing, so that it is to be looked again soon
   */
  async step(present: ReadonlySet<string>, now: number): Promise<boolean> {
    this.#given ??= await this.#onRecord();
    for (const resource of this.#absent.keys()) if (present.has(resource)) this.#absent.delete(resource);
    for (const resource of this.#given) {
      if (present.has(resource)) continue;
      // Either way: a clock that is set back must not hold it up.
      if (Math.abs(now - this.#absent.getOrInsert(resource, now)) < this.#absentFor) continue;
      await this.#revoke(resource);
      this.#given.delete(resource);
      this.#absent.delete(resource);
    }
    return this.#absent.size > 0;
  }

  async #revoke(resource: string): Promise<void> {
    try {
      await this.#ledger.revoke(resource);
    } catch (error) {
      // All of it has ended, and is off the record.
      if (!(error instanceof EarshotError) || error.code !== 'unknown-site') throw error;
    }
  }

  async #onRecord(): Promise<Set<string>> {
    const revoked = new Set(revocationsOf(await this.#ledger.revoked()).serials);
    const given = new Set<string>();
    for await (const { siteName, serial } of this.#ledger.issued()) {
      if (siteName.startsWith(PREFIX) && !revoked.has(serial)) given.add(siteName);
    }
    return given;
  }
}

const PREFIX = certificateHolder('');
