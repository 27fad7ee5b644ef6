/** Stores of a site's trust in memory. */
import type { TlsBundle } from '../../../../src/identity/tls-bundle.ts';
import { noAnchor, type Anchor, type AnchorStore } from '../../../../src/trust/anchor.ts';
import { createKey } from '../../../../src/x509/request.ts';
import type { Clock } from '../../../../src/trust/contract.ts';
import { planRevocation, refuseEntry, withoutRevoked, withRevoked } from '../../../../src/trust/revocation.ts';
import {
  refuseName,
  type Basis,
  type Bundles,
  type BundleSet,
  type IssuedEntry,
  type AnchoredLedger,
  type PendingKeys,
  type RevokedSite,
} from '../../../../src/trust/stores.ts';

/** Grants need nothing more than `HeldGrants`. */
export { HeldGrants as MemoryGrantStore } from '../../../../src/trust/held-grants.ts';

export class MemoryBundles implements Bundles {
  #latest: BundleSet = { bundles: new Map(), unreadable: new Map() };

  locationOf(name: string): string {
    refuseName(name);
    return `the memory of this process, under ${name}`;
  }

  async get(name: string): Promise<TlsBundle | undefined> {
    refuseName(name);
    return this.#latest.bundles.get(name);
  }

  async list(): Promise<BundleSet> {
    return this.#latest;
  }

  async put(bundle: TlsBundle): Promise<void> {
    refuseName(bundle.name);
    this.#set(bundle);
  }

  async make(name: string, make: () => TlsBundle): Promise<TlsBundle> {
    refuseName(name);
    return this.#latest.bundles.get(name) ?? this.#set(make());
  }

  remove(name: string): void {
    const bundles = new Map(this.#latest.bundles);
    bundles.delete(name);
    this.#latest = { bundles, unreadable: new Map() };
  }

  #set(bundle: TlsBundle): TlsBundle {
    const bundles = new Map(this.#latest.bundles).set(bundle.name, bundle);
    this.#latest = { bundles: new Map([...bundles].sort(([one], [other]) => (one < other ? -1 : 1))), unreadable: new Map() };
    return bundle;
  }
}

export class MemoryLedger implements AnchoredLedger {
  readonly #clock: Clock;
  readonly #issued: IssuedEntry[] = [];
  #revoked: readonly RevokedSite[] = [];

  constructor(clock: Clock = Date.now) {
    this.#clock = clock;
  }

  async record(entry: IssuedEntry, basis?: Basis): Promise<void> {
    refuseEntry(entry, this.#revoked, basis);
    this.#issued.push(entry);
  }

  async *issued(): AsyncGenerator<IssuedEntry> {
    yield* this.#issued;
  }

  async mend(): Promise<readonly []> {
    return [];
  }

  async revoked(): Promise<readonly RevokedSite[]> {
    return this.#revoked;
  }

  async revoke(site: string): Promise<RevokedSite> {
    const revoked = await planRevocation(site, this.#issued, this.#revoked, this.#clock());
    this.#revoked = withRevoked(this.#revoked, revoked);
    return revoked;
  }

  async unrevoke(site: string): Promise<boolean> {
    const before = this.#revoked;
    this.#revoked = await withoutRevoked(before, site, this.#issued);
    return this.#revoked !== before;
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

export class MemoryAnchor implements AnchorStore {
  readonly location = 'the anchor in memory';
  #anchor = noAnchor;

  async get(): Promise<Anchor> {
    return this.#anchor;
  }

  async change(plan: (anchor: Anchor) => Anchor): Promise<void> {
    this.#anchor = plan(this.#anchor);
  }
}
