import type { SitePlatform } from '../../agent/ports.ts';
import { ROUTER } from '../../api/skupper/cluster-names.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import { timestamp } from '../../agent/stale-status.ts';
import type { KubeObject, OwnerReference } from '../../kube/objects.ts';
import type { InformerProblem, KubeClient, StartInformer } from '../../kube/contract.ts';
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
import { siteIdIn, siteUidIn } from './router-config-map.ts';
import { WatchedSecrets } from './watched-secrets.ts';

export interface ClusterPlatformOptions {
  readonly client: KubeClient;
  /** Separate client, so that a renewal of the lease never waits for other requests. */
  readonly leaseClient: KubeClient;
  readonly start: StartInformer;
  readonly namespace: string;
  /** Name of the pod, which is also the router's name. */
  readonly pod: string;
  /** UID of the Site that this pod runs; if undefined, the site's controller provides it. */
  readonly siteUid?: string;
  readonly log: Logger;
  readonly onProblem: (problem: InformerProblem) => void;
  /** Ends every watch. */
  readonly signal: AbortSignal;
  /** Milliseconds between two rounds of status writes. */
  readonly round?: number;
  /** Milliseconds for which a listener's first status waits for its Service. */
  readonly grace?: number;
}

/** Site in a namespace of a cluster, from the view of a router pod. */
export interface ClusterPlatform extends AsyncDisposable {
  readonly platform: SitePlatform;
  /** Resolves once everything for the first reconcile is there. */
  readonly synced: () => Promise<unknown>;
  /** Names the lists that `synced` waits for; undefined when all have arrived. It may still wait for Secrets. */
  readonly waitsFor: () => string | undefined;
}

/** Maximum milliseconds to wait for a Secret, which may not exist. */
const ANSWER = 2_000;

export function clusterPlatform(options: ClusterPlatformOptions): ClusterPlatform {
  const { client, leaseClient, start, namespace, pod, siteUid, log, onProblem, signal } = options;
  const common = { client, start, namespace, signal, onProblem };
  const watches = new NamespaceWatches({ ...common, onChange: () => source.changed(), onNetworkChange: () => statuses.networkChanged() });
  const secrets = new WatchedSecrets({ ...common, onChange: () => source.wake() });
  const bundles = new RouterSecretBundles(client, namespace, secrets);
  const site = (): string | undefined => siteUid ?? siteUidIn(watches.router);
  const stored = new StoredResources(watches, site);
  const source = new ClusterSource({ watches, stored, secrets, bundles });
  const owner = (): OwnerReference | undefined => ownerOf([...watches.resources('Site').values()], site());
  const leadership = new SiteLease({ client: leaseClient, namespace, identity: pod, owner, log, onChange: () => source.wake() });
  const siblings = new SiblingPods({ pods: watches.pods, bundles, router: pod, site });
  const statuses = new ClusterStatuses({
    client: new FencedClient(client, () => leadership.stillLeading),
    watches,
    siblings,
    namespace,
    log,
    now: timestamp,
    ...(options.round === undefined ? {} : { round: options.round }),
    ...(options.grace === undefined ? {} : { grace: options.grace }),
    // Resign at once: the next leader writes the next statuses, and need not wait for connections to drain here.
    onClose: () => leadership.resign(),
  });
  followRights(options, () => secrets.again());
  // Watch the site's own Secrets before any resource is known.
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
      signing: new ControllerSigning({ client, start, namespace, configMap: () => watches.router, bundles }),
      statuses,
      // The controller creates and reports everything in front of the routers.
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

/** Watches the Role of the site's routers, if this pod's account may read it. A change shows at once which Secrets are readable. */
function followRights({ client, start, namespace, signal }: ClusterPlatformOptions, onChange: () => void): void {
  const how = { namespace, fieldSelector: `metadata.name=${ROUTER}`, signal, onProblem: () => undefined };
  start(client, roles, how).onChange(onChange);
}

/** The same object each time, so that comparisons are cheap. */
const nowhere = { kind: 'forwarded', addresses: {} } as const;

/** Objects that routers create are deleted with the Site. A Site that is being deleted owns nothing new. */
function ownerOf(sites: readonly KubeObject[], desired: string | undefined): OwnerReference | undefined {
  const site = sites.find(({ metadata }) => metadata.uid === desired && metadata.deletionTimestamp === undefined);
  const { uid, name = '' } = site?.metadata ?? {};
  // Items of a list lack both fields.
  return uid === undefined ? undefined : { apiVersion: API_VERSION, kind: 'Site', name, uid };
}
