import { Agent } from '../../../../src/agent/agent.ts';
import { listeners, sites } from '../../../../src/api/skupper/index.ts';
import { generateSiteKey } from '../../../../src/identity/site-key.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import { configMaps, secrets, services, type Resource } from '../../../../src/kube/resource.ts';
import { startInformer } from '../../../../src/kube/watch/informer.ts';
import { clusterPlatform, type ClusterPlatform, type ClusterPlatformOptions } from '../../../../src/platform/kubernetes/platform.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { FakeRouter } from '../../agent/support/fake-router.ts';
import { PlayedApi } from '../../exposure/support/played-api.ts';

export const namespace = 'west';

const log = createLogger({ level: 'silent', component: 'test' });

/** A namespace as the controller of sites has prepared it: Site, ConfigMaps, key. */
export function aNamespace(): PlayedApi {
  const api = new PlayedApi();
  put(api, sites, 'west', { spec: null }, { uid: 'site-uid' });
  put(api, configMaps, 'skupper-router', {
    data: { 'site.json': '{"name":"west","uid":"site-uid"}', 'revoked.json': '{"sites":[],"serials":[]}' },
  });
  put(api, configMaps, 'skupper-network-status', {});
  put(api, configMaps, 'skupper-router-renewals', {});
  putSecret(api, 'skupper-site-key', { 'site.key': generateSiteKey().pem }, 'Opaque');
  return api;
}

export function put<T extends KubeObject>(
  api: PlayedApi,
  of: Resource<T>,
  name: string,
  content: object,
  metadata: KubeObject['metadata'] = {},
): T {
  // Tests write what they mean.
  return api.put(of, { metadata: { namespace, name, ...metadata }, ...content } as unknown as T);
}

export function putSecret(
  api: PlayedApi,
  name: string,
  texts: Readonly<Record<string, string>>,
  type = 'kubernetes.io/tls',
  metadata: KubeObject['metadata'] = {},
): void {
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
  put(api, secrets, name, { type, data }, metadata);
}

/** With the Service that the controller makes for it. */
export function putListener(api: PlayedApi, name: string, targetPort: number, spec: object = {}): void {
  put(api, listeners, name, { spec: { routingKey: name, host: name, port: 8080, ...spec } }, { generation: 1 });
  const marks = { labels: { 'internal.skupper.io/listener': name }, annotations: { 'internal.skupper.io/controlled': 'true' } };
  put(api, services, name, { spec: { ports: [{ name, port: 8080, targetPort }] } }, marks);
}

export interface RunningPod extends AsyncDisposable {
  readonly agent: Agent;
  readonly router: FakeRouter;
  readonly cluster: ClusterPlatform;
}

export async function aPod(api: PlayedApi, pod = 'one', how: Pick<ClusterPlatformOptions, 'grace'> = {}): Promise<RunningPod> {
  const end = new AbortController();
  const common = { client: api, leaseClient: api, start: startInformer, log, signal: end.signal };
  const cluster = clusterPlatform({ ...common, namespace, pod, round: 5, ...how, onProblem: () => undefined });
  await cluster.synced();
  const router = new FakeRouter();
  const agent = new Agent({ platform: cluster.platform, router: pod, version: '1', log, start: router.start });
  await agent.start();
  return {
    agent,
    router,
    cluster,
    async [Symbol.asyncDispose]() {
      await agent[Symbol.asyncDispose]();
      await cluster[Symbol.asyncDispose]();
      end.abort();
    },
  };
}
