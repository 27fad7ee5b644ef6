/** Sites in namespaces of a cluster, as people write them. */
import type { AccessGrant, AccessToken, SkupperResource } from '../../../src/api/skupper/index.ts';
import type { Condition, Secret } from '../../../src/kube/objects.ts';
import { eventually, type Cluster } from '../../harness/index.ts';
import { earshotImage, nodeCommand } from './earshot.ts';
import { pod, podSpec, webServer, type Manifest } from './manifests.ts';
import type { Namespace } from './namespace.ts';

export const SKUPPER = 'skupper.io/v2alpha1';

export function skupper(kind: SkupperResource['kind'], name: string, spec: object = {}): Manifest {
  return { apiVersion: SKUPPER, kind, metadata: { name }, spec };
}

/** Result of a wait for a resource: a kind that has conditions. */
type Observed = Manifest & { readonly status?: { readonly conditions?: readonly Condition[]; readonly message?: string } };

/** As `kubectl wait --for=condition=TYPE` does. */
export function untilCondition<T extends Manifest = Observed>(
  namespace: Namespace,
  kind: SkupperResource['kind'],
  name: string,
  type = 'Ready',
  { value = 'True', timeoutMs = 60_000 }: { readonly value?: Condition['status']; readonly timeoutMs?: number } = {},
): Promise<T & Observed> {
  return namespace.until<T & Observed>(
    { apiVersion: SKUPPER, kind, name },
    `has ${type} ${value}`,
    ({ status }) => status?.conditions?.some((condition) => condition.type === type && condition.status === value) === true,
    timeoutMs,
  );
}

/** A Deployment whose pods answer any HTTP request on the port with their name. */
export function webDeployment(name: string, replicas: number, port = 8080): Manifest {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: podSpec({ script: webServer(port), ports: [{ containerPort: port }] }) },
    },
  };
}

/** Makes a grant at one site and the token of it at the other, and waits until that is a Link that works. */
export async function linkByToken(from: Namespace, to: Namespace, name: string): Promise<void> {
  await to.create(skupper('AccessGrant', name, { redemptionsAllowed: 1, expirationWindow: '15m' }));
  const { status } = await untilCondition<AccessGrant>(to, 'AccessGrant', name);
  const { url = '', code = '', ca = '' } = status ?? {};
  await from.create(skupper('AccessToken', name, { url, code, ca } satisfies AccessToken['spec']));
  await untilCondition(from, 'AccessToken', name, 'Redeemed');
  await untilCondition(from, 'Link', name);
}

/** A pod with Node.js, for `fetched`: BusyBox's wget knows no names of a cluster. */
export async function client(name: string, cluster: Cluster): Promise<Manifest> {
  return pod(name, { image: await earshotImage(cluster), command: nodeCommand('setInterval(() => {}, 1e9)') });
}

/** Answer of a URL to that pod, once it answers. */
export function fetched(namespace: Namespace, name: string, url: string, timeoutMs = 60_000): Promise<string> {
  const script = `void fetch(${JSON.stringify(url)}, { signal: AbortSignal.timeout(5000) }).then(async (answer) => process.stdout.write(await answer.text()));`;
  return eventually(`an answer of ${url}`, () => namespace.exec(name, nodeCommand(script)), { timeoutMs });
}

/** Has a site's authority make a certificate for both sides of a connection, and returns its Secret once it is there. */
export async function issued(namespace: Namespace, name: string, hosts: readonly string[] = [name]): Promise<Secret> {
  await namespace.create(skupper('Certificate', name, { ca: 'skupper-site-ca', subject: name, hosts, server: true, client: true }));
  return namespace.until<Secret>({ apiVersion: 'v1', kind: 'Secret', name }, 'is there', () => true);
}
