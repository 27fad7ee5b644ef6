/**
 * A site as Skupper's controller (2.2) leaves it in a namespace: the same objects with the same fields, owners and owners of fields. Nothing runs
 * in its router pods, which only say that they are ready.
 */
import { X509Certificate } from 'node:crypto';
import type { KubeObject, Secret } from '../../../src/kube/objects.ts';
import { BUSYBOX_IMAGE } from '../../harness/index.ts';
import type { Manifest } from './manifests.ts';
import type { Namespace } from './namespace.ts';
import { collectionOfObject } from './paths.ts';
import { authorityData, rsaAuthority, rsaCertificate, type TlsData } from './rsa-certificates.ts';
import { SKUPPER, skupper } from './sites.ts';

const CONTROLLED = { 'internal.skupper.io/controlled': 'true' };
const RBAC = 'rbac.authorization.k8s.io';
const ROUTER_PODS = { application: 'skupper-router', 'skupper.io/component': 'router' };
const LABELS = { 'app.kubernetes.io/name': 'skupper-router', 'app.kubernetes.io/part-of': 'skupper', ...ROUTER_PODS };
const ROLES = [
  { name: 'inter-router', port: 55671 },
  { name: 'edge', port: 45671 },
];

export interface LeftListener {
  readonly name: string;
  readonly port: number;
  readonly routerPort: number;
}

/** Writes as that controller does: most by update, a little by server-side apply. */
export class SkupperSite {
  readonly #namespace: Namespace;
  readonly #name: string;
  readonly #groups: readonly string[];
  #site: KubeObject | undefined;

  constructor(namespace: Namespace, name: string, { ha }: { readonly ha: boolean }) {
    this.#namespace = namespace;
    this.#name = name;
    this.#groups = ha ? ['skupper-router', 'skupper-router-2'] : ['skupper-router'];
  }

  async make(): Promise<void> {
    const ha = this.#groups.length > 1;
    const controller = { name: 'skupper-controller', namespace: 'skupper', version: '2.2.1' };
    this.#site = await this.created(skupper('Site', this.#name, { edge: false, ha, linkAccess: 'local' }), {
      status: {
        ...ready('Configured', 'Ready', 'Resolved', 'Running'),
        controller,
        defaultIssuer: 'skupper-site-ca',
        endpoints: this.endpoints,
      },
    });
    await this.#trust(await this.#access());
    await this.#routers();
  }

  /** Objects are written by server-side apply: an applier of the same name loses fields that it no longer sends. */
  async apply(): Promise<readonly KubeObject[]> {
    const ports = [{ name: 'amqps', port: 5671, protocol: 'TCP', targetPort: 5671 }];
    const spec = { ports, selector: LABELS };
    await this.#applied({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'skupper-router-local' }, spec });
    return Promise.all(this.#groups.map((group) => this.#applied(this.#deployment(group))));
  }

  /** Secret that a Link to this site names. */
  get endpoints(): readonly object[] {
    const of = (group: string): readonly object[] =>
      ROLES.map(({ name, port }) => ({ group, host: `${group}.${this.#namespace.name}`, name, port: String(port) }));
    return this.#groups.flatMap(of);
  }

  async service(host: string, listeners: readonly LeftListener[]): Promise<void> {
    const ports = listeners.map(({ name, port, routerPort }) => ({ name, port, protocol: 'TCP', targetPort: routerPort }));
    const metadata = { name: host, labels: { 'internal.skupper.io/listener': listeners[0]?.name ?? '' }, annotations: CONTROLLED };
    await this.created({ apiVersion: 'v1', kind: 'Service', metadata, spec: { ports, selector: ROUTER_PODS } }, { owner: this.#site });
  }

  /** As `link generate` does it: its holder can link to this site. */
  async linkCertificate(): Promise<TlsData> {
    const spec = { ca: 'skupper-site-ca', client: true, server: false, signing: false, subject: this.#linkSubject };
    const certificate = await this.created(skupper('Certificate', `link-${this.#name}`, spec), { status: ready('Ready') });
    return this.#secretOf(certificate, await this.oldLinkCertificate(0), []);
  }

  /** Four of its five years have passed. */
  async oldLinkCertificate(years = 4): Promise<TlsData> {
    return rsaCertificate(await this.#authority('site'), this.#linkSubject, [], years);
  }

  get #linkSubject(): string {
    return this.#groups.map((group) => `${group}.${this.#namespace.name}`).join(',');
  }

  readonly #authorities = new Map<string, ReturnType<typeof rsaAuthority>>();

  #authority(which: 'local' | 'site'): ReturnType<typeof rsaAuthority> {
    return this.#authorities.getOrInsertComputed(which, () => rsaAuthority(`${this.#name} ${which} CA`));
  }

  async #access(): Promise<readonly KubeObject[]> {
    const access = skupper('RouterAccess', 'skupper-router', {
      accessType: 'local',
      generateTlsCredentials: true,
      issuer: 'skupper-site-ca',
      roles: ROLES,
      tlsCredentials: 'skupper-site-server',
    });
    const status = { ...ready('Configured', 'Ready', 'Resolved'), endpoints: this.endpoints };
    const owner = await this.created(withMarks(access, CONTROLLED), { owner: this.#site, status });
    const accesses: KubeObject[] = [];
    for (const group of this.#groups) {
      const secured = skupper('SecuredAccess', group, {
        accessType: 'local',
        certificate: 'skupper-site-server',
        issuer: 'skupper-site-ca',
        ports: ROLES.map(({ name, port }) => ({ name, port, protocol: 'TCP', targetPort: port })),
        selector: { 'skupper.io/component': 'router', 'skupper.io/group': group },
      });
      const own = { ...CONTROLLED, 'internal.skupper.io/routeraccess': 'skupper-router' };
      const created = await this.created(withMarks(secured, own), { owner, status: ready('Configured', 'Ready', 'Resolved') });
      const metadata = { name: group, labels: { 'internal.skupper.io/secured-access': 'true' }, annotations: CONTROLLED };
      const { ports, selector } = secured.spec as { readonly ports: unknown; readonly selector: unknown };
      await this.created({ apiVersion: 'v1', kind: 'Service', metadata, spec: { ports, selector } }, { owner: created });
      accesses.push(created);
    }
    return accesses;
  }

  async #trust(accesses: readonly KubeObject[]): Promise<void> {
    for (const which of ['local', 'site'] as const) {
      const spec = { ca: '', client: false, server: false, signing: true, subject: `${this.#name} ${which} CA` };
      const certificate = await this.#certificate(`skupper-${which}-ca`, spec, [[this.#site, []]]);
      await this.#secretOf(certificate, authorityData(await this.#authority(which)), []);
    }
    const uses = { client: false, server: true, signing: false };
    const local = `skupper-router-local.${this.#namespace.name}`;
    await this.#server('local', { ...uses, ca: 'skupper-local-ca', subject: 'skupper-router-local' }, [
      [this.#site, ['skupper-router-local', local, `${local}.svc.cluster.local`]],
    ]);
    const ofAccess = accesses.map(
      (access, index) => [access, [this.#groups[index] ?? '', `${this.#groups[index]}.${this.#namespace.name}`]] as const,
    );
    await this.#server('site', { ...uses, ca: 'skupper-site-ca', subject: 'skupper-router' }, ofAccess);
  }

  async #server(
    which: 'local' | 'site',
    spec: { readonly subject: string; readonly [field: string]: unknown },
    owners: Owners,
  ): Promise<void> {
    const hosts = owners.flatMap(([, own]) => own).sort();
    const certificate = await this.#certificate(`skupper-${which}-server`, { ...spec, hosts }, owners);
    await this.#secretOf(certificate, await rsaCertificate(await this.#authority(which), spec.subject, hosts), hosts);
  }

  #certificate(name: string, spec: object, owners: Owners): Promise<KubeObject> {
    const hosts = owners.map(([owner, own]) => [`internal.skupper.io/hosts-${owner?.metadata.uid}`, own.join(',')]);
    const metadata = {
      name,
      labels: { 'internal.skupper.io/certificate': 'true' },
      annotations: { ...CONTROLLED, ...Object.fromEntries(hosts) },
      ownerReferences: owners.flatMap(([owner]) => referencesTo(owner)),
    };
    return this.created({ apiVersion: SKUPPER, kind: 'Certificate', metadata, spec }, { status: ready('Ready') });
  }

  async #secretOf(certificate: KubeObject, data: TlsData, hosts: readonly string[]): Promise<TlsData> {
    const { name = '' } = certificate.metadata;
    const annotations = { ...CONTROLLED, 'internal.skupper.io/certificate': 'true', 'internal.skupper.io/hosts': hosts.join(',') };
    await this.created(tlsSecret(name, data, annotations), { owner: certificate });
    return data;
  }

  async #routers(): Promise<void> {
    const owner = this.#site;
    await this.created({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'skupper-router' } }, { owner });
    await this.created(role, { owner });
    await this.created(roleBinding, { owner });
    for (const group of this.#groups) {
      const metadata = { name: group, labels: { 'internal.skupper.io/router-config': '' } };
      const router = { id: `${this.#name}-\${HOSTNAME}`, mode: 'interior', metadata: JSON.stringify({ id: this.#site?.metadata.uid }) };
      const data = { 'skrouterd.json': JSON.stringify([['router', router]]) };
      await this.created({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }, { owner });
    }
    const [first] = await this.apply();
    const network = { NetworkStatus: JSON.stringify({ addresses: [], siteStatus: [] }) };
    const metadata = { name: 'skupper-network-status' };
    await this.created({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: network }, { owner: first, manager: 'kube-adaptor' });
    const held = { holderIdentity: 'skupper-router-67684c5c59-x7l9k', leaseDurationSeconds: 15, acquireTime: micro(), renewTime: micro() };
    const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'skupper-site-leader' }, spec: held };
    await this.created(lease, { manager: 'kube-adaptor' });
  }

  #deployment(group: string): Manifest {
    const pods = { ...LABELS, 'skupper.io/type': 'site' };
    const annotations = { 'prometheus.io/port': '9090', 'prometheus.io/scrape': 'true', 'skupper.io/config-digest': '6b6b85aed8adda90' };
    return {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: group, labels: pods },
      spec: {
        replicas: 1,
        selector: { matchLabels: { 'skupper.io/component': 'router' } },
        template: {
          metadata: { labels: { ...pods, 'skupper.io/group': group }, annotations },
          spec: routerPod(group, { uid: this.#site?.metadata.uid ?? '', name: this.#name, spread: this.#groups.length > 1 }),
        },
      },
    };
  }

  /** @returns it as the API server has it */
  async created(
    manifest: Manifest & { readonly data?: unknown },
    {
      owner,
      status,
      manager = 'controller',
    }: { readonly owner?: KubeObject | undefined; readonly status?: object; readonly manager?: string } = {},
  ): Promise<KubeObject> {
    const { api } = this.#namespace.cluster;
    const collection = collectionOfObject(manifest, this.#namespace.name);
    const created = await api.create<KubeObject>(`${collection}?fieldManager=${manager}`, owned(manifest, owner));
    if (status === undefined) return created;
    return api.patch(`${collection}/${manifest.metadata.name}/status?fieldManager=${manager}`, { status });
  }

  #applied(manifest: Manifest): Promise<KubeObject> {
    const path = `${collectionOfObject(manifest, this.#namespace.name)}/${manifest.metadata.name}?fieldManager=skupper-controller&force=true`;
    return this.#namespace.cluster.api.patch<KubeObject>(path, owned(manifest, this.#site), 'application/apply-patch+yaml');
  }
}

type Owners = readonly (readonly [owner: KubeObject | undefined, hosts: readonly string[]])[];

export function tlsSecret(name: string, data: TlsData, annotations: Readonly<Record<string, string>>): Secret {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, annotations }, type: 'kubernetes.io/tls', data };
}

/** Undefined where there is no certificate in it. */
export function serialOf({ data }: Secret): string | undefined {
  const certificate = data?.['tls.crt'];
  return certificate === undefined ? undefined : new X509Certificate(Buffer.from(certificate, 'base64')).serialNumber;
}

/** Status of a healthy resource. */
export function ready(...types: readonly string[]): object {
  const at = new Date().toISOString().replace(/\.\d+/, '');
  const condition = { status: 'True', reason: 'Ready', message: 'OK', observedGeneration: 1, lastTransitionTime: at };
  return { status: 'Ready', message: 'OK', conditions: types.map((type) => ({ type, ...condition })) };
}

function owned(manifest: Manifest, owner: KubeObject | undefined): Manifest {
  if (owner === undefined) return manifest;
  return { ...manifest, metadata: { ...manifest.metadata, ownerReferences: referencesTo(owner) } };
}

function referencesTo(owner: KubeObject | undefined): { apiVersion: string; kind: string; name: string; uid: string }[] {
  if (owner === undefined) return [];
  const { apiVersion = '', kind = '', metadata } = owner;
  return [{ apiVersion, kind, name: metadata.name ?? '', uid: metadata.uid ?? '' }];
}

function withMarks(manifest: Manifest, annotations: Readonly<Record<string, string>>): Manifest {
  return { ...manifest, metadata: { ...manifest.metadata, annotations } };
}

const micro = (): string => new Date().toISOString().replace('Z', '000Z');

/** Reports that it is ready, and stops on request. */
const standIn = (port: number): string =>
  `trap 'exit 0' TERM; mkdir -p /tmp/www; touch /tmp/www/healthz; httpd -p ${port} -h /tmp/www; while :; do sleep 1 & wait $!; done`;

function routerPod(group: string, site: { readonly uid: string; readonly name: string; readonly spread: boolean }): object {
  const common = {
    image: BUSYBOX_IMAGE,
    imagePullPolicy: 'IfNotPresent',
    // The images themselves say who they run as; this one does not.
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, runAsNonRoot: true, runAsUser: 10_000 },
    volumeMounts: ['certs', 'proxies'].map((what) => ({ name: `skupper-router-${what}`, mountPath: `/etc/skupper-router-${what}` })),
  };
  const probe = (port: number): object => ({ httpGet: { path: '/healthz', port }, initialDelaySeconds: 1 });
  const config = { name: 'SKUPPER_ROUTER_CONFIG', value: group };
  const id = { name: 'SKUPPER_SITE_ID', value: site.uid };
  const near = {
    labelSelector: { matchLabels: { application: 'skupper-router', 'skupper.io/type': 'site' } },
    topologyKey: 'kubernetes.io/hostname',
  };
  const antiAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: near, weight: 100 }] };
  return {
    serviceAccountName: 'skupper-router',
    securityContext: { runAsNonRoot: true },
    ...(site.spread ? { affinity: { podAntiAffinity: antiAffinity } } : {}),
    initContainers: [{ ...common, name: 'config-init', command: ['true'], env: [config] }],
    containers: [
      {
        ...common,
        name: 'router',
        command: ['sh', '-c', standIn(9090)],
        env: [
          { name: 'QDROUTERD_CONF', value: '/etc/skupper-router-certs/skrouterd.json' },
          { name: 'QDROUTERD_CONF_TYPE', value: 'json' },
          id,
        ],
        livenessProbe: { ...probe(9090), initialDelaySeconds: 60 },
        readinessProbe: probe(9090),
        ports: [
          { name: 'amqps', containerPort: 5671 },
          { name: 'http', containerPort: 9090 },
          { name: 'inter-router', containerPort: 55671 },
          { name: 'edge', containerPort: 45671 },
        ],
      },
      {
        ...common,
        name: 'kube-adaptor',
        command: ['sh', '-c', standIn(9191)],
        env: [
          { name: 'SKUPPER_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
          id,
          { name: 'SKUPPER_SITE_NAME', value: site.name },
          config,
          { name: 'SKUPPER_ROUTER_DEPLOYMENT', value: group },
        ],
        ports: [{ name: 'metrics', containerPort: 9000 }],
        readinessProbe: probe(9191),
      },
    ],
    volumes: [
      { name: 'skupper-router-certs', emptyDir: {} },
      { name: 'skupper-router-proxies', emptyDir: {} },
    ],
  };
}

const READ = ['get', 'list', 'watch'];

const role: Manifest & { readonly rules: unknown } = {
  apiVersion: `${RBAC}/v1`,
  kind: 'Role',
  metadata: { name: 'skupper-router' },
  rules: [
    { apiGroups: [''], resources: ['secrets', 'pods'], verbs: READ },
    { apiGroups: [''], resources: ['configmaps'], verbs: [...READ, 'create', 'update', 'delete'] },
    { apiGroups: ['apps'], resources: ['deployments'], verbs: ['get'] },
    { apiGroups: [''], resources: ['secrets'], verbs: ['update', 'delete'] },
    { apiGroups: [''], resources: ['services'], verbs: READ },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: [...READ, 'create', 'update', 'delete'] },
  ],
};

const roleBinding: Manifest & { readonly roleRef: unknown; readonly subjects: unknown } = {
  apiVersion: `${RBAC}/v1`,
  kind: 'RoleBinding',
  metadata: { name: 'skupper-router' },
  roleRef: { apiGroup: RBAC, kind: 'Role', name: 'skupper-router' },
  subjects: [{ kind: 'ServiceAccount', name: 'skupper-router' }],
};
