import { annotation, label, NETWORK_DATA, NETWORK_STATUS, RENEWALS, ROUTER } from '../../api/skupper/cluster-names.ts';
import {
  attachedConnectorBindings,
  connectors,
  links,
  listeners,
  multiKeyListeners,
  routerAccesses,
  sites,
  type SkupperKind,
} from '../../api/skupper/index.ts';
import type { Cache, Change, InformerProblem, KubeClient, StartInformer } from '../../kube/contract.ts';
import type { ConfigMap, EndpointSlice, KubeObject, Service } from '../../kube/objects.ts';
import { configMaps, endpointSlices, pods, services, type Resource } from '../../kube/resource.ts';
import { WriteThroughCache } from '../../kube/watch/write-through-cache.ts';
import { attachedServersIn } from '../../site/attached-slices.ts';
import type { AttachedServers, NamespaceService } from '../../site/material.ts';
import { namespaceService } from '../../site/namespace-service.ts';
import { isDeepStrictEqual } from 'node:util';
import type { SiteEndpoint } from '../../router/contract.ts';
import { renewalQuestions } from './renewal-requests.ts';
import { endpointsIn } from './site-endpoints.ts';
import { siteUidIn } from './router-config-map.ts';
import { watchedPod, type WatchedPod } from './watched-pod.ts';

/** Kinds that a site's router applies, or needs in order to do so. */
export const followed = [sites, listeners, multiKeyListeners, connectors, links, routerAccesses, attachedConnectorBindings] as const;

/** Unvalidated resource from the API server. */
export interface StoredResource extends KubeObject {
  readonly spec?: unknown;
  readonly status?: unknown;
}

interface WatchedService extends KubeObject {
  readonly service: NamespaceService;
}

export interface NamespaceWatchesOptions {
  readonly client: KubeClient;
  readonly start: StartInformer;
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly onProblem: (problem: InformerProblem) => void;
  /** Called when the input of a reconcile changes. Statuses are not part of it. */
  readonly onChange: () => void;
  /** Called when the network-status ConfigMap changes. */
  readonly onNetworkChange: () => void;
}

/** All watches of the router's pod in its namespace, except Secrets. */
export class NamespaceWatches {
  readonly pods: Cache<WatchedPod>;
  readonly services: Cache<WatchedService>;
  readonly #slices: Cache<EndpointSlice>;
  readonly #options: NamespaceWatchesOptions;
  readonly #resources = new Map<SkupperKind, WriteThroughCache<StoredResource>>();
  readonly #router: Cache<ConfigMap>;
  readonly #network: Cache<ConfigMap>;
  readonly #renewals: Cache<ConfigMap>;

  constructor(options: NamespaceWatchesOptions) {
    this.#options = options;
    for (const of of followed) {
      const cache = this.#start<StoredResource>(of, {}, (object) => {
        const { uid, generation } = object.metadata;
        return [uid, generation, object.spec, of === sites ? endpointsIn(object.status) : undefined];
      });
      // Resources have the names of their kinds.
      this.#resources.set(of.kind as SkupperKind, new WriteThroughCache(cache));
    }
    this.pods = this.#start(pods, { project: watchedPod }, ({ metadata: { uid }, pod, isRouter, site }) => [uid, pod, isRouter, site]);
    this.services = this.#start(services, { project: watchedService }, ({ service }) => service);
    this.#slices = this.#start(endpointSlices, { labelSelector: label.attached }, ({ metadata, endpoints }) => [
      metadata.annotations?.[annotation.attached],
      metadata.ownerReferences,
      endpoints,
    ]);
    this.#router = this.#start(configMaps, named(ROUTER), ({ data }) => data);
    // The rest of this ConfigMap comes from this process, or from another router of the site.
    this.#network = this.#start(configMaps, named(NETWORK_STATUS), ({ data }) => data?.[NETWORK_DATA.podKeys]);
    // Renewals that routers request for other sites do not matter here: the requesting router waits for the answer itself.
    this.#renewals = this.#start(configMaps, named(RENEWALS), (map) => [...renewalQuestions(map)]);
    this.#network.onChange(options.onNetworkChange);
  }

  /** Kinds whose first list has not arrived. */
  get missing(): readonly string[] {
    const all: readonly (readonly [string, { readonly isSynced: boolean }])[] = [
      ...[...this.#resources].map(([kind, view]) => [kind, view] as const),
      ['pods', this.pods],
      ['Services', this.services],
      ['EndpointSlices', this.#slices],
      [`ConfigMap ${ROUTER}`, this.#router],
      [`ConfigMap ${NETWORK_STATUS}`, this.#network],
      [`ConfigMap ${RENEWALS}`, this.#renewals],
    ];
    return all.filter(([, { isSynced }]) => !isSynced).map(([what]) => what);
  }

  get synced(): Promise<unknown> {
    return Promise.all(
      [...this.#resources.values(), this.pods, this.services, this.#slices, this.#router, this.#network, this.#renewals].map(
        ({ synced }) => synced,
      ),
    );
  }

  /** @throws TypeError if the kind is not watched, which is a programming error */
  resources(kind: SkupperKind): WriteThroughCache<StoredResource> {
    const view = this.#resources.get(kind);
    if (view === undefined) throw new TypeError(`${kind}s are not watched`);
    return view;
  }

  /** Servers of AttachedConnectors, from EndpointSlices of the site's controller. */
  get attachedServers(): readonly AttachedServers[] {
    const site = siteUidIn(this.router);
    return site === undefined ? [] : attachedServersIn([...this.#slices.values()], site);
  }

  /** Endpoints of this site, as known by its controller. */
  get reachedAt(): readonly SiteEndpoint[] {
    const site = siteUidIn(this.router);
    const own = [...this.resources('Site').values()].find(({ metadata }) => metadata.uid === site);
    return endpointsIn(own?.status);
  }

  /** ConfigMap from the site's controller to its routers. */
  get router(): ConfigMap | undefined {
    return this.#router.get(`${this.#options.namespace}/${ROUTER}`);
  }

  /** ConfigMap in which the leading router reports the network. */
  get network(): ConfigMap | undefined {
    return this.#network.get(`${this.#options.namespace}/${NETWORK_STATUS}`);
  }

  /** ConfigMap with requests of commands to the site's links, and of routers to the controller. */
  get renewals(): ConfigMap | undefined {
    return this.#renewals.get(`${this.#options.namespace}/${RENEWALS}`);
  }

  /** @param content returns the part of an object that is input of a reconcile */
  #start<S extends KubeObject, T extends KubeObject = S>(
    of: Resource<S>,
    how: { readonly project?: (object: S) => T; readonly fieldSelector?: string; readonly labelSelector?: string },
    content: (object: T) => unknown,
  ): Cache<T> {
    const { client, start, namespace, signal, onProblem, onChange } = this.#options;
    const cache = start<S, T>(client, of, { namespace, signal, onProblem, ...how });
    cache.onChange((change) => {
      if (!isSame(change, content)) onChange();
    });
    cache.synced.then(onChange, () => undefined);
    return cache;
  }
}

function isSame<T>({ object, previous }: Change<T>, content: (object: T) => unknown): boolean {
  return previous !== undefined && isDeepStrictEqual(content(previous), content(object));
}

const named = (name: string): { readonly fieldSelector: string } => ({ fieldSelector: `metadata.name=${name}` });

function watchedService(service: Service): WatchedService {
  const { managedFields: _, ...metadata } = service.metadata;
  return { metadata, service: namespaceService(service) };
}
