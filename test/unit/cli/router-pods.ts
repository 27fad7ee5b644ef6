/** Router pods of a `Cluster`, whose API answers by mutual TLS through the API server. */
import { createPrivateKey } from 'node:crypto';
import { serveRouterApiByTls } from '../../../src/agent/api/serve-tls.ts';
import { label } from '../../../src/api/skupper/cluster-names.ts';
import { RouterApi, type RouterApiSources } from '../../../src/agent/api/router-api.ts';
import type { CertificatePurpose } from '../../../src/identity/certificate-purpose.ts';
import type { IssuedBundle } from '../../../src/identity/tls-bundle.ts';
import { isRecord } from '../../../src/text/is-record.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { authorityOf } from '../../../src/trust/authority.ts';
import { buildRoot, issueBundle } from '../../../src/trust/issue.ts';
import { writePem } from '../../../src/x509/pem.ts';
import { createKey } from '../../../src/x509/request.ts';
import { failure } from '../kube/raw-server.ts';
import { quietSources } from '../support/router-api.ts';
import type { Asked, Cluster } from './cluster.ts';

export const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** `list sites`, `get pods/proxy`. */
export function rightIn({ body }: Asked): string {
  const spec = isRecord(body) && isRecord(body['spec']) ? body['spec'] : {};
  const { verb, resource, subresource } = isRecord(spec['resourceAttributes']) ? spec['resourceAttributes'] : {};
  return `${String(verb)} ${String(resource)}${subresource === undefined ? '' : `/${String(subresource)}`}`;
}

/** The user has all rights except those for which the function returns true, such as `get secrets/reader`. */
export function limitRights(cluster: Cluster, isForbidden: (right: string) => boolean = () => false): void {
  cluster.refuse = (asked) => {
    if (asked.what === REVIEWS) return { code: 201, metadata: {}, status: { allowed: !isForbidden(rightIn(asked)) } };
    const verb = asked.method !== 'GET' ? 'write' : asked.query.has('watch') ? 'watch' : asked.what.includes('/') ? 'get' : 'list';
    return isForbidden(`${verb} ${asked.what}`) ? failure(403, 'Forbidden', `${asked.what} is forbidden`) : undefined;
  };
}

const key = createKey();
const cert = writePem('CERTIFICATE', buildRoot('local CA', createPrivateKey(key), 1, Date.now()));
const local = authorityOf({ name: 'local CA', cert, key, ca: cert }, 'local CA', Date.now);

const issue = (purpose: CertificatePurpose, hosts: readonly string[] = []): IssuedBundle =>
  issueBundle(local, 'it', { subject: 'it', client: true, purpose, ...(hosts.length === 0 ? {} : { hosts, server: true }) });

/** A Certificate for clients of the routers, and its Secret. */
export function storeIdentity(cluster: Cluster, name: string, purpose: 'api' | 'api-control'): void {
  const { ca, cert: own, key: ownKey } = issue(purpose);
  const files = { 'ca.crt': ca, 'tls.crt': own, 'tls.key': ownKey };
  const data = Object.fromEntries(Object.entries(files).map(([file, content]) => [file, Buffer.from(content).toString('base64')]));
  cluster.store(`certificates/${name}`, { spec: { ca: 'skupper-local-ca', subject: name, client: true, settings: { purpose } } });
  cluster.store(`secrets/${name}`, { data });
}

/** @param routers what each pod's API reports */
export async function startRouterPods(
  cluster: Cluster,
  routers: Readonly<Record<string, Partial<RouterApiSources>>>,
): Promise<AsyncDisposable> {
  const stack = new AsyncDisposableStack();
  const ports = new Map<string, number>();
  for (const [router, sources] of Object.entries(routers)) {
    const api = new RouterApi({ ...quietSources, router, ...sources });
    const server = await serveRouterApiByTls(api, {
      port: 0,
      host: '127.0.0.1',
      tls: issue('link', ['skupper-router-local']),
      revoked: () => ({ sites: [], serials: [] }),
      log: createLogger({ level: 'silent', component: 'test' }),
    });
    stack.use(server);
    ports.set(router, server.port);
    const labels = { [label.component]: 'router', [label.type]: 'site' };
    const conditions = [{ type: 'Ready', status: 'True' }];
    cluster.store(`pods/${router}`, { metadata: { labels }, status: { phase: 'Running', conditions } });
  }
  cluster.portOfPod = (pod) => ports.get(pod);
  return stack;
}
