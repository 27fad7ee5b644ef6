import type { SitePlatform } from '../../agent/ports.ts';
import { ROUTER } from '../../api/skupper/cluster-names.ts';
import { timestamp } from '../../agent/stale-status.ts';
import type { KubeObject, OwnerReference } from '../../kube/objects.ts';
import type { InformerTrouble, KubeClient, StartInformer } from '../../kube/contract.ts';
import { roles } from '../../kube/resource.ts';
import { FencedClient } from '../../kube/lease/fenced-client.ts';
import { kubernetes } from '../../site/cluster-platform.ts';
import { secretNames } from '../../site/secret-names.ts';
import { sortResources } from '../../site/resources.ts';
import type { Logger } from '../../telemetry/log.ts';
import { NamespaceWatches } from './namespace-watches.ts';
import { RenewalEntries } from './renewal-requests.ts';
import { RouterSecretBundles } from './router-secret-bundles.ts';
import { SiblingPods } from './sibling-pods.ts';
import { ControllerSigning } from './signing.ts';
import { SiteLease } from './site-lease.ts';
import { ClusterSource } from './source.ts';
import { ClusterStatuses } from './statuses.ts';
import { clusterStores } from './stores.ts';
import { StoredResources } from './stored-resources.ts';
import { siteIdIn, siteUidIn } from './told-by-controller.ts';
import { WatchedSecrets } from './watched-secrets.ts';

export interface ClusterPlatformOptions {
  readonly client: KubeClient;
  /** Of its own: a renewal of the lease waits for nothing else. */
  readonly leaseClient: KubeClient;
  readonly start: StartInformer;
  readonly namespace: string;
  /** The pod's name is the router's. */
  readonly pod: string;
  /** Of the Site that this pod carries out; undefined: what the site's controller says. */
  readonly siteUid?: string;
  readonly log: Logger;
  readonly onTrouble: (trouble: InformerTrouble) => void;
  /** Ends every watch. */
  readonly signal: AbortSignal;
  /** Milliseconds between two rounds of writing statuses. */
  readonly round?: number;
  /** Milliseconds for which a listener's first status waits for its Service. */
  readonly grace?: number;
}

/** A site in a namespace of a cluster, as one of its routers' pods has it. */
export interface ClusterPlatform extends AsyncDisposable {
  readonly platform: SitePlatform;
  /** Resolves once there is all that a first pass needs. */
  readonly synced: () => Promise<unknown>;
  /** Of what `synced` waits for, the lists that are not there; undefined when all are. It may wait for Secrets then. */
  readonly waitsFor: () => string | undefined;
}

/** Milliseconds: longer than that nothing waits for a Secret, which may not be there at all. */
const ANSWER = 2_000;

export function clusterPlatform(options: ClusterPlatformOptions): ClusterPlatform {
  const { client, leaseClient, start, namespace, pod, siteUid, log, onTrouble, signal } = options;
  const common = { client, start, namespace, signal, onTrouble };
  const watches = new NamespaceWatches({ ...common, onChange: () => source.changed(), onNetworkChange: () => statuses.networkChanged() });
  const secrets = new WatchedSecrets({ ...common, onChange: () => source.wake() });
  const bundles = new RouterSecretBundles(client, namespace, secrets);
  const site = (): string | undefined => siteUid ?? siteUidIn(watches.router);
  const stored = new StoredResources(watches, site);
  const source = new ClusterSource({ watches, stored, secrets, bundles });
  const owner = (): OwnerReference | undefined => ownerOf([...watches.resources('Site').values()], site());
  const leadership = new SiteLease({ client: leaseClient, namespace, identity: pod, owner, log, onChange: () => source.wake() });
  const siblings = new SiblingPods(watches.pods, bundles, pod);
  const statuses = new ClusterStatuses({
    client: new FencedClient(client, () => leadership.stillLeading),
    watches,
    siblings,
    namespace,
    log,
    now: timestamp,
    ...(options.round === undefined ? {} : { round: options.round }),
    ...(options.grace === undefined ? {} : { grace: options.grace }),
    // Whoever leads next writes what comes next: it need not wait until connections here have ended.
    onClose: () => leadership.resign(),
  });
  followRights(options, () => secrets.again());
  // The site's own, before any resource is known.
  secrets.follow(secretNames(sortResources([])));
  return {
    platform: {
      ...kubernetes,
      namespace,
      source,
      stores: clusterStores({
        secrets,
        bundles,
        site,
        siteId: () => siteIdIn(watches.router),
        renewalRequests: new RenewalEntries({ client, namespace, seen: () => watches.renewals }),
      }),
      signing: new ControllerSigning({ client, start, namespace, told: () => watches.router, bundles }),
      statuses,
      // What stands before the routers is the controller's to make and to tell of.
      reach: () => nowhere,
      leadership,
      siblings,
      stopped: { status: 'Pending', reason: 'NotRunning', message: 'no router of the site runs' },
      confirmRevocations: () => Promise.resolve(),
    },
    synced: () => Promise.all([watches.synced, secrets.answered(ANSWER)]),
    waitsFor: () => (watches.missing.length === 0 ? undefined : `waiting for the first list of ${watches.missing.join(', ')}`),
    [Symbol.asyncDispose]: () => leadership[Symbol.asyncDispose](),
  };
}

/** The Role of the site's routers, where this pod's account has that and may read it: it says at once which Secrets may be read from now on. */
function followRights({ client, start, namespace, signal }: ClusterPlatformOptions, onChange: () => void): void {
  const how = { namespace, fieldSelector: `metadata.name=${ROUTER}`, signal, onTrouble: () => undefined };
  start(client, roles, how).onChange(onChange);
}

/** The same each time: nothing is compared then. */
const nowhere = { kind: 'forwarded', addresses: {} } as const;

/** With the Site all goes that its routers have made. */
function ownerOf(sites: readonly KubeObject[], wanted: string | undefined): OwnerReference | undefined {
  const { apiVersion, kind, metadata: { name = '', uid } = {} } = sites.find(({ metadata }) => metadata.uid === wanted) ?? {};
  return uid === undefined || apiVersion === undefined || kind === undefined ? undefined : { apiVersion, kind, name, uid };
}
