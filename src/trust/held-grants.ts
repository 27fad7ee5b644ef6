import { isDeepStrictEqual } from 'node:util';
import { KeyedMutex } from '../work/keyed-mutex.ts';
import type { Clock } from './contract.ts';
import { TrustError } from './errors.ts';
import { checkCode, planGrant, planRedemption, refuseSpec, shown, type GrantRecord } from './grants.ts';
import { lastRevocation, refuseRedemption } from './revocation.ts';
import type { Grant, GrantSpec, GrantStore, KnownGrant, Ledger, RedeemAttempt } from './stores.ts';
import { isGrantName } from '../text/names.ts';

export interface HeldGrantsOptions {
  readonly ledger: Ledger;
  readonly clock?: Clock;
  readonly records?: Iterable<GrantRecord>;
  /** Errors of damaged records, by grant name. */
  readonly damaged?: Iterable<readonly [string, TrustError]>;
  readonly store?: GrantRecords;
  /** Grants by name, for specs without `GrantSpec.known`. */
  readonly known?: ReadonlyMap<string, KnownGrant>;
}

/** Storage of grants beyond the life of the process. */
export interface GrantRecords {
  save(record: GrantRecord): Promise<void>;
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Grants of one process, in memory. A change is stored before it takes effect. Changes run one after another, so two redemptions never
 * start from the same count.
 */
export class HeldGrants implements GrantStore {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #store: GrantRecords | undefined;
  readonly #known: Map<string, KnownGrant>;
  readonly #records: Map<string, GrantRecord>;
  readonly #damaged: Map<string, TrustError>;
  readonly #listeners = new Set<(grant: Grant) => void>();
  readonly #turns = new KeyedMutex();
  #isClosed = false;

  constructor({ ledger, clock = Date.now, records = [], damaged = [], store, known }: HeldGrantsOptions) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#store = store;
    this.#known = new Map(known);
    this.#records = new Map([...records].map((record) => [record.name, record]));
    this.#damaged = new Map(damaged);
  }

  get damaged(): readonly TrustError[] {
    return [...this.#damaged.values()];
  }

  get(name: string): Grant | undefined {
    const record = this.#records.get(name);
    return record === undefined ? undefined : shown(record);
  }

  list(): readonly Grant[] {
    return [...this.#records.values()].map(shown);
  }

  ensure(spec: GrantSpec): Promise<Grant> {
    return this.#turns.run('', async () => {
      refuseSpec(spec);
      this.#refuseDamaged(spec.name);
      const before = this.#records.get(spec.name);
      const last = before === undefined ? lastRevocation(await this.#ledger.revoked()) : '';
      const known = spec.known ?? this.#known.get(spec.name);
      const record = planGrant({ ...spec, ...(known === undefined ? {} : { known }) }, before, this.#clock(), last);
      if (!isDeepStrictEqual(before, record)) await this.#save(record);
      return shown(record);
    });
  }

  remove(name: string): Promise<void> {
    return this.#turns.run('', async () => {
      if (!isGrantName(name)) return;
      await this.#store?.remove(name);
      this.#records.delete(name);
      this.#known.delete(name);
      this.#damaged.delete(name);
    });
  }

  check(name: string, code: string): Grant {
    return shown(this.#check(name, code));
  }

  redeem(attempt: RedeemAttempt): Promise<Grant> {
    return this.#turns.run('', async () => {
      const before = this.#check(attempt.grant, attempt.code);
      refuseRedemption(attempt, before, await this.#ledger.revoked());
      const record = planRedemption(attempt, before, this.#clock());
      if (record !== before) {
        await this.#save(record);
        for (const listener of this.#listeners) listener(shown(record));
      }
      return shown(record);
    });
  }

  onChange(listener: (grant: Grant) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#turns.run('', async () => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      await this.#store?.close();
    });
  }

  #check(name: string, code: string): GrantRecord {
    this.#refuseDamaged(name);
    return checkCode(this.#records.get(name), name, code, this.#clock());
  }

  /** A change that could not be stored has no effect. */
  async #save(record: GrantRecord): Promise<void> {
    if (this.#isClosed) throw new TrustError('state-busy', "this process no longer serves the site's grants: it is about to stop");
    await this.#store?.save(record);
    this.#records.set(record.name, record);
  }

  #refuseDamaged(name: string): void {
    const problem = this.#damaged.get(name);
    if (problem !== undefined) throw problem;
  }
}
