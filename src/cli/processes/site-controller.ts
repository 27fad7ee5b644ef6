/** `earshot site-controller`. Several replicas may run; one leads. */
import { customResourceDefinitionsResource } from '../../api/crd.ts';
import { skupperDefinitions } from '../../api/skupper/crds.ts';
import { networkObserverDefinition } from '../../api/skupper/network-observer-definition.ts';
import { GROUP } from '../../api/skupper/names.ts';
import { ownerOf } from '../../site-controller/namespace-view.ts';
import { labelLeader } from '../../site-controller/tokens/leader-label.ts';
import { deployments } from '../../kube/resource.ts';
import { startSiteController } from '../../site-controller/controller.ts';
import { SiteCaches } from '../../site-controller/caches.ts';
import { followLogLevel } from '../../site-controller/log-level.ts';
import { followServed, servedOptional } from '../../site-controller/served.ts';
import type { ControllerSettings } from '../../site-controller/settings.ts';
import type { InformerProblem, KubeClient, StartInformer } from '../../kube/contract.ts';
import { bringUpToDate } from '../../kube/controller/definitions.ts';
import { runElected, runWhileLeading } from '../../kube/controller/leadership.ts';
import { isNamespaceTerminating } from '../../kube/errors.ts';
import { createEventRecorder } from '../../kube/events/events.ts';
import { startInformer } from '../../kube/watch/informer.ts';
import { logInternalErrors } from '../../telemetry/boundary.ts';
import { serveTelemetry } from './telemetry-http.ts';
import { createLogger, type Logger, type LogLevel } from '../../telemetry/log.ts';
import { registerProcessMetrics } from '../../telemetry/metrics.ts';
import { VERSION } from '../../version.ts';
import { FIELD_MANAGER } from '../../api/skupper/cluster-names.ts';
import { connect, logProblem } from './connect.ts';
import { installing } from './installing.ts';
import { createCrashHandler } from './crash-handler.ts';

export interface SiteControllerCommand {
  readonly settings: ControllerSettings;
  /** Name of this replica. */
  readonly identity: string;
  readonly leaderElection: boolean;
  /** Number of namespaces that are reconciled concurrently. */
  readonly concurrency: number;
  readonly httpPort: number;
  /** Address to listen on. Default: all addresses. */
  readonly httpHost?: string;
  /** Whether the HTTP port serves `/metrics` beside the probes. */
  readonly metrics: boolean;
  readonly manageCrds: boolean;
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
  /** Messages about settings that have no effect. */
  readonly notices: readonly string[];
}

export async function runSiteController(command: SiteControllerCommand, until: AbortSignal): Promise<void> {
  const log = createLogger({ level: command.logLevel, component: 'site-controller' });
  logInternalErrors(log);
  using resort = createCrashHandler(log, until);
  const { stopped } = resort;
  registerProcessMetrics(VERSION);
  const { settings, identity, httpPort: port, httpHost: host } = command;
  for (const notice of command.notices) log.warn(notice);
  // Stops caches and clients, also when a component fails.
  const end = new AbortController();
  try {
    const connectAs = (part: string, signal: AbortSignal): ReturnType<typeof connect> =>
      connect(part, { ...command, fieldManager: FIELD_MANAGER }, signal);
    await using client = await connectAs('site-controller', end.signal);
    const logged = logProblem(log);
    const start: StartInformer = (of, resource, how) => {
      const onProblem = (problem: InformerProblem): void => {
        logged(problem);
        how.onProblem?.(problem);
      };
      return startInformer(of, resource, { ...how, onProblem });
    };
    const served = await servedOptional({ client, namespace: settings.watchNamespace, signal: end.signal });
    const caches = new SiteCaches({ start, client, namespace: settings.watchNamespace, served, signal: end.signal });
    const unready = (): string | undefined => (caches.missing.length === 0 ? undefined : `waiting for ${caches.missing.join(', ')}`);
    const where = host === undefined ? { port } : { port, host };
    await using telemetry = await serveTelemetry({ ...where, metrics: command.metrics, live: () => undefined, ready: unready });
    await using _kinds = followServed({ start, client, caches, namespace: settings.watchNamespace, log, signal: end.signal });
    followLogLevel({ start, client, namespace: settings.namespace, log, signal: end.signal });
    log.info({ httpPort: telemetry.port, identity, served: [...served] }, 'started');
    const election = command.leaderElection
      ? { connect: (signal: AbortSignal) => connectAs('lease', signal), namespace: settings.namespace, name: settings.name, identity }
      : undefined;
    await runElected({ election, client, stopped, log }, async (leading, fenced) => {
      await using events = createEventRecorder({
        client: fenced,
        controller: `${GROUP}/${settings.name}`,
        instance: identity,
        onResult: (_outcome, error) => {
          // Events in a namespace that is being deleted fail; they are not needed any more.
          if (error !== undefined) log[isNamespaceTerminating(error) ? 'debug' : 'warn']({ error }, 'an event could not be written');
        },
      });
      await using _installing = command.manageCrds ? installing(log, (signal) => applyDefinitions(fenced, log, signal)) : undefined;
      await runWhileLeading({ leading, stopped, log }, async () => {
        const { namespace, name } = settings;
        const deployment = await fenced.find(deployments, { namespace, name }, { signal: leading });
        await labelLeader(fenced, { namespace, pod: identity }, leading);
        if (election !== undefined) await caches.renew();
        const owned = deployment === undefined ? settings : { ...settings, owner: ownerOf(deployment) };
        return startSiteController({ client: fenced, caches, settings: owned, events, log, concurrency: command.concurrency });
      });
    });
  } finally {
    end.abort();
  }
  log.info('stopped');
}

async function applyDefinitions(client: KubeClient, log: Logger, signal: AbortSignal): Promise<void> {
  await bringUpToDate(client, customResourceDefinitionsResource, [...skupperDefinitions(), networkObserverDefinition()], log, signal);
}
