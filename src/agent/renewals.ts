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

/** As much of a router as renews. */
export type RenewingRouter = Pick<Router, 'state' | 'renew'>;

export interface RenewalsOptions {
  readonly stores: Pick<Stores, 'bundles' | 'pendingKeys' | 'renewalRequests'>;
  /** Where a user's own bundle of that name is, for messages. */
  readonly bundleLocation: (name: string) => string;
  readonly log: Logger;
  /** One has ended, or is due before the next look. */
  readonly onChange: () => void;
  /** Milliseconds since 1970: a look may wait for a slow disk, and a renewal for the other site. */
  readonly clock: () => number;
}

/** Milliseconds between two tries for one link. */
const RETRY: Backoff = { first: 5_000, max: 3_600_000 };
const SHORTEST_PAUSE = 500;
/** A single failure may be a link that was about to end. */
const FAILURES_SHOWN = 2;
const NEW_TOKEN = 'redeem a new token';

/** Looks come every few seconds. What is due before the next one, with a certificate of seconds, is looked at again so soon. */
const SOON = { within: 6_000, again: 500 };

/** Renews the certificates of links over the links themselves, long before they end. At most one renewal of a link runs at a time. */
export class Renewals implements Disposable {
  readonly #options: RenewalsOptions;
  readonly #tries = new Map<string, Tries>();
  readonly #running = new Set<string>();
  /** As of the last check. */
  #links: readonly LinkConfig[] = [];
  /** What came of renewals that were asked for, where it could not be written yet: they are not renewed again for that. By the Links' own names. */
  readonly #untold = new Map<string, RenewalAnswer>();
  /** What came and could not be written yet, of which certificate, by link: to ask for another each time would have the other site let this one wait. */
  readonly #unwritten = new Map<string, { readonly of: string | undefined; readonly renewed: IssuedBundle }>();
  /** Read once for each bundle: looks come every few seconds. */
  readonly #facts = new WeakMap<TlsBundle, CertificateFacts | 'unreadable'>();
  #nextScan: ReturnType<typeof setTimeout> | undefined;

  constructor(options: RenewalsOptions) {
    this.#options = options;
  }

  /**
   * Starts what is due and not tried lately, and what was asked for. Of a certificate that was just renewed at least half the time is used.
   * @param ours whether Earshot may replace the bundle of that name
   * @returns the links whose renewal was started
   */
  async check(links: readonly LinkConfig[], router: RenewingRouter, ours: (bundle: string) => boolean): Promise<readonly string[]> {
    this.#links = links;
    // What was open then may have its answer by now.
    const busy = new Set(this.#running);
    const asked = await this.#options.stores.renewalRequests.open();
    for (const link of this.#untold.keys()) if (!asked.has(link)) this.#untold.delete(link);
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

  /** Links whose certificates are due, keep failing to be renewed, and have not ended yet: they work until then. */
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

  /** What has been renewed, or will not be whatever happens, has its answer now. @returns of which links, written or not */
  async #answerNow(
    asked: ReadonlySet<string>,
    links: readonly LinkConfig[],
    ours: (bundle: string) => boolean,
  ): Promise<ReadonlySet<string>> {
    const answered = new Set<string>();
    for (const name of asked) {
      const link = links.find((one) => linkOf(one) === name);
      const hindrance = this.#hindranceOf(link, ours);
      const answer = this.#untold.get(name) ?? (hindrance === undefined ? undefined : { refused: hindrance });
      if (answer === undefined) continue;
      answered.add(name);
      await this.#notify(name, answer);
    }
    return answered;
  }

  /** Whatever becomes of it, links are renewed. */
  async #notify(link: string, answer: RenewalAnswer): Promise<void> {
    try {
      await this.#options.stores.renewalRequests.answer(link, answer);
      this.#untold.delete(link);
    } catch (error) {
      this.#untold.set(link, answer);
      this.#options.log.error({ link, error }, `what came of a renewal cannot be told: ${messageOf(error)}`);
    }
  }

  #hindranceOf(link: LinkConfig | undefined, ours: (bundle: string) => boolean): string | undefined {
    if (link === undefined) return 'the link is not in use: its status says why';
    const { name, cert } = link.tls;
    if (!ours(name)) return `its certificate is your own: put another into ${this.#options.bundleLocation(name)}`;
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
    // As below, and earlier: what this look knows of may be older than what is there. Where that is of no use, what is known stands in for it.
    if (kept !== undefined && kept.cert !== tls.cert && checkBundle(kept, AS_LINK).ok) throw new Error(REPLACED);
    const unwritten = this.#unwritten.get(link.name);
    this.#unwritten.delete(link.name);
    const renewed = unwritten !== undefined && unwritten.of === tls.cert ? unwritten.renewed : await this.#request(link, router);
    const { cert } = renewed;
    const leaf = new X509Certificate(cert);
    // What is of no use with that key must not replace what works.
    const check = checkBundle(renewed, AS_LINK);
    if (!check.ok) throw new Error(`the certificate that came is of no use: ${check.problems[0].message}`);
    refuseAuthority(check.leaf, 'the certificate that came');
    // A token was redeemed meanwhile, say because what is renewed here has been revoked.
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

  /** Another certificate that has come since has its own time. */
  #triesOf({ name, tls }: LinkConfig): Tries | undefined {
    const tries = this.#tries.get(name);
    return tries?.certs.includes(tls.cert) === true ? tries : undefined;
  }

  #renewed({ name, tls }: LinkConfig, { cert, serial, before, until }: Renewed): RenewalAnswer {
    const now = this.#options.clock();
    // A short-lived certificate is due as soon as it is there, since its life is counted from before its issue.
    const next = now + Math.max(1000, (until - now) / 2);
    // A look that is under way may still have the one before.
    this.#tries.set(name, { certs: [cert, tls.cert], next, failures: 0 });
    return { serial, before, until: new Date(until).toISOString() };
  }

  #failed(link: LinkConfig, error: unknown): RenewalAnswer {
    const now = this.#options.clock();
    const { name, tls } = link;
    const failures = (this.#triesOf(link)?.failures ?? 0) + 1;
    const left = (this.#factsOf(tls)?.notAfter ?? Infinity) - now;
    // Where the other side says when, it is asked then; but not when it would be too late.
    const told = error instanceof EarlyRenewalError ? error.retryAfter : 0;
    const pause = backoffDelay(RETRY, failures, Math.random());
    // Once it has ended nothing is urgent any more: the link stays up where another of the site's vouches for it, and its end is no news then.
    const wait = left > 0 ? Math.max(SHORTEST_PAUSE, Math.min(told, left / 2), Math.min(pause, left / 8)) : Math.max(told, pause);
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

  /** Undefined where it is mangled: the plan says so. */
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

const REPLACED = 'another certificate has taken its place meanwhile';
/** What a bundle has to be good for. */
const AS_LINK = { kind: 'client', serverCa: true, dates: 'leaf' } as const;

interface Tries {
  /** Of which they are. */
  readonly certs: readonly LinkConfig['tls']['cert'][];
  /** Milliseconds since 1970. */
  readonly next: number;
  readonly failures: number;
  /** Why the last one failed, where the certificate was due. */
  readonly reason?: string;
}

interface Renewed {
  readonly cert: string;
  readonly serial: string;
  readonly before: string;
  readonly until: number;
}

/** The Link's own name: the router has it with its kind, `Link/NAME`. */
function linkOf({ name }: LinkConfig): string {
  return name.slice(name.indexOf('/') + 1);
}
