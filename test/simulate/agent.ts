import { OwnSigning } from '../../src/agent/own-signing.ts';
import type { Identity, Stores } from '../../src/agent/ports.ts';
import { linksIn } from '../../src/agent/running-router.ts';
import { readSettings } from '../../src/agent/settings.ts';
import type { TrustInput } from '../../src/agent/trust.ts';
import type { Site as SiteResource } from '../../src/api/skupper/index.ts';
import type { IssuedCertificate, LinkConfig, Router, RouterHooks, TlsBundle } from '../../src/router/contract.ts';
import { sortResources } from '../../src/site/resources.ts';
import type { Logger } from '../../src/telemetry/log.ts';
import { TrustError } from '../../src/trust/errors.ts';
import { noAnchor } from '../../src/trust/anchor.ts';
import type { AnchoredLedger, Bundles, BundleSet } from '../../src/trust/stores.ts';
import { Coalescer } from '../../src/limits/loop/coalescer.ts';
import { createKey } from '../../src/x509/request.ts';
import { wallClock, wallClockOf } from './current.ts';
import type { TestBundle } from './certificates.ts';
import { revokedIn, type Disk, type Issued } from './disk.ts';
import type { Machine } from './network.ts';
import { certificateIn } from './node/crypto.ts';
import { clearTimeout, setTimeout } from './node/globals.ts';

export interface SiteAgentOptions {
  readonly machine: Machine;
  readonly name: string;
  readonly identity: Identity;
  readonly disk: Disk;
  readonly issued: Issued;
  /** By which it signs. */
  readonly authority: TlsBundle;
  /** Seconds for which it issues certificates of links. */
  readonly lifetime: number;
  readonly revoked: { readonly sites: ReadonlySet<string>; readonly serials: ReadonlySet<string> };
  /** The links as the router currently has them. */
  readonly links: () => readonly LinkConfig[];
  readonly log: Logger;
  /** A certificate is there that the router is to show. */
  readonly onWritten: () => void;
  /** It did what it must not do. */
  readonly onFault: (text: string) => void;
}

/** Milliseconds between two scans for changes without events: platforms take five seconds, with certificates that last longer. */
const POLL = 3_000;
/** From a change of the router until it is looked at. */
const NOTICED = 30;
/** Duration of a write: usually, and with a slow disk. */
const WRITE = [1, 10] as const;
const SLOW_WRITE = [200, 4_000] as const;
/** Between two tries of one link, and of one whose certificate has ended: as `Renewals` has it. */
const BETWEEN_TRIES = 500;
const AFTER_ITS_END = 2_500;
/** Of the time for which a certificate was issued, between two renewals of it, or of one site: as `RenewalPace` has it, who reads a slow machine's clock. */
const SPACING = 1 / 16;

interface Tried {
  readonly at: number;
  /** The certificate, PEM. */
  readonly of: string | undefined;
  /** The serial number of that which was on the disk then: it may have come meanwhile. */
  readonly shown: string | undefined;
  /** That has ended already. */
  readonly isOver: boolean;
  readonly isUnderWay: boolean;
}

/**
 * The renewing part of the agent, of one process: its own code signs and requests (`OwnSigning`, `Trust`, `Renewals`), at its own passes. The world supplies
 * the results of resources elsewhere (listeners, links, revocations of the site).
 */
export class SiteAgent {
  readonly hooks: RouterHooks = { renew: (peer, request) => this.#renew(peer, request) };
  readonly #options: SiteAgentOptions;
  readonly #site: SiteResource;
  readonly #signing: OwnSigning;
  readonly #passes = new Coalescer('pass/agent', () => this.#tryPass());
  readonly #tried = new Map<string, Tried>();
  /** A requested renewal is tried at once, and then as usual: numbers of the last requests, by link, that it read, and that it processed. */
  readonly #read = new Map<string, number>();
  readonly #heeded = new Map<string, number>();
  /** When it last began to renew one that it then signed: by serial numbers and by sites. */
  readonly #signed = new Map<string, number>();
  #router: Router | undefined;
  #poll: ReturnType<typeof setTimeout> | undefined;
  #look: ReturnType<typeof setTimeout> | undefined;
  #lastLinks = '';
  #isGone = false;
  #hasWritten = false;
  #bundles: BundleSet | undefined;

  constructor(options: SiteAgentOptions) {
    const { name, lifetime, log } = options;
    this.#options = options;
    const spec = { settings: { 'link-certificate-lifetime': `${lifetime}s` } };
    this.#site = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: { name }, spec } as SiteResource;
    this.#signing = new OwnSigning({
      log,
      signing: {
        kind: 'here',
        stores: this.#stores(),
        offlineLinks: { put: nothing, keepOnly: nothing },
        published: { write: nothing, keepOnly: nothing },
      },
      source: { bundleLocation: (bundle) => `the disk of ${name}, under ${bundle}` },
      routerState: () => this.#router?.state,
      onChange: () => this.#passes.request(),
      clock: wallClock,
    });
  }

  /** Its router runs. */
  begin(router: Router): void {
    this.#router = router;
    const poll = (): void => {
      this.#poll = setTimeout(poll, POLL);
      this.#passes.request();
    };
    poll();
  }

  /** Its router has changed. */
  routerChanged(): void {
    if (this.#passes.ended) return;
    this.#look ??= setTimeout(() => {
      this.#look = undefined;
      if (this.#linksChanged()) this.#passes.request();
    }, NOTICED);
  }

  /** Something else has changed that a pass takes in. */
  request(): void {
    this.#passes.request();
  }

  /** Its process ends in order. */
  async end(): Promise<void> {
    const ended = this.#passes.end();
    this.#stopLooking();
    await ended;
    await this.#signing.end();
    this.#resign();
  }

  /** It was killed: what it has asked of the disk does not happen. */
  kill(): void {
    this.#isGone = true;
    void this.#passes.end();
    this.#stopLooking();
    void this.#signing.end();
    this.#resign();
  }

  #stopLooking(): void {
    clearTimeout(this.#poll);
    clearTimeout(this.#look);
  }

  #resign(): void {
    const { disk } = this.#options;
    if (disk.leader === this) disk.leader = undefined;
  }

  #linksChanged(): boolean {
    const now = linksIn(this.#router?.state);
    if (now === this.#lastLinks) return false;
    this.#lastLinks = now;
    return true;
  }

  async #tryPass(): Promise<void> {
    try {
      await this.#pass();
    } catch (error) {
      // The next pass looks again.
      this.#options.log.error({ error }, 'the site cannot be reconciled');
    }
  }

  async #pass(): Promise<void> {
    const { disk, links, identity, onWritten } = this.#options;
    const router = this.#router;
    disk.leader ??= this;
    if (disk.leader !== this || router === undefined) return;
    await this.#signing.step(this.#input(links()), identity);
    if (this.#hasWritten) onWritten();
    this.#hasWritten = false;
    const followed = links();
    await this.#signing.follow(this.#watched(router, followed), followed);
  }

  #input(links: readonly LinkConfig[]): TrustInput {
    const { disk, machine } = this.#options;
    const others = links.flatMap(({ tls }) => (disk.bundles.has(tls.name) ? [] : [[tls.name, tls] as const]));
    return {
      resources: sortResources([]),
      site: this.#site,
      settings: readSettings(this.#site),
      reach: { kind: 'direct', hosts: [machine.host] },
      incomplete: false,
      unread: new Set(),
      userBundles: { bundles: new Map(others), unreadable: new Map() },
      attached: [],
      now: wallClock(),
    };
  }

  /** The router, as far as renewals have to do with it: each that is asked for is counted. */
  #watched(router: Router, links: readonly LinkConfig[]): Router {
    const renew = (link: string, request: string): Promise<IssuedCertificate> => {
      // On the disk there may be another by now.
      const { cert } = links.find(({ name }) => name === link)?.tls ?? {};
      return this.#ask(router, link, request, cert);
    };
    return new Proxy(router, { get: (target, part) => (part === 'renew' ? renew : Reflect.get(target, part, target)) });
  }

  async #ask(router: Router, link: string, request: string, of: string | undefined): Promise<IssuedCertificate> {
    const { machine, disk, onFault } = this.#options;
    const before = this.#tried.get(link);
    const now = wallClockOf(machine);
    const question = disk.asked.get(link);
    const isOpen = question !== undefined && question.answer === undefined;
    const isAsked = isOpen && this.#read.get(link) === question.number && this.#heeded.get(link) !== question.number;
    if (isAsked) this.#heeded.set(link, question.number);
    const { serial: shown } = disk.bundles.get(link) ?? {};
    const isOver = of !== undefined && certificateIn(of).validToDate.getTime() <= now;
    const least = isOver && before?.isOver === true ? AFTER_ITS_END : BETWEEN_TRIES;
    if (before?.isUnderWay === true) onFault(`${machine.name} asks to have ${link} renewed while it waits for that`);
    // Another certificate has its own time.
    else if (before?.of === of && before !== undefined && !isAsked && now - before.at < least - 1)
      onFault(`${machine.name} asks to have ${link} renewed ${now - before.at} ms after the last time`);
    this.#tried.set(link, { at: now, of, shown, isOver, isUnderWay: true });
    try {
      return await router.renew(link, request);
    } finally {
      this.#tried.set(link, { at: now, of, shown, isOver, isUnderWay: false });
    }
  }

  async #renew(...[peer, request]: Parameters<NonNullable<RouterHooks['renew']>>): Promise<IssuedCertificate> {
    if (this.#isGone) return never();
    const { machine, lifetime, onFault } = this.#options;
    const { certificate, siteId } = peer;
    const { now } = machine.network.loop;
    const issued = await this.#signing.renew(this.#site, peer, request);
    const serial = certificateIn(certificate).serialNumber;
    for (const party of [serial, siteId]) {
      const since = now - (this.#signed.get(party) ?? -Infinity);
      if (since < (lifetime * 1_000 * SPACING) / 2)
        onFault(`${machine.name} renews a certificate of ${party} ${since} ms after the last time`);
      this.#signed.set(party, now);
    }
    return issued;
  }

  /** It takes the place of the one that was there when it was asked for, as far as can be seen before it is written. */
  #checkPlace({ name }: TlsBundle): void {
    const { machine, disk, onFault } = this.#options;
    if (!this.#isGone && this.#tried.get(name)?.shown !== disk.bundles.get(name)?.serial)
      onFault(`${machine.name} puts a certificate for ${name} in the place of one that has come meanwhile`);
  }

  /** Once it is written. Never, where its process is gone by then. */
  #written<T>(write: () => T): Promise<T> {
    const { machine, disk } = this.#options;
    const { loop, random } = machine.network;
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const done = (): void => {
      if (this.#isGone) return;
      try {
        if (disk.trouble === 'full') throw new TrustError('state-unavailable', 'no space left on device');
        resolve(write());
      } catch (error) {
        reject(error);
      }
    };
    const [least, most] = disk.trouble === 'slow' ? SLOW_WRITE : WRITE;
    const takes = random.scaled(least, most);
    disk.busyUntil = Math.max(disk.busyUntil, loop.now + takes);
    loop.after(takes, machine, done, 'turn');
    return promise;
  }

  #stores(): Stores {
    const { machine, disk, issued, identity, authority, revoked, onFault } = this.#options;
    const list = (): BundleSet => {
      const bundles = new Map<string, TlsBundle>(disk.bundles);
      if (this.#bundles === undefined || !isSame(this.#bundles.bundles, bundles)) this.#bundles = { bundles, unreadable: new Map() };
      return this.#bundles;
    };
    const revocations = (): { sites: readonly string[]; serials: readonly string[] } => ({
      sites: [...revoked.sites],
      serials: [...revoked.serials],
    });
    const bundles: Bundles = {
      get: async (name) => disk.bundles.get(name),
      list: async () => list(),
      put: (bundle) => {
        this.#checkPlace(bundle);
        return this.#written(() => {
          const renewed = withSerial(bundle);
          disk.bundles.set(bundle.name, renewed);
          const tried = this.#tried.get(bundle.name);
          if (tried !== undefined) this.#tried.set(bundle.name, { ...tried, of: renewed.cert, shown: renewed.serial, isOver: false });
          this.#hasWritten = true;
        });
      },
      make: () => never(),
      locationOf: (name) => name,
    };
    const ledger: AnchoredLedger = {
      mend: async () => [],
      record: (entry, basis) =>
        this.#written(() => {
          const before = basis?.kind === 'renewal' ? basis.serial : undefined;
          issued.record(entry, before, revocations());
          if (revoked.sites.has(entry.siteId ?? '') || revoked.serials.has(before ?? ''))
            onFault(`${machine.name} gives a successor to the certificate ${before}, which is revoked`);
        }),
      issued: async function* () {
        yield* issued.entries;
      },
      revoked: async () => revokedIn(revocations()),
      revoke: () => never(),
      unrevoke: () => never(),
    };
    const own: Bundles = { ...bundles, get: async () => authority, make: async () => authority };
    return {
      identity: async () => identity,
      anchor: { get: async () => noAnchor, change: async () => {}, location: 'no anchor' },
      bundles,
      pendingKeys: {
        keyFor: async (name) => disk.keys.getOrInsertComputed(name, createKey),
        drop: (name) => this.#written(() => void disk.keys.delete(name)),
      },
      renewalRequests: {
        open: async () => {
          const open = [...disk.asked].filter(([, { answer }]) => answer === undefined);
          for (const [link, { number }] of open) this.#read.set(link, number);
          return new Set(open.map(([link]) => link));
        },
        answer: (link, answer) => this.#written(() => void disk.asked.set(link, { number: disk.asked.get(link)?.number ?? 0, answer })),
      },
      siteAuthority: own,
      userIssuers: [{ ...bundles, list: async () => ({ bundles: new Map(), unreadable: new Map() }) }],
      createdIssuers: bundles,
      generated: { names: async () => new Set(), setNames: nothing, remove: nothing },
      tokens: {
        redeemed: async () => new Map(),
        setRedeemed: nothing,
        putLink: nothing,
        removeLink: nothing,
        createdBundles: async () => new Set<string>(),
        removeBundle: nothing,
      },
      ledger: async () => ledger,
      grants: never,
    };
  }
}

const nothing = async (): Promise<undefined> => undefined;
const never = (): Promise<never> => new Promise(() => {});

const withSerial = ({ name, cert = '', key = '', ca = '' }: TlsBundle): TestBundle => ({
  name,
  cert,
  key,
  ca,
  serial: certificateIn(cert).serialNumber,
});

const isSame = <V>(one: ReadonlyMap<string, V>, other: ReadonlyMap<string, V>): boolean =>
  one.size === other.size && one.entries().every(([name, value]) => other.get(name) === value);
