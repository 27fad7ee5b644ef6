/** Objects by an editor of a namespace or an earlier schema of a kind: reported with the field, without effect on others. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GRANTS, LEDGER, PENDING_KEYS, SITE_KEY } from '../../../src/api/skupper/cluster-names.ts';
import { skupperResources } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import { attachedNamespaces, sitesOf } from '../../../src/site-controller/attached/concerned.ts';
import { NamespaceReconciler } from '../../../src/site-controller/namespace-reconciler.ts';
import type { KubeObject, Secret } from '../../../src/kube/objects.ts';
import { configMaps, deployments, secrets, services, type Resource } from '../../../src/kube/resource.ts';
import type { Kind } from '../../../src/site/resources.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { playedCluster, type PlayedCluster } from './support/played-cluster.ts';
import { settings } from './support/view.ts';

const kinds = Object.keys(skupperResources) as readonly Kind[];
/** Kinds whose statuses the routers write, if there are any. */
const OF_ROUTERS: ReadonlySet<string> = new Set(['Listener', 'MultiKeyListener', 'Connector', 'Link']);

/** A resource with any content, by an unknown schema. */
function resource(kind: Kind, name: string, spec: unknown, metadata: object = {}): KubeObject {
  const object = { apiVersion: API_VERSION, kind, metadata: { namespace: 'west', ...metadata, name } };
  return spec === undefined ? object : ({ ...object, spec } as KubeObject);
}

function of(kind: string): Resource {
  const core: Readonly<Record<string, Resource>> = { ConfigMap: configMaps, Secret: secrets, Service: services };
  const found = core[kind] ?? (skupperResources[kind as Kind] as Resource | undefined);
  assert.ok(found !== undefined, kind);
  return found;
}

const site = (spec: unknown = { linkAccess: 'local' }): KubeObject => resource('Site', 'west', spec);
const good = resource('Listener', 'good', { routingKey: 'good', host: 'good', port: 8080 });

/** Until a pass finds all as it is to be. */
const MOST_PASSES = 6;

async function keep(cluster: PlayedCluster): Promise<void> {
  const { api, caches, signal } = cluster;
  const log = createLogger({ level: 'silent', component: 'test' });
  const events = { record: () => {}, [Symbol.asyncDispose]: () => Promise.resolve() };
  const now = (): string => '2026-11-22T12:00:00Z';
  await using keeper = new NamespaceReconciler({ client: api, caches, settings, events, log, now, wake: () => {} });
  for (let passes = 1; ; passes += 1) {
    const before = api.writes.length;
    await keeper.pass('west', signal);
    const written = api.writes.slice(before);
    if (written.length === 0) return;
    assert.ok(passes < MOST_PASSES, `pass ${passes} still writes: ${written.join(', ')}`);
  }
}

async function kept(...objects: readonly KubeObject[]): Promise<PlayedCluster> {
  const cluster = await playedCluster();
  for (const object of objects) cluster.api.put(of(object.kind ?? ''), object);
  await keep(cluster);
  return cluster;
}

/** Messages of its conditions that do not hold. */
function complaint({ api }: PlayedCluster, key: string): string {
  const [kind = '', name = ''] = key.split('/');
  const object: KubeObject & { status?: { message?: string; conditions?: readonly { status: string; message?: string }[] } } = api.read(
    of(kind),
    `west/${name}`,
  ) ?? { metadata: {} };
  const conditions = object.status?.conditions ?? [];
  return [...conditions.filter(({ status }) => status === 'False').map(({ message = '' }) => message), object.status?.message ?? ''].join(
    ' | ',
  );
}

function assertUndisturbed({ api }: PlayedCluster): void {
  assert.ok(api.read(services, 'west/good') !== undefined, 'the Listener beside it has its Service');
  assert.ok(api.read(deployments, 'west/skupper-router') !== undefined, 'the site has its router');
}

const FIELDS = (
  'ca subject hosts ports roles selector settings url code endpoints host port routingKey strategy tlsCredentials issuer connectorNamespace ' +
  'siteNamespace redemptionsAllowed expirationWindow cost accessType certificate linkAccess defaultIssuer serviceAccount edge ha'
).split(' ');
const each = (value: unknown): unknown => Object.fromEntries(FIELDS.map((field) => [field, value]));
const shapes: readonly unknown[] = [undefined, null, 'spec', [1, 2], each([[7]]), each(null), each([null]), each({ constructor: null })];

describe('What was stored by another definition', () => {
  const bad = kinds
    .filter((kind) => kind !== 'Site')
    .flatMap((kind) => shapes.map((spec, index) => resource(kind, `bad-${index}`, spec, { uid: `uid-${kind}-${index}` })));

  it('is reported with its field, and affects nothing else', async () => {
    using cluster = await kept(site(), good, ...bad);
    assertUndisturbed(cluster);
    for (const { kind = '' } of bad.filter((object) => !OF_ROUTERS.has(object.kind ?? ''))) {
      assert.match(complaint(cluster, `${kind}/bad-2`), /must be/, kind);
    }
  });

  it('is reported without a Site, too', async () => {
    using cluster = await kept(...bad);
    for (const { kind = '' } of bad) assert.match(complaint(cluster, `${kind}/bad-2`), /must be/, kind);
  });

  it('disturbs no other namespace that it names', async () => {
    using cluster = await kept(...bad);
    assert.deepEqual([...attachedNamespaces(cluster.caches)], []);
    assert.deepEqual(sitesOf(cluster.caches, 'west'), []);
  });

  it('of a Site leaves alone what has run', async () => {
    using cluster = await kept(site(), good);
    const { api } = cluster;
    const before = api.writes.length;
    const standing = api.read(of('Site'), 'west/west');
    api.put(of('Site'), { ...standing, metadata: { ...standing?.metadata, generation: 2 }, spec: 'local' } as KubeObject);
    api.put(of('Site'), resource('Site', 'east', {}));
    await keep(cluster);
    assertUndisturbed(cluster);
    assert.deepEqual(
      api.writes.slice(before).filter((call) => !call.startsWith('patch-status sites')),
      [],
    );
    assert.match(complaint(cluster, 'Site/west'), /must be/);
  });
});

const TOO_LONG = 'x'.repeat(256 * 1024);
const ESCAPES = '\u001b[31m\u0000\u202e';

interface Attack {
  readonly what: string;
  readonly objects: readonly KubeObject[];
  /** By key: what the resource is to say. */
  readonly says: Readonly<Record<string, RegExp>>;
}

const certificate = (name: string, spec: object): KubeObject =>
  resource('Certificate', name, { ca: 'skupper-site-ca', subject: name, ...spec }, { uid: `uid-${name}` });
const router = { 'skupper.io/component': 'router' };
const access = (name: string, spec: object = {}): KubeObject =>
  resource('SecuredAccess', name, { selector: router, ports: [{ name: 'a', port: 1 }], ...spec }, { uid: `uid-${name}` });
const token = (name: string, spec: object): KubeObject =>
  resource('AccessToken', name, { url: 'https://127.0.0.1:1/v1/redeem/x', code: 'code', ca: 'ca', ...spec }, { uid: `uid-${name}` });

const attacks: readonly Attack[] = [
  {
    what: 'Certificates that sign each other',
    objects: [certificate('a', { ca: 'b', signing: true }), certificate('b', { ca: 'a', signing: true })],
    says: { 'Certificate/a': /CA "west\/b" not found: create a Secret/, 'Certificate/b': /CA "west\/a" not found/ },
  },
  {
    what: 'a Certificate that signs itself by its own name',
    objects: [certificate('a', { ca: 'a', signing: true })],
    says: { 'Certificate/a': /CA "west\/a" not found/ },
  },
  {
    what: 'an authority of another namespace',
    objects: [certificate('a', { ca: 'skupper/skupper-site-ca' }), certificate('b', { ca: '../skupper/skupper-site-ca' })],
    says: { 'Certificate/a': /CA "skupper\/skupper-site-ca" not found/, 'Certificate/b': /not found/ },
  },
  {
    what: 'a Certificate of a subject and hosts that are none',
    objects: [certificate('a', { subject: ESCAPES, hosts: [ESCAPES, '*', ''] })],
    says: { 'Certificate/a': /must not be empty/ },
  },
  ...[SITE_KEY, LEDGER, GRANTS, PENDING_KEYS].map((name): Attack => ({
    what: `a Certificate and a token by the name of ${name}`,
    objects: [certificate(name, {}), token(name, {})],
    says: { [`Certificate/${name}`]: /rename|another name/, [`AccessToken/${name}`]: /another/ },
  })),
  {
    what: 'names that every object of JavaScript has',
    objects: kinds
      .filter((kind) => kind !== 'Site')
      .map((kind) => resource(kind, 'constructor', kind === 'Certificate' ? { ca: 'constructor', subject: 'constructor' } : undefined)),
    says: { 'Certificate/constructor': /CA "west\/constructor" not found/ },
  },
  {
    what: 'SecuredAccesses by the names of what a router has',
    objects: ['skupper-router', 'skupper-router-local', 'good'].map((name) => access(name)),
    says: {
      'RouterAccess/skupper-router': /SecuredAccess "skupper-router" already exists.*rename/,
      'SecuredAccess/skupper-router-local': /rename/,
    },
  },
  {
    what: 'a type of access that is not enabled, and an invalid class',
    objects: [access('a', { accessType: 'nodeport' }), access('b', { accessType: `listenerclass:${ESCAPES}` })],
    says: { 'SecuredAccess/a': /not enabled here; use one of/, 'SecuredAccess/b': /install it/ },
  },
  {
    what: 'RouterAccesses at ports that a router has for itself, and that a Listener has',
    objects: [9090, 9000, 5671, 1024].map((port) =>
      resource('RouterAccess', `at-${port}`, {
        roles: [{ name: 'inter-router', port }],
        tlsCredentials: 'x',
        generateTlsCredentials: true,
      }),
    ),
    says: { 'RouterAccess/at-9090': /port 9090/, 'RouterAccess/at-9000': /port 9000/, 'RouterAccess/at-5671': /port 5671/ },
  },
  {
    what: 'grants of numbers and durations that are none',
    objects: [
      resource('AccessGrant', 'a', { redemptionsAllowed: -5 }, { uid: '11111111-1111-4111-8111-111111111111' }),
      resource('AccessGrant', 'b', { expirationWindow: '-1h' }, { uid: '21111111-1111-4111-8111-111111111111' }),
      resource('AccessGrant', 'c', { expirationWindow: '99999999999999h' }, { uid: '31111111-1111-4111-8111-111111111111' }),
      resource('AccessGrant', 'd', { code: TOO_LONG }, { uid: '41111111-1111-4111-8111-111111111111' }),
      resource('AccessGrant', 'e', { redemptionsAllowed: 1e308 }, { uid: '51111111-1111-4111-8111-111111111111' }),
    ],
    says: {
      'AccessGrant/a': /from 0/,
      'AccessGrant/b': /length of time/,
      'AccessGrant/c': /length of time/,
      'AccessGrant/d': /1 to 1024/,
      'AccessGrant/e': /number/,
    },
  },
  {
    what: 'tokens that lead elsewhere',
    objects: [
      token('a', { url: 'http://169.254.169.254/latest' }),
      token('b', { url: 'file:///etc/passwd' }),
      token('c', { url: 'https://user:password@kubernetes.default/x' }),
      token('d', { url: TOO_LONG }),
    ],
    says: {
      'AccessToken/a': /https/,
      'AccessToken/b': /https/,
      'AccessToken/c': /not contain a user name/,
      'AccessToken/d': /at most 2048/,
    },
  },
  {
    what: 'unknown settings, and too many of them',
    objects: [
      site({
        linkAccess: 'local',
        settings: { size: TOO_LONG, 'router-logging': ESCAPES, ['__proto__x']: '1', 'certificate-days': 'NaN' },
      }),
    ],
    says: {},
  },
  {
    what: 'label templates that are none',
    objects: [
      { labelSelector: '((', name: 'good' },
      { exclude: TOO_LONG, kind: '__proto__' },
    ].map((data, index) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        namespace: 'west',
        name: `template-${index}`,
        labels: { 'skupper.io/label-template': 'true', 'skupper.io/component': 'x' },
      },
      data,
    })),
    says: { 'Site/west': /label template template-0 has no effect/ },
  },
  {
    what: 'an AttachedConnector without a binding',
    objects: [
      resource('AttachedConnector', 'a', { siteNamespace: 'kube-system', port: 80, selector: 'a=b' }),
      resource('AttachedConnectorBinding', 'a', { connectorNamespace: 'kube-system', routingKey: 'a' }),
    ],
    says: { 'AttachedConnector/a': /No matching/, 'AttachedConnectorBinding/a': /No matching/ },
  },
];

describe('An editor of a namespace', () => {
  for (const { what, objects, says } of attacks) {
    it(`disturbs nothing by ${what}`, async () => {
      using cluster = await kept(...(objects.some(({ kind }) => kind === 'Site') ? [] : [site()]), good, ...objects);
      assertUndisturbed(cluster);
      for (const [key, words] of Object.entries(says)) assert.match(complaint(cluster, key), words, key);
    });
  }

  it('gets no record of the site replaced', async () => {
    using cluster = await kept(site(), good);
    const records = () => [SITE_KEY, LEDGER, GRANTS, PENDING_KEYS].map((name) => cluster.api.read<Secret>(secrets, `west/${name}`)?.data);
    const before = records();
    for (const name of [SITE_KEY, LEDGER, GRANTS, PENDING_KEYS]) cluster.api.put(of('Certificate'), certificate(name, {}));
    await keep(cluster);
    assert.deepEqual(records(), before);
  });
});
