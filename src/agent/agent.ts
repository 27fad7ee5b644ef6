import { performance } from 'node:perf_hooks';
import type { IssuedCertificate, RouterConfig, RouterHooks } from '../router/contract.ts';
import { noTrust } from '../site/observe/trust-facts.ts';
import type { Site } from '../api/skupper/index.ts';
import type { SitePlan } from '../site/plan/plan.ts';
import { siteNetworks } from '../site/networks.ts';
import { allOf, nameOf } from '../site/resources.ts';
import { messageOf, type Logger } from '../telemetry/log.ts';
import type { BundleSet } from '../trust/stores.ts';
import { detached } from '../telemetry/boundary.ts';
import { Coalescer } from '../limits/loop/coalescer.ts';
import { DelayedCall } from '../limits/loop/delayed-call.ts';
import { logReconcile } from '../work/reconcile-log.ts';
import { CpuBudget } from '../limits/cpu-budget.ts';
import { ReadinessGate } from './readiness-gate.ts';
import { OnceLog } from './once-log.ts';
import { OwnSigning, type OwnSigningOptions } from './own-signing.ts';
import { Planner, type Planned } from './planner.ts';
import type { Identity, SitePlatform, Snapshot } from './ports.ts';
import { RemoteSigning } from './remote-signing.ts';
import { Reporter } from './reporter.ts';
import { RunningRouter, type StartRouter } from './running-router.ts';
import { readSettings } from './settings.ts';
import type { SiteSigning } from './signing.ts';
import { cannotStart, stopping, type StaleStatus } from './stale-status.ts';
import { noSite, type TrustOutcome } from './trust.ts';

export interface AgentOptions {
  readonly platform: SitePlatform;
  readonly router: string;
  readonly version: string;
  readonly log: Logger;
  readonly start: StartRouter;
  /** Returns milliseconds since 1970. */
  readonly clock?: () => number;
}

/** Milliseconds until the next reconcile while a change is pending that causes no event. */
const SOON = 500;

/** Milliseconds for which changes of the router are collected, since they come in bursts. */
const REPORT_AFTER = 30;
/** Minimum milliseconds between two reports, per resource of the site. A report visits every resource. */
const REPORT_OF_EACH = 1;
/**
 * Fraction of CPU time for reports. A report also covers the network, and other sites decide how large that is and how often it changes.
 */
const SHARE_OF_REPORTS = 0.1;

/**
 * Reconciles one site as one of its routers: reads the resources, reconciles trust, plans, configures the router and reports statuses.
 *
 * Reconciles run one at a time and are level-triggered. Unchanged input is neither planned nor applied nor reported again.
 * A failed reconcile leaves running traffic untouched. Only the leader writes statuses and reconciles trust; every router plans and runs.
 */
export class Agent implements AsyncDisposable {
  readonly #options: AgentOptions;
  readonly #clock: () => number;
  readonly #passes: Coalescer;
  readonly #planner = new Planner();
  readonly #signing: SiteSigning;
  readonly #router: RunningRouter;
  readonly #reporter: Reporter;
  readonly #arrival: ReadinessGate;
  readonly #once = new OnceLog();
  #unready: string | undefined = 'starting';
  #leads = false;
  #identity: Identity | undefined;
  #following: Disposable | undefined;
  readonly #reports = new DelayedCall({ name: 'pass/report-later', call: () => this.#onReportTime(), delay: () => this.#reportDelay() });
  /** performance.now() of the last report. */
  #reportedAt = Number.NEGATIVE_INFINITY;
  readonly #reportTime = new CpuBudget(SHARE_OF_REPORTS, 0);

  constructor(options: AgentOptions) {
    const { platform, log, version, start, clock = Date.now } = options;
    this.#options = options;
    this.#clock = clock;
    this.#arrival = new ReadinessGate(clock);
    this.#passes = new Coalescer('pass/agent', () => this.#tryPass());
    this.#signing = signingOf(platform, { log, clock, onChange: () => this.#passes.request(), routerState: () => this.#router.state });
    const hooks: RouterHooks = { renew: (...asked) => this.#renew(...asked) };
    this.#router = new RunningRouter({ start, hooks, log, onChange: () => this.#onRouterChange() });
    this.#reporter = new Reporter({
      statuses: platform.statuses,
      reach: () => platform.reach(),
      controller: { name: 'earshot', namespace: platform.namespace, version },
      wording: platform.wording,
      routerState: () => this.#router.state,
      serving: () => platform.siblings.serving(),
      networkRouters: () => platform.siblings.networkRouters?.() ?? [],
      clock,
      log,
    });
  }

  /** Resolves after the first reconcile. The reason that keeps the site from running is in `unready`. */
  async start(): Promise<void> {
    this.#following = this.#options.platform.source.follow(() => this.#passes.request());
    this.#passes.request();
    await this.#passes.idle();
  }

  /** Config that was last applied to the router, the router's state, and its records and figures of connections. */
  get router(): Pick<RunningRouter, 'config' | 'state' | 'records' | 'keyFigures' | 'running'> {
    return this.#router;
  }

  /** Changes of conditions that this process reported as the leader. */
  get changes(): Reporter['changes'] {
    return this.#reporter.changes;
  }

  /** Reason why the site does not carry traffic yet; undefined when it does. */
  get unready(): string | undefined {
    const { config, state } = this.#router;
    if (this.#unready !== undefined || config === undefined || state === undefined) return this.#unready;
    return this.#arrival.waitsFor(config, state, this.#options.platform.siblings.serving());
  }

  reload(): void {
    this.#passes.request();
  }

  /** Starts the graceful shutdown: other sites move their links elsewhere, and open connections continue. */
  leave(): void {
    this.#router.leave();
  }

  /** Lets another router manage the site, and waits at most `deadline` milliseconds for connections to finish. */
  async drain(deadline: number): Promise<void> {
    await this.#endPasses();
    await this.#markStale(stopping);
    await this.#signing.end();
    this.#options.platform.leadership.resign();
    await this.#router.drain(deadline);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#endPasses();
    await this.#signing.end();
    await this.#router[Symbol.asyncDispose]();
    await this.#markStale(this.#options.platform.stopped);
    this.#options.platform.leadership.resign();
  }

  async #endPasses(): Promise<void> {
    this.#following?.[Symbol.dispose]();
    this.#reports.end();
    await this.#passes.end();
  }

  /** Marks the statuses as stale when this process ends, unless another router of the site takes over. */
  async #markStale(stale: StaleStatus): Promise<void> {
    const { statuses, siblings } = this.#options.platform;
    await statuses.close();
    try {
      if (this.#leads && !(await siblings.run())) await statuses.markStale(stale);
    } catch (error) {
      // A full disk must not prevent draining connections or ending the process in order.
      this.#reportFailed(error);
    }
  }

  async #tryPass(): Promise<void> {
    const logEnd = logReconcile(this.#options.log, 'agent', this.#options.platform.namespace);
    try {
      const retryAfter = await this.#pass();
      logEnd?.({ outcome: retryAfter === undefined ? 'success' : 'requeue', retryAfter });
    } catch (error) {
      logEnd?.({ outcome: 'error', error });
      const message = messageOf(error);
      this.#unready = message;
      this.#sayOnce('pass', error, `the site cannot be reconciled: ${message}`);
      if (this.#reporter.seen !== undefined || !this.#leads) return;
      await this.#options.platform.statuses.markStale(cannotStart(message)).catch((cause: unknown) => this.#reportFailed(cause));
    }
  }

  /** @returns milliseconds until the next reconcile, if one is due soon */
  async #pass(): Promise<number | undefined> {
    const { source, stores } = this.#options.platform;
    const now = this.#clock();
    await this.#takeLead();
    this.#identity ??= await stores.identity(this.#leads);
    await this.#revoke();
    const snapshot = await source.read();
    const trust = await this.#stepTrust(snapshot, now);
    if (trust.restless) this.#passes.requestIn(SOON);
    const { plan, holds } = await this.#plan(snapshot, trust.issued, now);
    if (holds || snapshot.restless) this.#passes.requestIn(SOON);
    this.#reporter.see({ snapshot, plan, problems: trust.problems, trust: trust.facts });
    await this.#apply(plan, snapshot);
    if (this.#router.running !== undefined) await this.#signing.follow(this.#router.running, plan.config.links);
    this.#report();
    return trust.restless || holds || snapshot.restless ? SOON : undefined;
  }

  /** Runs before everything else in a reconcile, so that a later failure cannot delay a revocation. */
  async #revoke(): Promise<void> {
    const revoked = await this.#signing.revocations();
    const { config } = this.#router;
    if (config !== undefined) await this.#router.apply({ ...config, revoked });
    await this.#options.platform.confirmRevocations(revoked).catch((error: unknown) => {
      this.#sayOnce('revocations', error, `revocations cannot be confirmed to commands: ${messageOf(error)}`);
    });
  }

  /** The first process of a site becomes the leader. When it ends or loses the lease, another process takes over. */
  async #takeLead(): Promise<void> {
    const led = this.#leads;
    this.#leads = await this.#options.platform.leadership.lead();
    if (this.#leads === led) return;
    if (this.#leads) {
      this.#options.log.info('this process manages the site');
      // The previous leader has written statuses since this process last reported.
      this.#reporter.changed();
      return;
    }
    this.#options.log.warn('another process manages the site from now on');
    await this.#signing.end();
  }

  async #stepTrust({ resources, bundles, attached, problems, incomplete }: Snapshot, now: number): Promise<TrustOutcome> {
    const { platform } = this.#options;
    const site = this.#planner.siteOf(resources);
    // A token redemption or a server for AccessGrants must not outlive the Site that started it.
    if (site === undefined) await this.#signing.end();
    if (!this.#leads || this.#identity === undefined || site === undefined) {
      return { facts: noTrust, problems: [], issued: await platform.stores.bundles.list(), restless: false };
    }
    const settings = readSettings(site);
    const unread = new Set(problems.map(({ resource }) => resource));
    const input = { resources, site, settings, reach: platform.reach(), incomplete, unread, userBundles: bundles, attached, now };
    return this.#signing.step(input, this.#identity);
  }

  async #plan(snapshot: Snapshot, issued: BundleSet, now: number): Promise<Planned> {
    const { platform } = this.#options;
    const reach = platform.reach();
    const siteAuthority = await this.#siteAuthority(snapshot);
    const bundleLocation = (name: string): string => platform.source.bundleLocation(name);
    return this.#planner.plan({ snapshot, issued, siteAuthority, platform, reach, bundleLocation }, now);
  }

  async #siteAuthority(snapshot: Snapshot): Promise<string | undefined> {
    const site = this.#planner.siteOf(snapshot.resources);
    if (site === undefined) return undefined;
    try {
      return await this.#signing.siteAuthority(site, this.#leads, snapshot);
    } catch (error) {
      this.#sayOnce('authority', error, `the site's certificate authority cannot be used: ${messageOf(error)}`);
      return undefined;
    }
  }

  async #apply(plan: SitePlan, { unreadSite, reachedAt }: Snapshot): Promise<void> {
    if (this.#identity === undefined) {
      this.#unready = 'the process that manages the site has not created its key yet';
      return;
    }
    const siteless = unreadSite === undefined ? 'this namespace has no Site; create one' : `no site runs in this namespace: ${unreadSite}`;
    if (plan.site !== undefined || this.#router.config !== undefined)
      await this.#router.apply(await this.#configOf(plan, this.#identity, reachedAt));
    this.#unready = plan.site === undefined ? siteless : unlistedNetwork(plan.site, this.#options.platform.network);
  }

  async #configOf(plan: SitePlan, { id, key }: Identity, reachedAt: Snapshot['reachedAt']): Promise<RouterConfig> {
    const { platform, router, version } = this.#options;
    const routers = platform.routers?.(plan.site) ?? 1;
    const siblings = await platform.siblings.config(plan.site?.spec.ha === true || routers > 1);
    const name = plan.site === undefined ? (this.#router.config?.site.name ?? '') : nameOf(plan.site);
    return {
      site: { id, name, namespace: platform.namespace, platform: platform.name, version },
      siteKey: key,
      router,
      ...(platform.network === undefined ? {} : { network: platform.network }),
      ...(routers === 1 ? {} : { memoryParts: routers }),
      ...plan.config,
      revoked: await this.#signing.revocations(),
      ...(siblings === undefined ? {} : { siblings }),
      ...(reachedAt === undefined ? {} : { reachedAt }),
    };
  }

  async #renew(...asked: Parameters<NonNullable<RouterHooks['renew']>>): Promise<IssuedCertificate> {
    const site = this.#reporter.seen?.plan.site;
    if (site === undefined) throw noSite();
    return this.#signing.renew(site, ...asked);
  }

  #onRouterChange(): void {
    this.#reporter.changed();
    this.#reports.request();
  }

  #reportDelay(): number {
    const { seen } = this.#reporter;
    const many = seen === undefined ? 0 : allOf(seen.snapshot.resources).length;
    const now = performance.now();
    return Math.max(REPORT_AFTER, this.#reportedAt + REPORT_OF_EACH * many - now, this.#reportTime.wait(now));
  }

  #onReportTime(): void {
    // Open link ports decide the endpoints that other sites receive, and a link that comes up may have a renewal due.
    if (this.#timed(() => this.#router.linksChanged())) this.#passes.request();
    detached('pass/report', () => this.#reportChange());
  }

  /** Waits for a reconcile that was ending, since it may have missed the change. One that runs after that reports the change itself. */
  async #reportChange(): Promise<void> {
    await this.#passes.idle();
    try {
      if (!this.#passes.ended && !this.#passes.running) this.#report();
    } catch (error) {
      // The next reconcile, which comes within seconds, reports again.
      this.#reportFailed(error);
    }
  }

  #report(): void {
    this.#reportedAt = performance.now();
    if (this.#leads) this.#timed(() => this.#reporter.report());
  }

  /** Counts the CPU time of `work` as part of a report. */
  #timed<R>(work: () => R): R {
    const began = performance.now();
    try {
      return work();
    } finally {
      const now = performance.now();
      this.#reportTime.spend(now - began, now);
    }
  }

  #reportFailed(error: unknown): void {
    this.#sayOnce('report', error, `the statuses cannot be updated: ${messageOf(error)}`);
  }

  #sayOnce(what: string, error: unknown, message: string): void {
    this.#once.say(`${what}: ${message}`, () => this.#options.log.error({ error }, message));
  }
}

/** Reason why the router of a network carries nothing; undefined on the network of the machine. */
function unlistedNetwork(site: Site, network: string | undefined): string | undefined {
  if (network === undefined || siteNetworks(site).includes(network)) return undefined;
  return `the Site does not list the network ${network}; add it to settings.networks of the Site, or stop this router`;
}

function signingOf(
  { signing, stores, source }: SitePlatform,
  common: Pick<OwnSigningOptions, 'log' | 'clock' | 'onChange' | 'routerState'>,
): SiteSigning {
  if (signing.kind === 'here') return new OwnSigning({ signing, source, ...common });
  return new RemoteSigning({ signing, stores, bundleLocation: (name) => source.bundleLocation(name), ...common });
}
