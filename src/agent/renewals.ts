import { X509Certificate } from 'node:crypto';
import { EarlyRenewalError } from '../identity/issued.ts';
import type { LinkConfig, Router, TlsBundle } from '../router/contract.ts';
import { checkBundle } from '../identity/bundle-check.ts';
import { sameBundle, type IssuedBundle } from '../identity/tls-bundle.ts';
import { bounded, detached } from '../telemetry/boundary.ts';
import { messageOf, type Logger } from '../telemetry/log.ts';
import type { CertificateFacts } from '../x509/facts.ts';
import { certificateFacts } from '../x509/facts.ts';
import { backoffDelay, type Backoff } from '../work/backoff.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { refuseAuthority } from '../trust/received.ts';
import { isRenewalDue, requestRenewal } from '../trust/renewal.ts';
import type { RenewalAnswer, Stores } from './ports.ts';

/** Part of a router that renews certificates. */
export type RenewingRouter = Pick<Router, 'state' | 'renew'>;

export interface RenewalsOptions {
  readonly stores: Pick<Stores, 'bundles' | 'pendingKeys' | 'renewalRequests'>;
  /** Location of a user's own bundle with that name, for messages. */
  readonly bundleLocation: (name: string) => string;
  readonly log: Logger;
  /** Called when a renewal has ended, and when one becomes due before the next scan. */
  readonly onChange: () => void;
  /** Returns milliseconds since 1970. A parameter of `check` would be stale after a slow disk or a slow remote site. */
  readonly clock: () => number;
}

/** Milliseconds between two attempts for one link. */
const RETRY: Backoff = { first: 5_000, max: 3_600_000 };
const SHORTEST_PAUSE = 500;
/** Number of failures before a problem is reported. A single one may be a link that was about to close. */
const FAILURES_SHOWN = 2;
const NEW_TOKEN = 'redeem a new token';

/**
 * Scans come every few seconds. If a short-lived certificate becomes due before the next scan (`within`), the next scan comes after `again`
 * milliseconds.
 */
const SOON = { within: 6_000, again: 500 };

/** Renews the certificates of links over the links themselves, long before they expire. At most one renewal of a link runs at a time. */
export class Renewals implements Disposable {
  readonly #options: RenewalsOptions;
  readonly #tries = new Map<string, Tries>();
  readonly #running = new Set<string>();
  /** Links at the last check. */
  #links: readonly LinkConfig[] = [];
  /**
   * Results of requested renewals that could not be written yet, by the Links' own names. A failed write does not cause another renewal.
   */
  readonly #unreported = new Map<string, RenewalAnswer>();
  /** Renewed bundles that could not be stored yet, by link. Another request to the remote site would run into its rate limit. */
  readonly #unwritten = new Map<string, { readonly of: string | undefined; readonly renewed: IssuedBundle }>();
  /** Parsed certificates, cached for each bundle because scans run every few seconds. */
  readonly #facts = new WeakMap<TlsBundle, CertificateFacts | 'unreadable'>();
  #nextScan: ReturnType<typeof setTimeout> | undefined;

  constructor(options: RenewalsOptions) {
    this.#options = options;
  }

  /**
   * Starts renewals that are due and were not attempted lately, and requested ones. A renewed certificate is kept for at least half its
   * lifetime.
   * @param ours whether Earshot may replace the bundle of that name
   * @returns the links whose renewal was started
   */
  async check(links: readonly LinkConfig[], router: RenewingRouter, ours: (bundle: string) => boolean): Promise<readonly string[]> {
    this.#links = links;
    // Renewals that run now may answer their requests before `open` resolves.
    const busy = new Set(this.#running);
    const asked = await this.#options.stores.renewalRequests.open();
    for (const link of this.#unreported.keys()) if (!asked.has(link)) this.#unreported.delete(link);
    const answered = await this.#answerNow(asked, links, ours);
    const states = links.length === 0 ? {} : router.state.links;
    const now = this.#options.clock();
    const started: string[] = [];
    for (const link of links) {
      const { tls, name } = link;
      if (tls.cert === undefined || !ours(tls.name) || this.#running.has(name)) continue;
      if (states[name]?.operational !== true) continue;
      const isAsked = asked.has(linkOf(link)) && !busy.has(name) && !answered.has(linkOf(link));
      const next = this.#triesOf(link)?.next ?? 0;
      if (!isAsked && (next > now || !this.#isDue(tls, now))) {
        if (next <= now + SOON.within && this.#isDue(tls, now + SOON.within)) this.#scanSoon();
        continue;
      }
      this.#start(link, router, isAsked);
      started.push(name);
    }
    return started;
  }

  /** Links whose certificates are due, fail to be renewed repeatedly, and have not expired. The links work until then. */
  problems(): readonly ResourceProblem[] {
    return this.#links.flatMap((link): readonly ResourceProblem[] => {
      const { failures = 0, reason } = this.#triesOf(link) ?? {};
      const end = this.#factsOf(link.tls)?.notAfter ?? 0;
      if (reason === undefined || failures < FAILURES_SHOWN || end < this.#options.clock()) return [];
      const day = new Date(end).toISOString().slice(0, 10);
      const advice = reason.includes(NEW_TOKEN) ? '' : `; ${NEW_TOKEN}`;
      const message = `its certificate ends on ${day} and cannot be renewed: ${reason.replace(/\.$/, '')}${advice}`;
      return [{ resource: `Link/${linkOf(link)}`, severity: 'warning', code: 'renew-refused', message }];
    });
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#nextScan);
  }

  /**
   * Answers requests whose renewal has ended or is impossible.
   * @returns names of the answered Links, whether or not the answer could be written
   */
  async #answerNow(
    asked: ReadonlySet<string>,
    links: readonly LinkConfig[],
    ours: (bundle: string) => boolean,
  ): Promise<ReadonlySet<string>> {
    const answered = new Set<string>();
    for (const name of asked) {
      const link = links.find((one) => linkOf(one) === name);
      const hindrance = this.#hindranceOf(link, ours);
      const answer = this.#unreported.get(name) ?? (hindrance === undefined ? undefined : { refused: hindrance });
      if (answer === undefined) continue;
      answered.add(name);
      await this.#notify(name, answer);
    }
    return answered;
  }

  /** A failure to write the answer does not stop renewals. */
  async #notify(link: string, answer: RenewalAnswer): Promise<void> {
    try {
      await this.#options.stores.renewalRequests.answer(link, answer);
      this.#unreported.delete(link);
    } catch (error) {
      this.#unreported.set(link, answer);
      this.#options.log.error({ link, error }, `the result of a renewal cannot be reported: ${messageOf(error)}`);
    }
  }

  #hindranceOf(link: LinkConfig | undefined, ours: (bundle: string) => boolean): string | undefined {
    if (link === undefined) return 'the link is not in use: see its status';
    const { name, cert } = link.tls;
    if (!ours(name)) return `its certificate is your own: put a new one into ${this.#options.bundleLocation(name)}`;
    return cert === undefined ? 'it has no certificate' : undefined;
  }

  #scanSoon(): void {
    const look = (): void => {
      this.#nextScan = undefined;
      this.#options.onChange();
    };
    this.#nextScan ??= setTimeout(bounded('look/renewals', look, look), SOON.again);
    this.#nextScan.unref();
  }

  #start(link: LinkConfig, router: RenewingRouter, isAsked: boolean): void {
    const { name } = link;
    this.#running.add(name);
    const ended = (): void => {
      this.#running.delete(name);
      this.#options.onChange();
    };
    const renew = async (): Promise<void> => {
      await this.#attempt(link, router, isAsked);
      ended();
    };
    detached('pass/renewal', renew, ended);
  }

  async #attempt(link: LinkConfig, router: RenewingRouter, isAsked: boolean): Promise<void> {
    let answer: RenewalAnswer;
    try {
      answer = this.#renewed(link, await this.#renew(link, router));
    } catch (error) {
      answer = this.#failed(link, error);
    }
    if (isAsked) await this.#notify(linkOf(link), answer);
  }

  async #renew(link: LinkConfig, router: RenewingRouter): Promise<Renewed> {
    const { bundles, pendingKeys } = this.#options.stores;
    const { tls } = link;
    const kept = await bundles.get(tls.name);
    // The bundle may have been replaced since the scan. Ignore the stored one if it is unusable: the bundle in memory serves instead.
    if (kept !== undefined && kept.cert !== tls.cert && checkBundle(kept, AS_LINK).ok) throw new Error(REPLACED);
    const unwritten = this.#unwritten.get(link.name);
    this.#unwritten.delete(link.name);
    const renewed = unwritten !== undefined && unwritten.of === tls.cert ? unwritten.renewed : await this.#request(link, router);
    const { cert } = renewed;
    const leaf = new X509Certificate(cert);
    // An unusable certificate must not replace one that works.
    const check = checkBundle(renewed, AS_LINK);
    if (!check.ok) throw new Error(`the new certificate is unusable: ${check.problems[0].message}`);
    refuseAuthority(check.leaf, 'the new certificate');
    // A token was redeemed in the meantime, for example because the certificate to renew was revoked.
    if (!sameBundle(kept, await bundles.get(tls.name))) throw new Error(REPLACED);
    this.#unwritten.set(link.name, { of: tls.cert, renewed });
    await bundles.put(renewed);
    this.#unwritten.delete(link.name);
    await pendingKeys.drop(tls.name);
    this.#options.log.info({ link: link.name, until: leaf.validTo }, 'certificate of the link renewed');
    const before = new X509Certificate(tls.cert ?? '').serialNumber;
    return { cert, serial: leaf.serialNumber, before, until: Date.parse(leaf.validTo) };
  }

  async #request({ name, tls }: LinkConfig, router: RenewingRouter): Promise<IssuedBundle> {
    const { csr, key } = await requestRenewal(tls, this.#options.stores.pendingKeys);
    const { cert, ca } = await router.renew(name, csr);
    return { name: tls.name, cert, key, ca };
  }

  /** Attempts count for one certificate only: a newer certificate starts from zero. */
  #triesOf({ name, tls }: LinkConfig): Tries | undefined {
    const tries = this.#tries.get(name);
    return tries?.certs.includes(tls.cert) === true ? tries : undefined;
  }

  #renewed({ name, tls }: LinkConfig, { cert, serial, before, until }: Renewed): RenewalAnswer {
    const now = this.#options.clock();
    // A short-lived certificate is due as soon as it is issued, since its lifetime starts before the time of issue.
    const next = now + Math.max(1000, (until - now) / 2);
    // A scan that is under way may still have the earlier certificate.
    this.#tries.set(name, { certs: [cert, tls.cert], next, failures: 0 });
    return { serial, before, until: new Date(until).toISOString() };
  }

  #failed(link: LinkConfig, error: unknown): RenewalAnswer {
    const now = this.#options.clock();
    const { name, tls } = link;
    const failures = (this.#triesOf(link)?.failures ?? 0) + 1;
    const left = (this.#factsOf(tls)?.notAfter ?? Infinity) - now;
    // Wait as long as the remote site asks for, but not beyond the expiry.
    const requested = error instanceof EarlyRenewalError ? error.retryAfter : 0;
    const pause = backoffDelay(RETRY, failures, Math.random());
    // After the expiry nothing is urgent: the link may stay up by another certificate of the site, and its end is not reported again.
    const wait = left > 0 ? Math.max(SHORTEST_PAUSE, Math.min(requested, left / 2), Math.min(pause, left / 8)) : Math.max(requested, pause);
    const isShown = this.#isDue(tls, now) && !(error instanceof EarlyRenewalError);
    this.#tries.set(name, { certs: [tls.cert], next: now + wait, failures, ...(isShown ? { reason: messageOf(error) } : {}) });
    const words = `the certificate of the link could not be renewed, next try in ${Math.round(wait / 1000)} s: ${messageOf(error)}`;
    this.#options.log.warn({ link: name, error }, words);
    return { refused: messageOf(error) };
  }

  #isDue(tls: TlsBundle, now: number): boolean {
    const facts = this.#factsOf(tls);
    return facts !== undefined && isRenewalDue(facts, now);
  }

  /** Undefined if the certificate is unparsable, which the plan reports. */
  #factsOf(tls: TlsBundle): CertificateFacts | undefined {
    const facts = this.#facts.getOrInsertComputed(tls, () => {
      try {
        return certificateFacts(tls.cert ?? '', "the link's tls.crt");
      } catch {
        return 'unreadable';
      }
    });
    return facts === 'unreadable' ? undefined : facts;
  }
}

const REPLACED = 'another certificate has replaced it in the meantime';
/** Purpose that the bundle of a link must serve. */
const AS_LINK = { kind: 'client', serverCa: true, dates: 'leaf' } as const;

interface Tries {
  /** Certificates to which these attempts apply. */
  readonly certs: readonly LinkConfig['tls']['cert'][];
  /** Milliseconds since 1970. */
  readonly next: number;
  readonly failures: number;
  /** Reason of the last failure, if the certificate was due. */
  readonly reason?: string;
}

interface Renewed {
  readonly cert: string;
  readonly serial: string;
  readonly before: string;
  readonly until: number;
}

/** The Link's own name. The router's name for it includes the kind: `Link/NAME`. */
function linkOf({ name }: LinkConfig): string {
  return name.slice(name.indexOf('/') + 1);
}
