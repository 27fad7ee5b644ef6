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
import type { Cache, Change, InformerTrouble, KubeClient, StartInformer } from '../../kube/contract.ts';
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
import { siteUidIn } from './told-by-controller.ts';
import { watchedPod, type WatchedPod } from './watched-pod.ts';

/** What a site's router carries out, or needs to know for that. */
export const followed = [sites, listeners, multiKeyListeners, connectors, links, routerAccesses, attachedConnectorBindings] as const;

/** As the API has it: nothing of it is checked yet. */
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
  readonly onTrouble: (trouble: InformerTrouble) => void;
  /** Something is another than before that a pass takes in; statuses are not among it. */
  readonly onChange: () => void;
  /** What tells of the network is another than before. */
  readonly onNetworkChange: () => void;
}

/** What the router's pod follows of its namespace, but for Secrets. */
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
      // Resources are named by their kinds.
      this.#resources.set(of.kind as SkupperKind, new WriteThroughCache(cache));
    }
    this.pods = this.#start(pods, { project: watchedPod }, ({ metadata: { uid }, pod, isRouter }) => [uid, pod, isRouter]);
    this.services = this.#start(services, { project: watchedService }, ({ service }) => service);
    this.#slices = this.#start(endpointSlices, { labelSelector: label.attached }, ({ metadata, endpoints }) => [
      metadata.annotations?.[annotation.attached],
      metadata.ownerReferences,
      endpoints,
    ]);
    this.#router = this.#start(configMaps, named(ROUTER), ({ data }) => data);
    // The rest of it is what this process, or another router of the site, has found out itself.
    this.#network = this.#start(configMaps, named(NETWORK_STATUS), ({ data }) => data?.[NETWORK_DATA.podKeys]);
    // What other sites ask for is no news here: whoever asks for them waits for the answer.
    this.#renewals = this.#start(configMaps, named(RENEWALS), (map) => [...renewalQuestions(map)]);
    this.#network.onChange(options.onNetworkChange);
  }

  /** The kinds of which the first list is not in yet. */
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

  /** @throws TypeError where the kind is not followed: a mistake of the program */
  resources(kind: SkupperKind): WriteThroughCache<StoredResource> {
    const view = this.#resources.get(kind);
    if (view === undefined) throw new TypeError(`${kind}s are not followed`);
    return view;
  }

  /** The servers of AttachedConnectors, as the site's controller tells of them. */
  get attachedServers(): readonly AttachedServers[] {
    const site = siteUidIn(this.router);
    return site === undefined ? [] : attachedServersIn([...this.#slices.values()], site);
  }

  /** Where other sites reach this one, as its controller knows. */
  get reachedAt(): readonly SiteEndpoint[] {
    const site = siteUidIn(this.router);
    const own = [...this.resources('Site').values()].find(({ metadata }) => metadata.uid === site);
    return endpointsIn(own?.status);
  }

  /** What the site's controller tells its routers. */
  get router(): ConfigMap | undefined {
    return this.#router.get(`${this.#options.namespace}/${ROUTER}`);
  }

  /** What the router that leads tells of the network. */
  get network(): ConfigMap | undefined {
    return this.#network.get(`${this.#options.namespace}/${NETWORK_STATUS}`);
  }

  /** What commands ask of the site's links, and routers of its controller. */
  get renewals(): ConfigMap | undefined {
    return this.#renewals.get(`${this.#options.namespace}/${RENEWALS}`);
  }

  /** @param content what a pass takes in of an object */
  #start<S extends KubeObject, T extends KubeObject = S>(
    of: Resource<S>,
    how: { readonly project?: (object: S) => T; readonly fieldSelector?: string; readonly labelSelector?: string },
    content: (object: T) => unknown,
  ): Cache<T> {
    const { client, start, namespace, signal, onTrouble, onChange } = this.#options;
    const cache = start<S, T>(client, of, { namespace, signal, onTrouble, ...how });
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
