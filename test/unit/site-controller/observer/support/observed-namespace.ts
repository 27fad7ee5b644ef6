/** A namespace with NetworkObservers, against an API server in memory. */
import { sites } from '../../../../../src/api/skupper/index.ts';
import { networkObservers, type NetworkObserver } from '../../../../../src/api/skupper/network-observer.ts';
import type { Condition, KubeObject } from '../../../../../src/kube/objects.ts';
import type { Resource } from '../../../../../src/kube/resource.ts';
import { startInformer } from '../../../../../src/kube/watch/informer.ts';
import { nameOf, SiteCaches } from '../../../../../src/site-controller/caches.ts';
import { NamespaceReconciler } from '../../../../../src/site-controller/namespace-reconciler.ts';
import { createLogger } from '../../../../../src/telemetry/log.ts';
import { PlayedApi } from '../../../exposure/support/played-api.ts';
import { settings } from '../../support/view.ts';

export interface ObservedNamespace extends AsyncDisposable {
  readonly api: PlayedApi;
  find<T extends KubeObject>(of: Resource<T>, name: string): T | undefined;
  putSite(): void;
  observe(name: string, spec?: NetworkObserver['spec'], creationTimestamp?: string): NetworkObserver;
  pass(): Promise<unknown>;
  /** The condition of a NetworkObserver. */
  deployed(name?: string): Condition | undefined;
}

export async function openNamespace(): Promise<ObservedNamespace> {
  const api = new PlayedApi();
  const stop = new AbortController();
  const caches = new SiteCaches({ start: startInformer, client: api, served: new Set([nameOf(networkObservers)]), signal: stop.signal });
  await caches.synced;
  const reconciler = new NamespaceReconciler({
    client: api,
    caches,
    settings: { ...settings, grants: { ...settings.grants, enabled: false } },
    events: { record: () => {}, [Symbol.asyncDispose]: async () => {} },
    log: createLogger({ level: 'silent', component: 'test' }),
    now: () => '2026-01-31T00:00:00Z',
    wake: () => {},
  });
  const site = { namespace: 'west', name: 'west', uid: 'site', generation: 1 };
  const putSite = (): void => void api.put(sites, { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', metadata: site, spec: {} });
  const observe = (name: string, spec: NetworkObserver['spec'] = {}, creationTimestamp = '2026-01-01T00:00:00Z'): NetworkObserver =>
    api.put(networkObservers, {
      apiVersion: 'observability.skupper.io/v2alpha1',
      kind: 'NetworkObserver',
      metadata: { namespace: 'west', name, uid: `uid-of-${name}`, generation: 1, creationTimestamp },
      spec,
    });
  const find = <T extends KubeObject>(of: Resource<T>, name: string): T | undefined => api.read(of, `west/${name}`);
  return {
    api,
    find,
    putSite,
    observe,
    pass: () => reconciler.pass('west', stop.signal),
    deployed: (name = 'network-observer') =>
      find<NetworkObserver>(networkObservers, name)?.status?.conditions.find(({ type }) => type === 'Deployed'),
    async [Symbol.asyncDispose]() {
      await reconciler[Symbol.asyncDispose]();
      stop.abort();
    },
  };
}
