/** `earshot run` without the name of a router: runs as many routers of a site as its setting asks for. */
import type { ServerResponse } from 'node:http';
import { OnceLog } from '../../agent/once-log.ts';
import { DEFAULT_PORTS } from '../../api/skupper/names.ts';
import { DirectoryWatch } from '../../platform/linux/watch.ts';
import { InputReader } from '../../platform/linux/input.ts';
import { DEFAULT_ROUTER, layoutOf, type NamespaceLayout } from '../../platform/linux/layout.ts';
import { askRouter, askRouterText } from '../../platform/linux/router-api.ts';
import { lockedRouters, lockSupervisor } from '../../platform/linux/routers.ts';
import { makeNamespace } from '../../platform/linux/site.ts';
import { routerNames } from '../../platform/linux/supervisor-plan.ts';
import { chooseSite } from '../../site/plan/plan.ts';
import { siteRouters } from '../../site/site-routers.ts';
import { sortResources } from '../../site/resources.ts';
import { Coalescer } from '../../limits/loop/coalescer.ts';
import { bounded, detached, logInternalErrors } from '../../telemetry/boundary.ts';
import { createLogger, messageOf, type Logger } from '../../telemetry/log.ts';
import { mergeMetrics } from '../../text/merge-metrics.ts';
import { isRecord } from '../../text/is-record.ts';
import { aborted } from '../../work/pause.ts';
import { VERSION } from '../../version.ts';
import { createCrashHandler } from './crash-handler.ts';
import { machineShare } from './machine-share.ts';
import { Renderings } from './renderings.ts';
import { RouterSupervisor } from './router-supervisor.ts';
import type { RunCommand } from './run-site.ts';
import { serveTelemetry } from './telemetry-http.ts';

export type SuperviseCommand = Omit<RunCommand, 'router' | 'network' | 'supervised'>;

/** Milliseconds between two polls of the Site's file, besides events. */
const POLL = 5_000;
/** Milliseconds beyond the drain after which a router is killed. */
const END_GRACE = 8_000;
const DRAIN_SECONDS = 30;
/** Some metrics have a label `router` for the other end of a link. */
const ROUTER_LABEL = 'own_router';

/**
 * Runs until `until` is aborted, then drains. A single router runs in this process. Several run in processes of their own, so that the end
 * of one does not affect the others.
 * @throws EarshotError
 */
export async function superviseSite(options: SuperviseCommand, until: AbortSignal): Promise<void> {
  const layout = layoutOf(options.namespace);
  const log = createLogger({ level: options.logLevel, component: 'supervisor' }).child({ namespace: layout.namespace });
  await makeNamespace(layout);
  using _lock = await lockSupervisor(layout);
  // Routers of a killed supervisor still drain. The new ones take other names, so that they open the ports at once.
  const taken = await lockedRouters(layout);
  const asked = new AbortController();
  const stopped = AbortSignal.any([until, asked.signal]);
  const wish = new RouterCount(layout, options.memory, log);
  const first = await wish.read();
  const [mainRouter = DEFAULT_ROUTER] = routerNames(1, taken);
  // Names of the routers that are not this process.
  const others = (count: number): readonly string[] => routerNames(count, taken).slice(first === 1 ? 1 : 0);
  await using supervisor = new RouterSupervisor({
    log,
    command: (router) => commandOf(router, wish.count ?? first, options),
    endWithin: (options.drainSeconds ?? DRAIN_SECONDS) * 1_000 + END_GRACE,
    onStopAsked: () => asked.abort(),
  });
  using following = wish.follow((count) => supervisor.setDesired(others(count)));
  const reload = (): void => {
    supervisor.reload();
    following.look();
  };
  const drainOthers = (): void => detached('process/drain-routers', () => supervisor.stop());
  stopped.addEventListener('abort', bounded('process/supervisor-stopped', drainOthers));
  const site = new SupervisedSite(layout, supervisor);
  if (first === 1) {
    const metrics = (response: ServerResponse, own: (response: ServerResponse) => void): void => {
      if (supervisor.running.length === 0) own(response);
      else site.answerMetrics(response, [mainRouter, ...supervisor.running]);
    };
    // Not loaded by a supervisor, which needs none of it.
    const { runSite } = await import('./run-site.ts');
    const supervised = { routers: first, stop: () => asked.abort(), reload, metrics };
    await runSite({ ...options, router: mainRouter, supervised }, stopped);
    return;
  }
  logInternalErrors(log);
  using resort = createCrashHandler(log, stopped);
  supervisor.setDesired(others(first));
  await using telemetry = await serveTelemetry({
    port: options.httpPort,
    avoid: Object.values(DEFAULT_PORTS),
    host: '127.0.0.1',
    metrics: (response) => site.answerMetrics(response, supervisor.running),
    live: () => undefined,
    ready: () => (stopped.aborted ? 'draining' : site.unready()),
  });
  process.on('SIGHUP', reload);
  log.info({ directory: layout.root, httpPort: telemetry.port, routers: first, version: VERSION }, 'running');
  await aborted(resort.stopped);
  log.info({ seconds: options.drainSeconds ?? DRAIN_SECONDS }, 'draining');
  await supervisor.stop();
  process.off('SIGHUP', reload);
  log.info('stopped');
}

function commandOf(router: string, count: number, options: SuperviseCommand): readonly string[] {
  const { namespace, logLevel, memory, records, drainSeconds = DRAIN_SECONDS } = options;
  const [, script = ''] = process.argv;
  const own = [
    '--router',
    router,
    '--supervised',
    String(count),
    '--http-port',
    '0',
    '--log-level',
    logLevel,
    '--records',
    String(records),
  ];
  const drain = ['--drain-timeout', drainSeconds === 0 ? '0' : `${Math.ceil(drainSeconds * 1_000)}ms`];
  const most = memory === undefined ? [] : ['--memory', String(memory)];
  return [...process.execArgv, script, '-n', namespace, 'run', ...own, ...drain, ...most];
}

/** Number of routers that the Site asks for. */
class RouterCount {
  readonly #layout: NamespaceLayout;
  readonly #log: Logger;
  readonly #input: InputReader;
  readonly #memory: number | undefined;
  #site: ReturnType<typeof chooseSite>['site'];
  #count: number | undefined;

  constructor(layout: NamespaceLayout, memory: number | undefined, log: Logger) {
    this.#layout = layout;
    this.#memory = memory;
    this.#log = log;
    this.#input = new InputReader(layout);
  }

  /** Number that was read last. */
  get count(): number | undefined {
    return this.#count;
  }

  async read(): Promise<number> {
    const { objects } = await this.#input.read();
    const { site } = chooseSite(sortResources(objects), this.#site);
    this.#site = site ?? this.#site;
    this.#count = siteRouters(site, machineShare(this.#memory), this.#count);
    return this.#count;
  }

  /** Calls back with each other number. */
  follow(onChange: (count: number) => void): Disposable & { readonly look: () => void } {
    let before = this.#count;
    const once = new OnceLog();
    const look = async (): Promise<void> => {
      try {
        const count = await this.read();
        if (count === before) return;
        this.#log.info({ before, routers: count }, 'the number of routers changes');
        before = count;
        onChange(count);
      } catch (error) {
        const message = messageOf(error);
        once.say(message, () => this.#log.warn({ error }, `the number of routers cannot be read: ${message}`));
      }
    };
    const looks = new Coalescer('look/router-count', look);
    const watcher = new DirectoryWatch({ onChange: () => looks.request(), poll: POLL });
    watcher.follow([this.#layout.input.resources]);
    return {
      look: () => looks.request(),
      [Symbol.dispose]: () => {
        watcher[Symbol.dispose]();
        detached('look/router-count-end', () => looks.end());
      },
    };
  }
}

/** What the routers of the site say together. */
class SupervisedSite {
  readonly #layout: NamespaceLayout;
  readonly #supervisor: RouterSupervisor;
  #asked: readonly string[] = [];
  readonly #metrics = new Renderings(() => this.#renderMetrics());
  readonly #readiness = new Renderings(() => this.#readReadiness());

  constructor(layout: NamespaceLayout, supervisor: RouterSupervisor) {
    this.#layout = layout;
    this.#supervisor = supervisor;
  }

  /** Metrics of these routers, each sample with the label `own_router`. A router that does not answer is left out. */
  answerMetrics(response: ServerResponse, routers: readonly string[]): void {
    this.#asked = routers;
    const answer = async (): Promise<void> => {
      response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(await this.#metrics.latest());
    };
    detached('request/site-metrics', answer, () => response.writeHead(500).end());
  }

  /** Resolves to the reason why no router is ready; to undefined if one is. */
  unready(): Promise<string | undefined> {
    return this.#readiness.latest();
  }

  async #renderMetrics(): Promise<string> {
    const texts = await Promise.all(
      this.#asked.map(async (router) => [router, await askRouterText(this.#layout, router, '/metrics').catch(() => '')] as const),
    );
    return mergeMetrics(ROUTER_LABEL, new Map(texts));
  }

  /** Resolves once one router is ready, because another one may take seconds to answer. */
  async #readReadiness(): Promise<string | undefined> {
    try {
      await Promise.any(this.#supervisor.running.map((router) => this.#expectReady(router)));
      return undefined;
    } catch (error) {
      const [first]: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
      return first === undefined ? 'no router runs' : messageOf(first);
    }
  }

  /** @throws Error why the router is not ready */
  async #expectReady(router: string): Promise<void> {
    const self = await askRouter(this.#layout, router, '/v1/self').catch((cause: unknown) => {
      throw new Error(`the router ${router} is starting`, { cause });
    });
    if (!isRecord(self) || self['ready'] === true) return;
    throw new Error(typeof self['unready'] === 'string' ? self['unready'] : 'starting');
  }
}
