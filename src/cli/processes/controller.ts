/** `earshot controller`. Several replicas may run; one leads. */
import { GROUP } from '../../api/listeners/names.ts';
import { serveCsiController } from '../../exposure/csi/serve-controller.ts';
import type { KubeClient, StartInformer } from '../../kube/contract.ts';
import { isNamespaceTerminating } from '../../kube/errors.ts';
import { createEventRecorder } from '../../kube/events/events.ts';
import { startInformer } from '../../kube/watch/informer.ts';
import { runElected, runWhileLeading, type Election } from '../../kube/controller/leadership.ts';
import { startClusterCaches, startPolicyCaches, startProvisionCaches, type PolicyCaches } from '../../exposure/cluster/caches.ts';
import { startController } from '../../exposure/controller.ts';
import { install } from '../../exposure/installation.ts';
import { showListeners, showMounts } from '../../exposure/listener-metrics.ts';
import type { PresetName } from '../../exposure/presets.ts';
import { logInternalErrors } from '../../telemetry/boundary.ts';
import { serveTelemetry } from './telemetry-http.ts';
import { createLogger, type Logger, type LogLevel } from '../../telemetry/log.ts';
import { counter, registerProcessMetrics } from '../../telemetry/metrics.ts';
import { VERSION } from '../../version.ts';
import { findClusterDomain } from './cluster-domain.ts';
import { connect, logProblem } from './connect.ts';
import { installing } from './installing.ts';
import { createCrashHandler } from './crash-handler.ts';

const eventResults = counter('earshot_events_total', 'Number of Kubernetes events by outcome.', ['outcome']);

export interface ControllerCommand {
  readonly namespace: string;
  readonly identity: string;
  readonly csiSocket?: string;
  /** Cluster domain. Default: the one in resolv.conf. */
  readonly clusterDomain?: string;
  readonly preset: PresetName;
  readonly leaderElection: boolean;
  readonly manageCrds: boolean;
  readonly concurrency: number;
  readonly httpPort: number;
  readonly kubeconfig?: string;
  readonly logLevel: LogLevel;
}

export async function runController(options: ControllerCommand, until: AbortSignal): Promise<void> {
  const log = createLogger({ level: options.logLevel, component: 'controller' });
  logInternalErrors(log);
  using resort = createCrashHandler(log, until);
  const { stopped } = resort;
  registerProcessMetrics(VERSION);
  // Stops caches and clients, also when a component fails.
  const end = new AbortController();
  try {
    await using client = await connect('controller', options, end.signal);
    const start: StartInformer = (of, resource, how) => startInformer(of, resource, { onProblem: logProblem(log), ...how });
    const policy = startPolicyCaches(start, client, end.signal);
    showListeners(policy);
    await using telemetry = await serveTelemetry({ port: options.httpPort, live: () => undefined, ready: () => unsynced(policy) });
    await using csi =
      options.csiSocket === undefined
        ? undefined
        : await serveCsiController({ socket: options.csiSocket, client, ...policy, log: log.child({ part: 'csi' }) });
    const clusterDomain = options.clusterDomain ?? (await findClusterDomain(options.namespace, log));
    log.info({ httpPort: telemetry.port, csiSocket: csi?.socket, identity: options.identity }, 'started');
    await runElected({ election: electionOf(options), client, stopped, log }, (leading, fenced) =>
      lead({ options: { ...options, clusterDomain }, client: fenced, start, policy, log, leading, stopped }),
    );
  } finally {
    end.abort();
  }
  log.info('stopped');
}

function electionOf(options: ControllerCommand): Election | undefined {
  if (!options.leaderElection) return undefined;
  const { namespace, identity } = options;
  return { connect: (signal) => connect('lease', options, signal), namespace, name: 'earshot-controller', identity };
}

async function lead(parts: {
  readonly options: ControllerCommand & { readonly clusterDomain: string };
  readonly client: KubeClient;
  readonly start: StartInformer;
  readonly policy: PolicyCaches;
  readonly log: Logger;
  readonly leading: AbortSignal;
  readonly stopped: AbortSignal;
}): Promise<void> {
  const { options, client, start, policy, log, leading, stopped } = parts;
  await using events = createEventRecorder({
    client,
    controller: `${GROUP}/controller`,
    instance: options.identity,
    onResult: (outcome, error) => {
      eventResults.inc({ outcome });
      // Events in a namespace that is being deleted fail; they are not needed any more.
      if (error !== undefined) log[isNamespaceTerminating(error) ? 'debug' : 'warn']({ error }, 'an event could not be written');
    },
  });
  const caches = startClusterCaches(start, client, policy, leading);
  using _shown = showMounts(caches.podListeners);
  // With a CSI socket the external-provisioner creates volumes. A second provisioner would conflict with it.
  const provision = options.csiSocket === undefined ? startProvisionCaches(start, client, leading) : undefined;
  const { manageCrds: manageDefinitions, preset } = options;
  await using _installing = installing(log, (signal) => install(client, { manageDefinitions, preset, log }, signal));
  const { clusterDomain, concurrency } = options;
  await runWhileLeading({ leading, stopped, log }, () =>
    startController({ client, caches, provision, events, clusterDomain, log, concurrency }),
  );
}

function unsynced(caches: PolicyCaches): string | undefined {
  const missing = Object.entries(caches).filter(([, cache]) => !cache.isSynced);
  return missing.length === 0 ? undefined : `waiting for the first list of ${missing.map(([name]) => name).join(', ')}`;
}
