/** A running site: files to router, router to files. */
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { clearTimeout, setTimeout } from 'node:timers';
import { openLedger } from '../trust/disk/ledger.ts';
import { revocationsOf } from '../trust/revocation.ts';
import type { Ledger } from '../trust/stores.ts';
import type { IssuedCertificate, Router, RouterConfig, RouterHooks, Revocations } from '../router/contract.ts';
import { noTrust } from '../site/observe/trust-facts.ts';
import { observeSite, type AnyStatus } from '../site/observe/observe.ts';
import { planSite, type SitePlan } from '../site/plan/plan.ts';
import type { ResourceProblem } from '../site/problem.ts';
import { nameOf, sortResources, type ResourceKey, type SiteResources } from '../site/resources.ts';
import { messageOf, type Logger } from '../telemetry/log.ts';
import { createAuthorities } from './authorities.ts';
import { readBundles } from '../platform/linux/bundles.ts';
import { makeDirectory, writeDurably } from '../files/durable.ts';
import { openIdentity, type Identity } from '../platform/linux/identity.ts';
import { createInputReader } from '../platform/linux/input.ts';
import type { NamespaceLayout } from '../platform/linux/layout.ts';
import type { Lock } from '../files/lock.ts';
import { linux, machineReach } from '../platform/linux/machine.ts';
import { gatherMaterial } from './material.ts';
import type { FileProblem } from '../platform/linux/parse.ts';
import { problemsFile, problemsOfFiles, statusFiles, unreadSite } from '../platform/linux/report.ts';
import { renewPeer } from './renew-peer.ts';
import { runningRouters, siblingsOf, tryLead } from '../platform/linux/routers.ts';
import { readSettings } from './settings.ts';
import { createSettler } from './torn-bundles.ts';
import { cannotStart, restate, stopped, stopping, timestamp, type Standing } from '../platform/linux/stale-status.ts';
import { StatusWriter } from '../platform/linux/status-writer.ts';
import { createTrust, type Trust, type TrustOutcome } from './trust.ts';
import { startWatch } from '../platform/linux/watch.ts';
import { EarshotError } from '../errors/earshot-error.ts';

export type StartRouter = (config: RouterConfig, hooks: RouterHooks, options: { readonly log: Logger }) => Promise<Router>;

export interface SiteOptions {
  readonly layout: NamespaceLayout;
  readonly router: string;
  readonly version: string;
  readonly log: Logger;
  readonly start: StartRouter;
}

export interface RunningSite extends AsyncDisposable {
  /** Reads everything again now. */
  reload(): void;
  /** Why the site does not carry traffic yet; undefined when it does. */
  readonly unready: string | undefined;
  /** Lets connections finish for so many milliseconds at most. */
  drain(deadline: number): Promise<void>;
}

/** Makes the directories of a namespace that are missing. */
export async function makeNamespace(layout: NamespaceLayout): Promise<void> {
  const { input, internal, runtime } = layout;
  for (const open of [layout.root, input.resources, input.certs, input.issuers, runtime.resources]) await makeDirectory(open, 0o755);
  for (const closed of [internal.root, internal.site, internal.certs, internal.grants, internal.links, runtime.links, runtime.run]) {
    await makeDirectory(closed, 0o700);
  }
}

export async function startSite(options: SiteOptions): Promise<RunningSite> {
  const { layout, log } = options;
  const site = new SiteLoop(options);
  const watcher = startWatch({ onChange: () => site.refresh(), poll: 5000 });
  site.onDirectories = (directories) => watcher.follow(directories);
  site.refresh();
  await site.settled();
  if (site.unready !== undefined) log.info({ namespace: layout.namespace }, `not ready: ${site.unready}`);
  return {
    reload: () => site.refresh(),
    get unready() {
      return site.unready;
    },
    drain: async (deadline) => {
      watcher[Symbol.dispose]();
      await site.drain(deadline);
    },
    [Symbol.asyncDispose]: async () => {
      watcher[Symbol.dispose]();
      await site.end();
    },
  };
}

/** One pass at a time; what changes meanwhile makes another. */
class SiteLoop {
  onDirectories: (directories: readonly string[]) => void = () => {};
  unready: string | undefined = 'starting';

  readonly #options: SiteOptions;
  readonly #input;
  readonly #authorities;
  readonly #writer;
  #pass: Promise<void> | undefined;
  #again = false;
  #ended = false;

  #identity: Identity | undefined;
  #lead: Lock | undefined;
  #trust: Trust | undefined;
  #ledger: Ledger | undefined;
  #router: Router | undefined;
  #applied: RouterConfig | undefined;

  /** What the last pass saw, for reports between passes. */
  #seen:
    | {
        readonly resources: SiteResources;
        readonly plan: SitePlan;
        readonly problems: readonly ResourceProblem[];
        readonly files: readonly FileProblem[];
        readonly trust: TrustOutcome['facts'];
      }
    | undefined;
  #statuses: ReadonlyMap<ResourceKey, AnyStatus> = new Map();
  #reportTimer: ReturnType<typeof setTimeout> | undefined;
  #listening = '';
  #problemsWritten: string | undefined;
  readonly #told = new Set<string>();
  readonly #settle = createSettler();
  #restless: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SiteOptions) {
    this.#options = options;
    const { layout, log } = options;
    this.#input = createInputReader(layout);
    this.#authorities = createAuthorities(layout);
    this.#writer = new StatusWriter({
      directory: layout.runtime.resources,
      onTrouble: (trouble) => (trouble === undefined ? log.info('statuses can be written again') : log.error(trouble)),
    });
  }

  refresh(): void {
    if (this.#ended) return;
    this.#again = true;
    this.#pass ??= this.#run().finally(() => {
      this.#pass = undefined;
      if (this.#again) this.refresh();
    });
  }

  async settled(): Promise<void> {
    await this.#pass;
  }

  async drain(deadline: number): Promise<void> {
    this.#ended = true;
    await this.#pass;
    await this.#restate(stopping);
    await this.#router?.drain(deadline);
  }

  async end(): Promise<void> {
    this.#ended = true;
    this.#again = false;
    clearTimeout(this.#reportTimer);
    clearTimeout(this.#restless);
    await this.#pass;
    await this.#trust?.[Symbol.asyncDispose]();
    await this.#router?.[Symbol.asyncDispose]();
    await this.#restate(stopped(this.#options.layout.namespace));
    this.#lead?.[Symbol.dispose]();
  }

  /** The last word of this process on the statuses, unless another router of the site has the next one. */
  async #restate(standing: Standing): Promise<void> {
    const { layout, router } = this.#options;
    await this.#writer.settled();
    this.#writer[Symbol.dispose]();
    const others = (await runningRouters(layout)).filter((running) => running.router !== router);
    if (this.#lead !== undefined && others.length === 0) await restate(layout.runtime.resources, standing, timestamp());
  }

  async #run(): Promise<void> {
    this.#again = false;
    try {
      await this.#once();
    } catch (error) {
      const message = messageOf(error);
      this.unready = message;
      this.#tell(`pass: ${message}`, () => this.#options.log.error({ error }, `the site cannot be brought up to date: ${message}`));
      if (this.#seen !== undefined || this.#lead === undefined) return;
      const { resources } = this.#options.layout.runtime;
      await restate(resources, cannotStart(message), timestamp()).catch((cause: unknown) => this.#tellReport(cause));
    }
  }

  async #once(): Promise<void> {
    const { layout } = this.#options;
    await this.#takeLead();
    this.#identity ??= await openIdentity(layout, this.#lead !== undefined);
    const [input, user] = await Promise.all([this.#input.read(), readBundles(layout.input.certs)]);
    this.#tellFiles(input.problems);
    const resources = sortResources(input.objects);
    const [site] = resources.Site;
    const outcome = site === undefined ? { facts: noTrust, problems: [] } : await this.#stepTrust(resources, new Set(user.bundles.keys()));
    const issued = await readBundles(layout.internal.certs);
    this.onDirectories([
      layout.input.resources,
      layout.internal.links,
      layout.internal.root,
      layout.runtime.run,
      ...user.directories,
      ...issued.directories,
    ]);
    const settled = this.#settle(user.bundles, Date.now());
    if (settled.restless || input.restless) this.#lookAgain();
    const material = gatherMaterial(
      { user: { ...user, bundles: settled.bundles }, secrets: input.bundles, issued },
      await this.#siteAuthority(resources),
      layout,
    );
    const unread = unreadSite(input.problems);
    const plan = planSite(resources, material, this.#seen?.plan, unread);
    const settings = plan.site === undefined ? [] : readSettings(plan.site).problems;
    this.#seen = {
      resources,
      plan,
      problems: [...problemsOfFiles(input.problems), ...outcome.problems, ...settings],
      files: input.problems,
      trust: outcome.facts,
    };
    await this.#apply(
      plan,
      unread === undefined ? 'this namespace has no Site; create one' : `nothing runs in this namespace, since ${unread}`,
    );
    if (this.#router !== undefined) await this.#trust?.follow(this.#router, plan.config.links);
    await this.#report();
  }

  #lookAgain(): void {
    this.#restless ??= setTimeout(() => {
      this.#restless = undefined;
      this.refresh();
    }, 500);
  }

  /** The first process of a site leads; when it ends, another does. */
  async #takeLead(): Promise<void> {
    if (this.#lead !== undefined) return;
    this.#lead = tryLead(this.#options.layout);
    if (this.#lead !== undefined) this.#options.log.info('this process looks after the site');
  }

  async #stepTrust(resources: SiteResources, userBundles: ReadonlySet<string>): Promise<TrustOutcome> {
    const [site] = resources.Site;
    if (this.#lead === undefined || this.#identity === undefined || site === undefined) return { facts: noTrust, problems: [] };
    this.#trust ??= await createTrust({
      layout: this.#options.layout,
      identity: this.#identity,
      authorities: this.#authorities,
      log: this.#options.log,
      routerState: () => this.#router?.state,
      onChange: () => this.refresh(),
    });
    const { settings } = readSettings(site);
    return this.#trust.step({ resources, site, settings, reach: machineReach(), userBundles, now: Date.now() });
  }

  async #siteAuthority(resources: SiteResources): Promise<string | undefined> {
    const [site] = resources.Site;
    if (site === undefined) return undefined;
    const { layout } = this.#options;
    // Only the leader makes what is missing.
    const isThere = await access(join(layout.internal.ca, 'tls.crt')).then(
      () => true,
      () => false,
    );
    if (this.#lead === undefined && !isThere && (site.spec.defaultIssuer ?? '') === '') return undefined;
    try {
      return (await this.#authorities.find(undefined, site)).ca;
    } catch (error) {
      const message = messageOf(error);
      this.#tell(`authority: ${message}`, () =>
        this.#options.log.error({ error }, `the site's certificate authority cannot be used: ${message}`),
      );
      return undefined;
    }
  }

  /** @param siteless what to say where there is no Site */
  async #apply(plan: SitePlan, siteless: string): Promise<void> {
    const { layout, router: name, version, log, start } = this.#options;
    const identity = this.#identity;
    if (identity === undefined) {
      this.unready = 'the process that looks after the site has not made its key yet';
      return;
    }
    if (plan.site === undefined && this.#applied === undefined) {
      this.unready = siteless;
      return;
    }
    const siblings = await siblingsOf(layout, name, plan.site?.spec.ha === true);
    const config: RouterConfig = {
      site: {
        id: identity.id,
        name: plan.site === undefined ? (this.#applied?.site.name ?? '') : nameOf(plan.site),
        namespace: layout.namespace,
        platform: linux.name,
        version,
      },
      siteKey: identity.key,
      router: name,
      ...plan.config,
      revoked: await this.#revoked(),
      ...(siblings === undefined ? {} : { siblings }),
    };
    this.#applied = config;
    if (this.#router === undefined) {
      this.#router = await start(config, { renew: (peer, request) => this.#renew(peer, request) }, { log });
      this.#router.onChange(() => this.#onRouterChange());
    } else {
      this.#router.apply(config);
    }
    this.unready = plan.site === undefined ? siteless : undefined;
  }

  /** Also where another router looks after the site: a link stays with the router that it came to, and may outlast its certificate. */
  async #renew(peer: Parameters<NonNullable<RouterHooks['renew']>>[0], request: string): Promise<IssuedCertificate> {
    const site = this.#seen?.plan.site;
    if (site === undefined) throw new EarshotError('no-site', 'this namespace has no Site that runs; create one');
    return renewPeer({ site, authorities: this.#authorities, ledger: await this.#records() }, peer, request);
  }

  async #records(): Promise<Ledger> {
    this.#ledger ??= await openLedger(this.#options.layout.internal.trust);
    return this.#ledger;
  }

  async #revoked(): Promise<Revocations> {
    return revocationsOf(await (await this.#records()).revoked());
  }

  #onRouterChange(): void {
    if (this.#ended || this.#router === undefined) return;
    // What listens decides what other sites are told, and a link that comes up may have a renewal due.
    const { accesses, links } = this.#router.state;
    const listening = JSON.stringify([
      Object.entries(accesses).map(([name, { listening: on, port }]) => [name, on, port]),
      Object.entries(links).map(([name, { operational }]) => [name, operational]),
    ]);
    if (listening !== this.#listening) {
      this.#listening = listening;
      this.refresh();
    }
    this.#reportTimer ??= setTimeout(() => {
      this.#reportTimer = undefined;
      // The next pass reports again: it comes within seconds.
      this.#reportChange().catch((error: unknown) => this.#tellReport(error));
    }, 30);
  }

  #tellReport(error: unknown): void {
    const message = messageOf(error);
    this.#tell(`report: ${message}`, () => this.#options.log.error({ error }, `the statuses cannot be brought up to date: ${message}`));
  }

  /** A pass that is nearly over may have looked at the router before it changed; one that begins has not. */
  async #reportChange(): Promise<void> {
    await this.#pass;
    if (!this.#ended && this.#pass === undefined) await this.#report();
  }

  async #report(): Promise<void> {
    if (this.#lead === undefined || this.#seen === undefined) return;
    const { layout, version, log } = this.#options;
    const { resources, plan, problems, files, trust } = this.#seen;
    const now = timestamp();
    this.#statuses = observeSite(
      {
        resources,
        plan,
        problems,
        trust,
        reach: machineReach(),
        controller: { name: 'earshot', namespace: layout.namespace, version },
        ...(this.#router === undefined ? {} : { router: this.#router.state }),
      },
      this.#statuses,
      now,
    );
    this.#writer.write(statusFiles(resources, this.#statuses, files, now));
    const text = problemsFile(files);
    if (text === this.#problemsWritten) return;
    try {
      await writeDurably(layout.runtime.problems, text, 0o644);
      this.#problemsWritten = text;
    } catch (error) {
      this.#tell(`problems: ${messageOf(error)}`, () =>
        log.error({ error }, `${layout.runtime.problems} cannot be written: ${messageOf(error)}`),
      );
    }
  }

  #tellFiles(problems: readonly FileProblem[]): void {
    for (const problem of problems) {
      const { file, line, field, resource, message, severity } = problem;
      this.#tell(`file: ${JSON.stringify(problem)}`, () =>
        this.#options.log[severity === 'error' ? 'error' : 'warn']({ file, line, field, resource }, message),
      );
    }
  }

  /** Each thing once, as passes come every few seconds; bounded, as a file may change for ever. */
  #tell(key: string, log: () => void): void {
    if (this.#told.has(key)) return;
    if (this.#told.size >= 1000) this.#told.clear();
    this.#told.add(key);
    log();
  }
}
