/** `earshot router`: one router of a site in a cluster. */
import { Agent } from '../../agent/agent.ts';
import { RouterApi } from '../../agent/api/router-api.ts';
import { LOCAL_SERVER } from '../../api/skupper/cluster-names.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { startInformer } from '../../kube/watch/informer.ts';
import { ApiPort, type ApiPortOptions } from '../../platform/kubernetes/api-port.ts';
import { reportMissingInternals } from '../../net/node-internals.ts';
import { clusterPlatform, type ClusterPlatform } from '../../platform/kubernetes/platform.ts';
import { memoryLimit } from '../../memory/limit.ts';
import { startRouter } from '../../router/router.ts';
import { logInternalErrors } from '../../telemetry/boundary.ts';
import { serveTelemetry, type TelemetryServer } from './telemetry-http.ts';
import { createLogger, type Logger, type LogLevel } from '../../telemetry/log.ts';
import { registerProcessMetrics } from '../../telemetry/metrics.ts';
import { openFilesLimit } from '../../telemetry/open-files.ts';
import { isLabel } from '../../text/names.ts';
import { quoted } from '../../text/printable.ts';
import { VERSION } from '../../version.ts';
import { aborted, pause } from '../../work/pause.ts';
import { followMemory } from './gc-policy.ts';
import { connect, logProblem } from './connect.ts';
import { widenFileTable } from './file-table.ts';
import { createCrashHandler, type CrashHandler } from './crash-handler.ts';
import { warnAboutFewFiles } from './open-files.ts';

export interface RouterCommand {
  readonly namespace: string;
  /** Name of the pod, which is also the router's name. */
  readonly pod: string;
  readonly group: string;
  readonly siteUid?: string;
  /** HTTP port on all addresses, for the kubelet and Prometheus. */
  readonly httpPort: number;
  readonly metricsPort: number;
  /** Port of the router API; clients authenticate with a certificate. */
  readonly apiPort: number;
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
  /** Maximum memory of the process in bytes. Default: the limit of its control group. */
  readonly memory?: number;
  /** Number of ended and failed connections to keep records of; 0 for no records. */
  readonly records: number;
  readonly drainSeconds: number;
}

/**
 * Milliseconds for which new connections are accepted after SIGTERM, because nodes send some until they learn that the pod
 * terminates. That takes one or two seconds. It takes longer under load: the endpointslice controller retries after 1, 2 and 4 s
 * while its cache is stale. Open connections get the full drain time in any case.
 */
const FAREWELL = 8_000;

/**
 * Runs until `until` is aborted, then drains.
 * @throws EarshotError
 */
export async function runRouter(options: RouterCommand, until: AbortSignal): Promise<void> {
  const { namespace, pod, group, httpPort, metricsPort } = options;
  if (!isLabel(pod))
    throw new EarshotError('bad-name', `${quoted(pod)} is not a valid router name: use a DNS label, such as the name of the pod.`);
  const log = createLogger({ level: options.logLevel, component: 'router' }).child({ namespace, router: pod, group });
  logInternalErrors(log);
  using resort = createCrashHandler(log, until);
  registerProcessMetrics(VERSION);
  reportMissingInternals(log);
  const limit = memoryLimit(options.memory);
  using _collector = followMemory(() => limit);
  void widenFileTable();
  let unready: () => string | undefined = () => 'starting';
  const probes = { live: () => undefined, ready: () => unready() };
  const end = new AbortController();
  const watching = new AbortController();
  try {
    await using _http = await serveTelemetry({ port: httpPort, ...probes });
    await using _metrics = await serveOnce(metricsPort, httpPort, probes);
    await using client = await connect('router', options, end.signal);
    await using leaseClient = await connect('router-lease', options, end.signal);
    // Stopped before the clients are closed, so that no watch logs an interruption.
    using _watches = { [Symbol.dispose]: () => watching.abort() };
    const given = { ...options, client, leaseClient, start: startInformer, log, onProblem: logProblem(log), signal: watching.signal };
    await using cluster = clusterPlatform(given);
    // A router is not ready before it listens, because ready pods get clients.
    unready = () => cluster.waitsFor() ?? 'starting';
    await Promise.race([cluster.synced(), aborted(resort.stopped)]);
    if (!resort.stopped.aborted) await serve({ options, cluster, log, resort, onReadiness: (now) => (unready = now) });
  } finally {
    end.abort();
  }
  log.info('stopped');
}

async function serve({
  options: { pod, memory, records, drainSeconds, httpPort, apiPort },
  cluster,
  log,
  resort,
  onReadiness,
}: {
  readonly options: RouterCommand;
  readonly cluster: ClusterPlatform;
  readonly log: Logger;
  readonly resort: CrashHandler;
  readonly onReadiness: (unready: () => string | undefined) => void;
}): Promise<void> {
  const start: typeof startRouter = (config, hooks, given) => startRouter(config, hooks, { ...given, memory, records });
  await using agent = new Agent({ platform: cluster.platform, router: pod, version: VERSION, log, start });
  let unready = (): string | undefined => agent.unready;
  onReadiness(() => unready());
  await using port = new ApiPort({ ...apiOf(agent, cluster.platform, { pod, unready: () => unready() }), port: apiPort, log });
  using _following = cluster.platform.source.follow(() => port.follow());
  await agent.start();
  port.follow();
  if (agent.unready !== undefined) log.info(`not ready: ${agent.unready}`);
  const openFiles = openFilesLimit();
  log.info({ httpPort, openFiles, memory: memoryLimit(memory), version: VERSION }, 'running');
  warnAboutFewFiles(log, openFiles);
  await aborted(resort.stopped);
  unready = () => 'draining';
  const deadline = resort.drain(drainSeconds * 1000);
  log.info({ seconds: deadline / 1000 }, 'draining');
  const farewell = Math.min(FAREWELL, deadline / 3);
  agent.leave();
  await pause(farewell);
  await agent.drain(deadline - farewell);
}

/** The router API and its access rules. Before the revocations are known there is no bundle, so no request is accepted. */
function apiOf(
  agent: Agent,
  { stores }: ClusterPlatform['platform'],
  { pod, unready }: { readonly pod: string; readonly unready: () => string | undefined },
): Pick<ApiPortOptions, 'api' | 'bundle' | 'revoked'> {
  const api = new RouterApi({
    router: pod,
    version: VERSION,
    startedAt: new Date().toISOString(),
    site: () => agent.router.config?.site,
    state: () => agent.router.state,
    links: () => agent.router.config?.links ?? [],
    records: () => agent.router.records,
    keyFigures: () => agent.router.keyFigures,
    changes: () => agent.changes,
    probe: async (target) => agent.router.running?.probe(target),
    observe: async (siteId) => agent.router.running?.observe(siteId),
    selfFigures: () => agent.router.running?.selfFigures,
    figures: () => agent.router.running?.readFigures?.(),
    unready,
    now: Date.now,
  });
  return {
    api,
    bundle: async () => (agent.router.config === undefined ? undefined : stores.bundles.get(LOCAL_SERVER)),
    revoked: () => agent.router.config?.revoked ?? { sites: [], serials: [] },
  };
}

/** No-op if both are the same port. */
async function serveOnce(
  port: number,
  other: number,
  probes: Pick<Parameters<typeof serveTelemetry>[0], 'live' | 'ready'>,
): Promise<TelemetryServer | undefined> {
  return port === other && port !== 0 ? undefined : serveTelemetry({ port, option: '--metrics-port', ...probes });
}
