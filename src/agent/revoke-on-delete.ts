import { EarshotError } from '../errors/earshot-error.ts';
import { certificateHolder, revocationsOf } from '../trust/revocation.ts';
import type { Ledger } from '../trust/stores.ts';

/** Milliseconds for which a resource must be absent. An editor may delete a file and write it again. */
const ABSENT_FOR = 400;

/**
 * Revokes the certificates of a Certificate resource after its deletion. The ledger shows which resources have issued certificates, so a
 * deletion while no process ran is found as well.
 */
export class RevokeOnDelete {
  readonly #ledger: Ledger;
  readonly #absentFor: number;
  /** Keys of resources with certificates, from the ledger. Undefined until it is read. */
  #given: Set<string> | undefined;
  /** Time since when a resource is absent, by key. */
  readonly #absent = new Map<string, number>();

  /** @param absentFor milliseconds for which a resource must be absent */
  constructor(ledger: Ledger, absentFor = ABSENT_FOR) {
    this.#ledger = ledger;
    this.#absentFor = absentFor;
  }

  /** @param resource key of the resource */
  gave(resource: string): void {
    if (resource.startsWith(PREFIX)) this.#given?.add(resource);
  }

  /**
   * @param present resources that exist, or may exist but are unreadable
   * @returns whether a resource is absent, so that the caller checks again soon
   */
  async step(present: ReadonlySet<string>, now: number): Promise<boolean> {
    this.#given ??= await this.#onRecord();
    for (const resource of this.#absent.keys()) if (present.has(resource)) this.#absent.delete(resource);
    for (const resource of this.#given) {
      if (present.has(resource)) continue;
      // The absolute value, because setting the clock back must not delay the revocation.
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
      // All certificates of the resource have expired and are no longer on record.
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
