import { SiteCaches } from '../../../../src/site-controller/caches.ts';
import { startInformer } from '../../../../src/kube/watch/informer.ts';
import { PlayedApi } from '../../exposure/support/played-api.ts';

export interface PlayedCluster extends Disposable {
  readonly api: PlayedApi;
  readonly caches: SiteCaches;
  readonly signal: AbortSignal;
}

/** An API server in memory, and what a controller of sites keeps of it, in step with it unless the test holds a kind back. */
export async function playedCluster(api = new PlayedApi()): Promise<PlayedCluster> {
  const stop = new AbortController();
  const caches = new SiteCaches({ start: startInformer, client: api, served: new Set(), signal: stop.signal });
  await caches.synced;
  return { api, caches, signal: stop.signal, [Symbol.dispose]: () => stop.abort() };
}
