import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { LOCAL_CA, LOCAL_SERVER, ROUTER, ROUTER_DATA, SITE_CA } from '../../../../src/api/skupper/cluster-names.ts';
import type { Certificate, Site } from '../../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../../src/api/skupper/names.ts';
import type { NamespaceView } from '../../../../src/site-controller/namespace-view.ts';
import { GrantService } from '../../../../src/site-controller/tokens/grant-service.ts';
import { SiteTrust, type TrustStep } from '../../../../src/site-controller/trust/site-trust.ts';
import type { KubeClient } from '../../../../src/kube/contract.ts';
import type { KubeObject, Secret } from '../../../../src/kube/objects.ts';
import { configMaps, secrets } from '../../../../src/kube/resource.ts';
import type { SiteObject } from '../../../../src/site/resources.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { formatAnchor } from '../../../../src/trust/anchor.ts';
import type { Clock } from '../../../../src/trust/contract.ts';
import { TimeSlices } from '../../../../src/limits/loop/time-slices.ts';
import { RoundRobin } from '../../../../src/limits/loop/round-robin.ts';
import { makeClock } from '../../trust/support/site.ts';
import { playedCluster, type PlayedCluster } from './played-cluster.ts';
import { settings, viewOf } from './view.ts';

/** The trust of one site, on an API server in memory. */
export interface TrustWorld extends AsyncDisposable {
  readonly cluster: PlayedCluster;
  readonly clock: Clock & { advance(milliseconds: number): void };
  step(
    objects: readonly KubeObject[],
    options?: { readonly namespace?: string; readonly unreadable?: readonly SiteObject[] },
  ): Promise<TrustStep>;
  secret(name: string): Secret;
  /** The texts of a Secret. */
  texts(name: string): Readonly<Record<string, string>>;
  leaf(name: string): X509Certificate;
}

export async function trustWorld({
  cluster,
  clock = makeClock(),
  client,
  grants = false,
}: {
  readonly cluster?: PlayedCluster;
  readonly clock?: TrustWorld['clock'];
  readonly client?: KubeClient;
  /** Whether AccessGrants are enabled. */
  readonly grants?: boolean;
} = {}): Promise<TrustWorld> {
  const played = cluster ?? (await playedCluster());
  const { api, caches } = played;
  const log = createLogger({ level: 'silent', component: 'test' });
  const grantService = new GrantService({
    settings: { ...settings.grants, enabled: grants },
    log,
    load: async (secret) => secret,
    onChange: () => {},
  });
  const options = { client: client ?? api, caches, log, grantService, wake: () => {}, clock };
  const trusts = new Map<string, SiteTrust>();
  const texts = (name: string): Readonly<Record<string, string>> =>
    Object.fromEntries(Object.entries(secret(name).data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
  const secret = (name: string): Secret => {
    const found = api.read(secrets, `west/${name}`);
    assert.ok(found !== undefined, `there is no Secret ${name}`);
    return found;
  };
  return {
    cluster: played,
    clock,
    secret,
    texts,
    leaf: (name) => new X509Certificate(texts(name)['tls.crt'] ?? ''),
    step: async (objects, { namespace = 'west', unreadable = [] } = {}) => {
      const find: NamespaceView['find'] = (of, name) => caches.view(of).get(`${namespace}/${name}`);
      const trust = trusts.getOrInsertComputed(namespace, () => new SiteTrust({ ...options, namespace }));
      const step = await trust.step(
        { ...viewOf(objects, { namespace, unreadable }), find },
        played.signal,
        new TimeSlices(new RoundRobin(), namespace),
      );
      const told = step.anchor === undefined ? undefined : formatAnchor(step.anchor);
      if (told !== undefined && told !== api.read(configMaps, `${namespace}/${ROUTER}`)?.data?.[ROUTER_DATA.anchor]) {
        api.put(configMaps, {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: ROUTER, namespace },
          data: { [ROUTER_DATA.anchor]: told },
        });
      }
      return step;
    },
    [Symbol.asyncDispose]: async () => {
      for (const trust of trusts.values()) await trust[Symbol.asyncDispose]();
      played[Symbol.dispose]();
    },
  };
}

export function site(changes: Partial<Site['spec']> = {}, uid = 'site-1'): Site {
  return {
    apiVersion: API_VERSION,
    kind: 'Site',
    metadata: { name: 'west', namespace: 'west', uid },
    spec: { linkAccess: 'default', ...changes },
  };
}

export function certificate(name: string, spec: Partial<Certificate['spec']> = {}, metadata: KubeObject['metadata'] = {}): Certificate {
  return {
    apiVersion: API_VERSION,
    kind: 'Certificate',
    metadata: { namespace: 'west', uid: `uid-${name}`, ...metadata, name },
    spec: { ca: SITE_CA, subject: name, ...spec },
  };
}

export const siteCa = certificate(SITE_CA, { ca: '', subject: 'west site CA', signing: true });
export const localCa = certificate(LOCAL_CA, { ca: '', subject: 'west local CA', signing: true });
export const localServer = certificate(LOCAL_SERVER, {
  ca: LOCAL_CA,
  subject: 'skupper-router-local',
  hosts: ['skupper-router-local', 'skupper-router-local.west'],
  server: true,
});
export const linkWest = certificate('link-west', { client: true, subject: '10.77.0.11,10.77.0.11' });
