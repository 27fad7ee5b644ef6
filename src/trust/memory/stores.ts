/** What a site keeps of its trust, in memory: for engines whose state need not outlive them. */
import type { TlsBundle } from '../../identity/tls-bundle.ts';
import { createKey } from '../../x509/request.ts';
import type { Clock } from '../contract.ts';
import { planRevocation, refuseEntry, withoutRevoked, withRevoked } from '../revocation.ts';
import { refuseName, type Bundles, type IssuedEntry, type Ledger, type PendingKeys, type RevokedSite } from '../stores.ts';

/** Grants need nothing more than `HeldGrants`. */
export { HeldGrants as MemoryGrantStore } from '../held-grants.ts';

export class MemoryBundles implements Bundles {
  readonly #bundles = new Map<string, TlsBundle>();

  locationOf(name: string): string {
    refuseName(name);
    return `the memory of this process, under ${name}`;
  }

  async get(name: string): Promise<TlsBundle | undefined> {
    refuseName(name);
    return this.#bundles.get(name);
  }

  async names(): Promise<readonly string[]> {
    return [...this.#bundles.keys()].sort();
  }

  async put(bundle: TlsBundle): Promise<void> {
    refuseName(bundle.name);
    this.#bundles.set(bundle.name, bundle);
  }

  async make(name: string, make: () => TlsBundle): Promise<TlsBundle> {
    refuseName(name);
    return this.#bundles.getOrInsertComputed(name, make);
  }
}

export class MemoryLedger implements Ledger {
  readonly #clock: Clock;
  readonly #issued: IssuedEntry[] = [];
  #revoked: readonly RevokedSite[] = [];

  constructor(clock: Clock = Date.now) {
    this.#clock = clock;
  }

  async record(entry: IssuedEntry): Promise<void> {
    refuseEntry(entry, this.#revoked);
    this.#issued.push(entry);
  }

  async issued(): Promise<readonly IssuedEntry[]> {
    return [...this.#issued];
  }

  async revoked(): Promise<readonly RevokedSite[]> {
    return this.#revoked;
  }

  async revoke(site: string): Promise<RevokedSite> {
    const revoked = planRevocation(site, this.#issued, this.#revoked, this.#clock());
    this.#revoked = withRevoked(this.#revoked, revoked);
    return revoked;
  }

  async unrevoke(site: string): Promise<boolean> {
    const before = this.#revoked;
    this.#revoked = withoutRevoked(before, site);
    return this.#revoked.length < before.length;
  }
}

export class MemoryPendingKeys implements PendingKeys {
  readonly #keys = new Map<string, string>();

  async keyFor(name: string): Promise<string> {
    refuseName(name);
    return this.#keys.getOrInsertComputed(name, createKey);
  }

  async drop(name: string): Promise<void> {
    refuseName(name);
    this.#keys.delete(name);
  }
}
