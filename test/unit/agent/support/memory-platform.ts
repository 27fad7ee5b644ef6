import { createPrivateKey } from 'node:crypto';
import type {
  Identity,
  OfflineLink,
  OfflineLinks,
  PublishedBundles,
  RenewalAnswer,
  Report,
  Signing,
  SitePlatform,
  Snapshot,
  Stores,
} from '../../../../src/agent/ports.ts';
import type { StaleStatus } from '../../../../src/agent/stale-status.ts';
import { siteIdOf } from '../../../../src/identity/site-id.ts';
import { generateSiteKey } from '../../../../src/identity/site-key.ts';
import type { Revocations, TlsBundle } from '../../../../src/router/contract.ts';
import type { AnyStatus } from '../../../../src/site/observe/observe.ts';
import type { NetworkRouter } from '../../../../src/site/networks.ts';
import type { Reach } from '../../../../src/site/site-endpoints.ts';
import { keyOf, sortResources, type ResourceKey, type SiteObject } from '../../../../src/site/resources.ts';
import { authorityOf } from '../../../../src/trust/authority.ts';
import type { Authority } from '../../../../src/trust/contract.ts';
import { MemoryAnchor, MemoryBundles, MemoryGrantStore, MemoryLedger, MemoryPendingKeys } from '../../trust/support/memory-stores.ts';
import type { Bundles } from '../../../../src/trust/stores.ts';
import { buildRoot } from '../../../../src/trust/issue.ts';
import { createKey } from '../../../../src/x509/request.ts';
import { writePem } from '../../../../src/x509/pem.ts';

/** State that several processes of one site share, and its changes on request of a test. */
export class MemorySite {
  readonly objects = new Map<string, SiteObject>();
  readonly userBundles = new Map<string, TlsBundle>();
  readonly issued = new MemoryBundles();
  readonly authority = new MemoryBundles();
  readonly userIssuers = new MemoryBundles();
  readonly createdIssuers = new MemoryBundles();
  /** Bundles among the resources. */
  readonly attached = new Map<string, TlsBundle>();
  generated: ReadonlySet<string> = new Set();
  readonly published = new Map<string, TlsBundle>();
  readonly redeemed = new Map<string, string>();
  readonly ledger = new MemoryLedger();
  readonly pendingKeys = new MemoryPendingKeys();
  readonly askedRenewals = new Set<string>();
  readonly answers = new Map<string, RenewalAnswer>();
  identity: Identity | undefined;
  /** By name and host. */
  readonly offlineLinks = new Map<string, OfflineLink>();
  /** The process that leads. */
  leader: string | undefined;
  readonly running = new Set<string>();
  readonly #followers = new Set<() => void>();

  put(...objects: readonly SiteObject[]): void {
    for (const object of objects) this.objects.set(keyOf(object), object);
    this.changed();
  }

  follow(onChange: () => void): Disposable {
    this.#followers.add(onChange);
    return { [Symbol.dispose]: () => this.#followers.delete(onChange) };
  }

  changed(): void {
    for (const follower of this.#followers) follower();
  }
}

/** One process of a site, all of it in memory; what it is asked is counted, and can be made to fail or to wait. */
export class MemoryPlatform implements SitePlatform {
  readonly name = 'memory';
  capabilities: SitePlatform['capabilities'] = new Set();
  networkRouters: readonly NetworkRouter[] = [];
  readonly defaults: SitePlatform['defaults'] = { verifyHostname: true };
  readonly wording: SitePlatform['wording'] = 'codes';
  readonly namespace = 'west';
  readonly stopped: StaleStatus = { status: 'Pending', reason: 'NotRunning', message: 'nothing runs it' };
  readonly site: MemorySite;
  readonly router: string;
  /** By the name of what was asked. */
  readonly calls = new Map<string, number>();
  hosts: readonly string[] = ['192.0.2.1'];
  /** Something that was written cannot be read. */
  incomplete = false;
  report: Report | undefined;
  /** The last that was confirmed. */
  confirmed: Revocations | undefined;
  stale: StaleStatus | undefined;
  /** Called before each answer, by the name of what was asked: a test's place to throw, to change something, or to wait. */
  onCall: (what: string) => void | Promise<void> = () => {};
  #snapshot: Snapshot | undefined;
  readonly #anchor = new MemoryAnchor();

  constructor(site = new MemorySite(), router = 'router') {
    this.site = site;
    this.router = router;
  }

  reach(): Reach {
    return { kind: 'direct', hosts: this.hosts };
  }

  count(what: string): number {
    return this.calls.get(what) ?? 0;
  }

  status(key: ResourceKey): AnyStatus | undefined {
    return this.report?.statuses.get(key);
  }

  readonly source: SitePlatform['source'] = {
    read: async () => {
      await this.#called('read');
      const resources = sortResources([...this.site.objects.values()]);
      const before = this.#snapshot;
      const isAsBefore =
        before !== undefined &&
        sameMap(before.bundles.bundles, this.site.userBundles) &&
        sameMap(new Map(before.attached.map((bundle) => [bundle.name, bundle])), this.site.attached) &&
        sameMap(new Map(Object.entries(before.resources).flatMap(([, all]) => all.map((one) => [keyOf(one), one]))), this.site.objects);
      if (!isAsBefore) {
        const bundles = { bundles: new Map(this.site.userBundles), unreadable: new Map() };
        this.#snapshot = {
          resources,
          problems: [],
          bundles,
          attached: [...this.site.attached.values()],
          incomplete: this.incomplete,
          restless: false,
        };
      }
      return this.#snapshot ?? Promise.reject(new Error('no snapshot'));
    },
    follow: (onChange) => this.site.follow(onChange),
    bundleLocation: (name) => `the bundle ${name}`,
  };

  readonly stores: Stores = {
    identity: async (mayCreate) => {
      await this.#called('identity');
      if (this.site.identity === undefined && mayCreate) {
        const { key } = generateSiteKey();
        this.site.identity = { id: siteIdOf(key.publicKey), key };
      }
      return this.site.identity;
    },
    bundles: {
      list: async () => {
        await this.#called('list');
        return this.site.issued.list();
      },
      put: async (bundle) => {
        await this.#called('writeBundle');
        await this.site.issued.put(bundle);
      },
      get: (name) => this.site.issued.get(name),
      make: (name, make) => this.site.issued.make(name, make),
      locationOf: (name) => this.site.issued.locationOf(name),
    },
    siteAuthority: lazily(() => this.site.authority),
    userIssuers: [lazily(() => this.site.userIssuers)],
    createdIssuers: lazily(() => this.site.createdIssuers),
    generated: {
      names: () => Promise.resolve(new Set(this.site.generated)),
      setNames: (names) => Promise.resolve(void (this.site.generated = names)),
      remove: (name) => Promise.resolve(this.site.issued.remove(name)),
    },
    pendingKeys: { keyFor: (name) => this.site.pendingKeys.keyFor(name), drop: (name) => this.site.pendingKeys.drop(name) },
    tokens: {
      redeemed: () => Promise.resolve(this.site.redeemed),
      setRedeemed: () => Promise.resolve(),
      putLink: (link) => Promise.resolve(this.site.put(link)),
      removeLink: (name) => Promise.resolve(void this.site.objects.delete(`Link/${name}`)),
      createdBundles: () => Promise.resolve(new Set(this.site.redeemed.keys())),
      removeBundle: (name) => Promise.resolve(this.site.issued.remove(name)),
    },
    renewalRequests: {
      open: () => Promise.resolve(new Set([...this.site.askedRenewals].filter((link) => !this.site.answers.has(link)))),
      answer: (link, answer) => Promise.resolve(void this.site.answers.set(link, answer)),
    },
    anchor: this.#anchor,
    ledger: async () => {
      await this.#called('ledger');
      return this.site.ledger;
    },
    grants: (ledger) => Promise.resolve(new MemoryGrantStore({ ledger })),
  };

  readonly statuses: SitePlatform['statuses'] = {
    write: (report) => {
      this.#count('write');
      this.report = report;
    },
    markStale: (stale) => {
      this.stale = stale;
      return Promise.resolve();
    },
    close: () => Promise.resolve(),
  };

  readonly leadership: SitePlatform['leadership'] = {
    lead: () => (this.site.leader ??= this.router) === this.router,
    resign: () => {
      if (this.site.leader === this.router) this.site.leader = undefined;
    },
  };

  readonly siblings: SitePlatform['siblings'] = {
    config: async () => {
      await this.#called('siblings');
      return undefined;
    },
    run: () => Promise.resolve([...this.site.running].some((router) => router !== this.router)),
    serving: () => [],
    networkRouters: () => this.networkRouters,
  };

  readonly #offlineLinks: OfflineLinks = {
    put: async (link) => {
      await this.#called('offlineLinks');
      this.site.offlineLinks.set(`${link.name} ${link.host}`, link);
    },
    keepOnly: (links) => {
      const kept = new Set(links.map(({ name, host }) => `${name} ${host}`));
      for (const key of this.site.offlineLinks.keys()) if (!kept.has(key)) this.site.offlineLinks.delete(key);
      return Promise.resolve();
    },
  };

  readonly #published: PublishedBundles = {
    write: async (bundles) => {
      for (const bundle of bundles) this.site.published.set(bundle.name, bundle);
    },
    keepOnly: async (names) => {
      for (const name of this.site.published.keys()) if (!names.includes(name)) this.site.published.delete(name);
    },
  };

  readonly signing: Signing = { kind: 'here', stores: this.stores, offlineLinks: this.#offlineLinks, published: this.#published };

  async confirmRevocations(revoked: Revocations): Promise<void> {
    await this.#called('confirm');
    this.confirmed = revoked;
  }

  async #called(what: string): Promise<void> {
    this.#count(what);
    await this.onCall(what);
  }

  #count(what: string): void {
    this.calls.set(what, this.count(what) + 1);
  }
}

/** The site is set after the fields of the platform. */
function lazily(bundles: () => MemoryBundles): Bundles {
  return {
    list: () => bundles().list(),
    get: (name) => bundles().get(name),
    put: (bundle) => bundles().put(bundle),
    make: (name, make) => bundles().make(name, make),
    locationOf: (name) => bundles().locationOf(name),
  };
}

function sameMap<V>(one: ReadonlyMap<string, V>, other: ReadonlyMap<string, V>): boolean {
  return one.size === other.size && one.entries().every(([name, value]) => other.get(name) === value);
}

export function anAuthority(siteName: string): Authority {
  const key = createKey();
  const cert = writePem('CERTIFICATE', buildRoot(siteName, createPrivateKey(key), 3_650, Date.now()));
  return authorityOf({ name: siteName, cert, key }, siteName, Date.now);
}
