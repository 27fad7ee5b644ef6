/** `earshot run`: runs one router of a site in the foreground. */
import type { ServerResponse } from 'node:http';
import type { Agent } from '../../agent/agent.ts';
import { RouterApi } from '../../agent/api/router-api.ts';
import type { Site } from '../../api/skupper/index.ts';
import { DEFAULT_PORTS } from '../../api/skupper/names.ts';
import { BUILD, VERSION } from '../../version.ts';
import { DEFAULT_ROUTER, layoutOf, requireLabel, routerFiles, type NamespaceLayout } from '../../platform/linux/layout.ts';
import { machinePlatform } from '../../platform/linux/machine.ts';
import { announceRouter, leadingRouters, lockRouter, withdrawRouter } from '../../platform/linux/routers.ts';
import { ownProcess } from '../../platform/linux/running-process.ts';
import { serveApi } from '../../platform/linux/router-api.ts';
import { ensurePlatformFile } from '../../platform/linux/platform-file.ts';
import { makeNamespace, startSite } from '../../platform/linux/site.ts';
import { isNetworkAlias, networkFault, networkRouterName } from '../../site/networks.ts';
import { siteRouters } from '../../site/site-routers.ts';
import { starting, timestamp } from '../../agent/stale-status.ts';
import { markStale } from '../../platform/linux/stale-status.ts';
import { openFilesLimit } from '../../telemetry/open-files.ts';
import { memoryLimit } from '../../memory/limit.ts';
import { startRouter } from '../../router/router.ts';
import { bounded, logInternalErrors } from '../../telemetry/boundary.ts';
import { answerMetrics, serveTelemetry } from './telemetry-http.ts';
import { createLogger, messageOf, type LogLevel, type Logger } from '../../telemetry/log.ts';
import { reportMissingInternals } from '../../net/node-internals.ts';
import { registerProcessMetrics } from '../../telemetry/metrics.ts';
import { quoted } from '../../text/printable.ts';
import { CliError } from '../errors.ts';
import { aborted } from '../../work/pause.ts';
import { followMemory } from './gc-policy.ts';
import { machineShare } from './machine-share.ts';
import { widenFileTable } from './file-table.ts';
import { createCrashHandler } from './crash-handler.ts';
import { warnAboutFewFiles } from './open-files.ts';

export interface RunCommand {
  readonly namespace: string;
  /** Name of the router in the site. Default: the first. */
  readonly router?: string;
  /** Container network of the router, which then serves only the part of the site in that network. */
  readonly network?: string;
  /** HTTP port on the loopback address; 0 for any free port. The port is written to `runtime/run/ROUTER.json`. */
  readonly httpPort: number;
  readonly logLevel: LogLevel;
  /** Maximum memory of the process in bytes. Default: that of the machine or the limit of its control group. */
  readonly memory?: number;
  /** Number of ended and failed connections to keep records of; 0 for no records. */
  readonly records: number;
  /** Seconds for which open connections may continue after a stop. Default 30. */
  readonly drainSeconds?: number;
  /** Set if a supervisor runs the site's routers. */
  readonly supervised?: Supervised;
}

export interface Supervised {
  /** Number of routers of the site when this one started, if it is known. */
  readonly routers?: number;
  /** Called when a user asks this router to stop, which stops the site. */
  readonly stop: () => void;
  /** Called on SIGHUP, besides the router's own reload. */
  readonly reload?: () => void;
  /** Answers `/metrics`. @param own answers with the metrics of this process */
  readonly metrics?: (response: ServerResponse, own: typeof answerMetrics) => void;
}

/**
 * Runs until `until` is aborted, then drains.
 * @throws EarshotError
 */
export async function runSite(options: RunCommand, until: AbortSignal): Promise<void> {
  const layout = layoutOf(options.namespace);
  const { network, supervised } = options;
  if (network !== undefined) requireNetwork(network);
  const router = options.router ?? (network === undefined ? DEFAULT_ROUTER : networkRouterName(network));
  requireLabel(router, 'router');
  const log = createLogger({ level: options.logLevel, component: 'router' }).child({ namespace: layout.namespace, router });
  logInternalErrors(log);
  const asked = new AbortController();
  using resort = createCrashHandler(log, AbortSignal.any([until, asked.signal]));
  registerProcessMetrics(VERSION);
  reportMissingInternals(log);
  void widenFileTable();
  await makeNamespace(layout);
  await ensurePlatformFile(layout).catch((error: unknown) => log.warn({ error }, `the platform cannot be noted: ${messageOf(error)}`));
  using _lock = await lockRouter(layout, router);
  // Removes the socket of a killed process.
  await withdrawRouter(layout, router);
  // Statuses that a previous process wrote are not valid for this one, so they are marked as stale.
  if (network === undefined && (await leadingRouters(layout)).length === 0)
    await markStale(layout.runtime.resources, starting, timestamp());
  let unready: () => string | undefined = () => 'starting';
  let site: Agent | undefined;
  const ofMachine = memoryLimit(options.memory);
  const ownMemory = (): number => ofMachine / (site?.router.config?.memoryParts ?? 1);
  using _collector = followMemory(ownMemory);
  const reload = bounded('pass/reload', () => {
    log.info('reloading');
    site?.reload();
    supervised?.reload?.();
  });
  const startedAt = new Date().toISOString();
  const api = new RouterApi({
    router,
    version: VERSION,
    startedAt,
    site: () => site?.router.config?.site,
    state: () => site?.router.state,
    links: () => site?.router.config?.links ?? [],
    records: () => site?.router.records,
    keyFigures: () => site?.router.keyFigures,
    changes: () => site?.changes,
    probe: async (target) => site?.router.running?.probe(target),
    observe: async (siteId) => site?.router.running?.observe(siteId),
    selfFigures: () => site?.router.running?.selfFigures,
    figures: () => site?.router.running?.readFigures?.(),
    unready: () => unready(),
    control: {
      reload,
      stop: () => {
        supervised?.stop();
        asked.abort();
      },
    },
    now: Date.now,
  });
  await using _api = await serveApi(layout, router, api, log, answerMetrics);
  await using telemetry = await serveTelemetry({
    port: options.httpPort,
    avoid: Object.values(DEFAULT_PORTS),
    host: '127.0.0.1',
    metrics: (response) => (supervised?.metrics === undefined ? answerMetrics(response) : supervised.metrics(response, answerMetrics)),
    live: () => undefined,
    ready: () => unready(),
  });
  const inNetwork = network === undefined ? {} : { network, ...announcedAliases(process.env['EARSHOT_ALIASES']) };
  await announceRouter(layout, {
    ...ownProcess(),
    router,
    httpPort: telemetry.port,
    startedAt,
    version: VERSION,
    ...(BUILD && { commit: BUILD.commit }),
    ...inNetwork,
  });
  try {
    const { memory, records } = options;
    const start: typeof startRouter = (config, hooks, given) => startRouter(config, hooks, { ...given, memory, records });
    let count = supervised?.routers;
    const routers = (desired: Site | undefined): number => (count = siteRouters(desired, machineShare(memory), count));
    await using started = await startSite({
      layout,
      router,
      network,
      routers: supervised === undefined ? undefined : routers,
      version: VERSION,
      log,
      start,
    });
    site = started;
    unready = () => started.unready;
    process.on('SIGHUP', reload);
    reportRunning(log, layout, router, telemetry.port, ownMemory());
    await aborted(resort.stopped);
    unready = () => 'draining';
    const deadline = resort.drain((options.drainSeconds ?? 30) * 1000);
    log.info({ seconds: deadline / 1000 }, 'draining');
    await started.drain(deadline);
    process.off('SIGHUP', reload);
  } finally {
    // If the disk is not writable, the files remain. The lock decides whether a router runs.
    await withdrawRouter(layout, router).catch((error: unknown) => log.warn({ error }, 'runtime files of this router cannot be removed'));
  }
  log.info('stopped');
}

const NOT_IN_CONTAINER =
  'it does not run in a container. Start it with `earshot system start`, or set EARSHOT_PLATFORM to podman or docker in the container.';

/** @throws CliError `usage` */
function requireNetwork(network: string): void {
  const fault = networkFault(network) ?? (machinePlatform().capabilities.has('container-networks') ? undefined : NOT_IN_CONTAINER);
  if (fault !== undefined) throw new CliError('usage', `The router of the network ${quoted(network)} cannot start: ${fault}`);
}

/** @param text names in DNS, separated by commas; the unit that starts the container sets them */
function announcedAliases(text: string | undefined): { readonly aliases?: readonly string[] } {
  if (text === undefined) return {};
  return { aliases: text.split(',').filter((alias) => isNetworkAlias(alias)) };
}

function reportRunning(log: Logger, layout: NamespaceLayout, router: string, httpPort: number, memory: number): void {
  const openFiles = openFilesLimit();
  const { state } = routerFiles(layout, router);
  log.info({ directory: layout.root, httpPort, state, openFiles, memory, version: VERSION }, 'running');
  warnAboutFewFiles(log, openFiles);
}
