/** The site controller: one work queue, whose keys are namespaces. */
import { performance } from 'node:perf_hooks';
import { sites, skupperResources } from '../api/skupper/index.ts';
import { networkObservers } from '../api/skupper/network-observer.ts';
import type { EventRecorder, KubeClient } from '../kube/contract.ts';
import type { Controller } from '../kube/controller/leadership.ts';
import { askedToWait } from '../kube/errors.ts';
import { DelayedCall } from '../limits/loop/delayed-call.ts';
import type { Logger } from '../telemetry/log.ts';
import { reportResults, showQueues } from '../telemetry/queue-metrics.ts';
import { WorkQueue } from '../work/queue.ts';
import { attachedNamespaces, concernedBy, sitesOf } from './attached/concerned.ts';
import type { SiteCaches } from './caches.ts';
import { gateways } from './access/kinds.ts';
import { isRelevantChange } from './change-filter.ts';
import { NamespaceReconciler } from './namespace-reconciler.ts';
import type { ControllerSettings } from './settings.ts';
import { concernsAllSites } from './site/shared-config.ts';

export interface SiteControllerOptions {
  readonly client: KubeClient;
  readonly caches: SiteCaches;
  readonly settings: ControllerSettings;
  readonly events: EventRecorder;
  readonly log: Logger;
  /** Maximum number of namespaces that are reconciled concurrently. */
  readonly concurrency: number;
}

const BACKOFF = { first: 100, max: 60_000 };
/**
 * Milliseconds for each resource of a namespace, between the starts of two reconciles. A reconcile reads all resources, and hundreds may be
 * created in a second.
 */
const PACE = 0.2;

/** Starts once every cache is synced. Rejects if a cache is stopped before. */
export async function startSiteController({
  client,
  caches,
  settings,
  events,
  log,
  concurrency,
}: SiteControllerOptions): Promise<Controller> {
  await caches.synced;
  const now = (): string => `${new Date().toISOString().slice(0, 19)}Z`;
  /** Time from which the next reconcile of a namespace may start. */
  const rests = new Map<string, number>();
  const wake = (namespace: string): void => {
    const rest = (rests.get(namespace) ?? 0) - performance.now();
    if (rest > 0) queue.addAfter(namespace, rest);
    else queue.add(namespace);
  };
  const reconciler = new NamespaceReconciler({ client, caches, settings, events, log, now, wake });
  const queue = new WorkQueue({
    name: 'sites',
    log,
    concurrency,
    backoff: BACKOFF,
    askedToWait,
    reconcile: async (namespace, signal) => {
      const many = caches.count(namespace);
      if (many === 0) rests.delete(namespace);
      else rests.set(namespace, performance.now() + PACE * many);
      const requeueAfter = await reconciler.pass(namespace, signal);
      return requeueAfter === undefined ? undefined : { requeueAfter };
    },
    onResult: reportResults('sites', log),
  });
  // Coalesces changes: they come in hundreds, and each update reads all bindings of the cluster.
  const followPods = (): void => caches.followPods(attachedNamespaces(caches));
  const following = new DelayedCall({ name: 'pass/follow-pods', call: followPods });
  const stopPods = caches.onPods((namespace) => [namespace, ...sitesOf(caches, namespace)].forEach(wake));
  const stopWatching = caches.onChange((of, change) => {
    const { namespace } = change.object.metadata;
    if (namespace !== undefined && isRelevantChange(of, change, () => caches.list(sites, namespace).length > 0)) wake(namespace);
    if (concernsAllSites(of, change, settings)) caches.namespacesWith(sites).forEach(wake);
    // The Gateway's address is part of the hosts of all SecuredAccesses that share it.
    if (of === gateways) caches.namespacesWith(skupperResources.SecuredAccess).forEach(wake);
    const others = concernedBy(of, change);
    if (others.length === 0) return;
    following.request();
    others.forEach(wake);
  });
  followPods();
  const wakeAll = (): void => {
    for (const of of [...Object.values(skupperResources), networkObservers]) caches.namespacesWith(of).forEach(wake);
  };
  const stopKinds = caches.onKind(wakeAll);
  wakeAll();
  // The controller's namespace contains the grant server, even if it has none of these resources.
  wake(settings.namespace);
  const shown = showQueues({ sites: queue });
  return {
    async stop(deadlineMilliseconds) {
      following.end();
      stopWatching();
      stopPods();
      stopKinds();
      await queue.stop(deadlineMilliseconds);
      await reconciler[Symbol.asyncDispose]();
      shown[Symbol.dispose]();
    },
  };
}
