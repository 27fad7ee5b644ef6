/** Sources of a console for a site in a cluster. It writes nothing. */
import { listeners } from '../../api/listeners/index.ts';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { NotReadable } from '../../errors/not-readable.ts';
import { valueOf } from '../../explain/connection/site-facts.ts';
import { askRight } from '../../explain/gather/access-review.ts';
import { readExposure } from '../../explain/gather/gather-namespace.ts';
import { routerSources } from '../../explain/gather/router-sources.ts';
import { ledgerOf } from '../../site-controller/trust/ledger-of-namespace.ts';
import { ClusterRouters } from '../../platform/kubernetes/cluster-routers.ts';
import { MOST_SOCKETS } from '../../platform/kubernetes/router-api-client.ts';
import { lacksRight } from '../../platform/kubernetes/router-rights.ts';
import { clusterResources } from '../../platform/kubernetes/resources.ts';
import { recordedState } from '../../platform/kubernetes/recorded-state.ts';
import { reachDirectly, reachThroughApiServer, type RouterReach } from '../../platform/kubernetes/router-reach.ts';
import { ReviewedAccess } from '../../console/reviewed-access.ts';
import type { ConsoleSources } from '../../console/sources.ts';
import { sortActiveFirst } from '../../site/surplus-sites.ts';
import { detached } from '../../telemetry/boundary.ts';
import { VERSION } from '../../version.ts';
import { pause } from '../../work/pause.ts';
import { CliError } from '../errors.ts';
import { redacted } from '../output/redact.ts';
import type { Cluster } from '../resources.ts';
import { clusterReviewer } from './console-reviewer.ts';
import { describeMissingRights, readConsoleRights, type ConsoleRights } from './console-rights.ts';
import { explainObject, observeSite, type OpenSources } from './console-sources.ts';

/** Milliseconds between two checks of the user's rights. */
const RIGHTS_EVERY = 60_000;

/** Sources with a user's rights. @param until ends the watches @throws CliError failed if the user may not read Sites */
export function clusterSources(cluster: Cluster, until: AbortSignal): Promise<OpenSources> {
  return openSources(cluster, until, {
    subject: 'your user',
    reach: reachThroughApiServer(cluster.client, cluster.place.namespace),
    unread: [],
    isConsole: false,
    readsAll: true,
  });
}

/**
 * Sources of a console that runs in the cluster with rights of its own, and shows each user what that user may see. AccessGrants and
 * AccessTokens hold codes, so the console does not read them.
 * @param isReviewed whether the API server reviews each user. Only then its account may read revocations and exposed objects
 */
export async function inClusterSources(cluster: Cluster, until: AbortSignal, isReviewed: boolean): Promise<OpenSources> {
  const { client, place } = cluster;
  const open = await openSources(cluster, until, {
    subject: 'the console',
    reach: reachDirectly,
    unread: ['AccessGrant', 'AccessToken'],
    isConsole: true,
    readsAll: isReviewed,
  });
  return { ...open, users: new ReviewedAccess(clusterReviewer(client, place.namespace)) };
}

/** How a console reads a cluster. */
interface Reading {
  /** Subject of sentences about missing rights. */
  readonly subject: string;
  readonly reach: RouterReach;
  /** Kinds that are not read, whatever the rights. */
  readonly unread: readonly SkupperKind[];
  /** Whether the rights are those of an account of the console, not of its only user. */
  readonly isConsole: boolean;
  /** Whether it reads revocations and exposed objects too. */
  readonly readsAll: boolean;
}

async function openSources(
  { client, place }: Cluster,
  until: AbortSignal,
  { subject, reach, unread, isConsole, readsAll }: Reading,
): Promise<OpenSources> {
  const { namespace } = place;
  const end = new AbortController();
  const signal = AbortSignal.any([until, end.signal]);
  const reader = { subject, namespace };
  const exposurePlace = { client, namespace, isConsole };
  // Without the exposure half, the chart gives the account no right to its objects.
  const mayExpose = async (): Promise<boolean> =>
    !isConsole ||
    valueOf(await askRight(client, { verb: 'list', group: listeners.group, resource: listeners.plural, namespace })) !== false;
  const readRights = (): Promise<ConsoleRights> => readConsoleRights(client, namespace, reach, unread);
  let rights = await readRights();
  if (rights.refused.includes('Site')) {
    const advice = 'ask an administrator of the cluster for the role "view" there';
    throw new CliError('failed', `The console cannot be opened: ${lacksRight('list and watch sites.skupper.io', reader)}; ${advice}.`);
  }
  detached('look/console-rights', async () => {
    while (!signal.aborted) {
      await pause(RIGHTS_EVERY, signal).catch(() => undefined);
      if (!signal.aborted) rights = await readRights();
    }
  });
  const resources = clusterResources(
    client,
    place,
    () => Promise.resolve([]),
    (kind) => rights.kinds.has(kind),
  );
  const followed = resources.follow();
  const certificates = () => resources.list('Certificate');
  const routers = new ClusterRouters({ client, reader, reach, rights: () => rights, certificates });
  const sources: ConsoleSources = {
    resources: {
      namespace,
      where: resources.where,
      commandFlags: resources.commandFlags,
      list: (kind) => resources.list(kind),
      ...(readsAll ? { revoked: async () => (await ledgerOf(client, namespace)).revoked() } : {}),
      // The routers' pods are watched, and resources in a cluster have no problems besides their statuses.
      about: () => Promise.resolve({ location: ['Cluster', place.cluster], running: [], routers: [], problems: [] }),
      // Without a Site, the console says so itself.
      notRunning: async () => ((await resources.list('Site')).length === 0 ? undefined : resources.notRunning()),
    },
    routers: async () => (await routers.pods()).map(({ name }) => name),
    ask: (name, path) => orNotShown('Connections', routers.ask(name, path)),
    metrics: async (name, read) => read(await orNotShown('Figures', routers.metrics(name))),
    observe: (name, site) => orNotShown('Figures of other sites', observeSite(routers, name, site)),
    observationsAtOnce: MOST_SOCKETS,
    recorded: async () => {
      const [sites, links, pods] = await Promise.all([resources.list('Site'), resources.list('Link'), routers.pods()]);
      const facts = pods.map(({ name, isReady: ready }) => ({ name, version: VERSION, ready, ...(ready ? {} : { why: NOT_READY }) }));
      return { ...recordedState(sortActiveFirst(sites)[0], links), routers: facts };
    },
    notReadable: () => describeMissingRights(rights, reader),
    redacted,
    ...(readsAll ? { exposure: async () => ((await mayExpose()) ? readExposure(exposurePlace) : undefined) } : {}),
    explain: (kind, name, probe) =>
      explainObject({ site: { resources, ...routerSources(routers) }, cluster: exposurePlace, probe }, kind, name),
    now: () => Date.now(),
  };
  return {
    isMachine: false,
    sources,
    async [Symbol.asyncDispose]() {
      end.abort();
      followed[Symbol.dispose]();
      routers[Symbol.dispose]();
      await client[Symbol.asyncDispose]();
    },
  };
}

const NOT_READY = 'the pod is not ready';

/** Completes the clause of a missing right. @param what is not shown without it */
async function orNotShown<T>(what: string, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw error instanceof NotReadable ? new NotReadable(`${what} are not shown: ${error.message}.`, error.remedy) : error;
  }
}
