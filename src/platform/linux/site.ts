/** Site on a machine without a cluster: reads and writes files. */
import { Agent, type AgentOptions } from '../../agent/agent.ts';
import type { SitePlatform } from '../../agent/ports.ts';
import { makeDirectory } from '../../files/durable.ts';
import { DirectoryBundles } from '../../trust/disk/bundles.ts';
import { ConfirmedRevocations } from './confirmed-revocations.ts';
import type { NamespaceLayout } from './layout.ts';
import { machinePlatform, machineReach } from './machine.ts';
import { OfflineLinkFiles } from './offline-links.ts';
import { PublishedBundleFiles } from './published-bundles.ts';
import { follower, LeaderLock, SiblingRouters } from './routers.ts';
import { FileSource } from './source.ts';
import { stopped } from './stale-status.ts';
import { FileStatuses } from './statuses.ts';
import { openStores } from './stores.ts';

export interface SiteOptions extends Omit<AgentOptions, 'platform'> {
  readonly layout: NamespaceLayout;
  /** Container network of the router; undefined for the machine's own network. */
  readonly network?: string | undefined;
  /** Number of routers that the supervisor of this one runs for a Site. Undefined without a supervisor. */
  readonly routers?: SitePlatform['routers'] | undefined;
}

/** Resolves after the first reconcile, whether or not the site runs by then. */
export async function startSite(options: SiteOptions): Promise<Agent> {
  const { log } = options;
  const agent = new Agent({ ...options, platform: linuxPlatform(options) });
  await agent.start();
  if (agent.unready !== undefined) log.info(`not ready: ${agent.unready}`);
  return agent;
}

function linuxPlatform({ layout, router, network, routers, log }: SiteOptions): SitePlatform {
  const issued = new DirectoryBundles(layout.internal.certs);
  const confirmed = new ConfirmedRevocations(layout, router);
  const userIssuers = new DirectoryBundles(layout.input.issuers);
  const stores = openStores(layout, issued, log, userIssuers);
  const source = new FileSource({ layout, log, watched: [issued, userIssuers] });
  return {
    ...machinePlatform(),
    namespace: layout.namespace,
    ...(network === undefined ? {} : { network }),
    ...(routers === undefined ? {} : { routers }),
    source,
    stores,
    signing: {
      kind: 'here',
      stores,
      offlineLinks: new OfflineLinkFiles(layout.runtime.links),
      published: new PublishedBundleFiles(layout.runtime.certs),
    },
    statuses: new FileStatuses({ layout, log, problems: () => source.problems }),
    reach: machineReach,
    leadership: network === undefined ? new LeaderLock(layout) : follower,
    siblings: new SiblingRouters(layout, router, network),
    stopped: stopped(layout.namespace),
    confirmRevocations: (revoked) => confirmed.confirm(revoked),
  };
}

export async function makeNamespace(layout: NamespaceLayout): Promise<void> {
  const { input, internal, runtime } = layout;
  for (const open of [layout.root, input.resources, input.certs, input.issuers, runtime.resources]) await makeDirectory(open, 0o755);
  for (const closed of [
    internal.root,
    internal.site,
    internal.certs,
    internal.issuers,
    internal.grants,
    internal.links,
    runtime.links,
    runtime.run,
  ]) {
    await makeDirectory(closed, 0o700);
  }
}
