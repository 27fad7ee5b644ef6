/** Two linked namespaces move from Skupper to Earshot and back, as docs/from-skupper.md describes. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { AccessGrant, Link } from '../../src/api/skupper/index.ts';
import type { Deployment, KubeObject, Pod, Secret, Service } from '../../src/kube/objects.ts';
import { isRecord } from '../../src/text/is-record.ts';
import { eventually } from '../harness/index.ts';
import { auditFromNow, describeRequest, type AuditedRequest, type AuditReader } from './support/audit.ts';
import { useNamespace, type Namespace } from './support/namespace.ts';
import { collectionOf } from './support/paths.ts';
import { client, fetched, SKUPPER, skupper, untilCondition, webDeployment } from './support/sites.ts';
import { ready, serialOf, SkupperSite, tlsSecret } from './support/skupper-left.ts';

const EARLIER = 'earlier/skupper-controller';
const GROUPS = ['skupper-router', 'skupper-router-2'];
const LINK = 'link-west-skupper-router';
const TOKENS = 'https://192.0.2.1:9090/4b1496eb-d46a-48f1-849e-b55ed1be303d';
const CODE = 'a'.repeat(24);

describe('namespaces that Skupper has kept', { timeout: 300_000 }, () => {
  const west = useNamespace('west');
  const east = useNamespace('east');
  const both = [west, east];
  const left = { west: new SkupperSite(west, 'west', { ha: false }), east: new SkupperSite(east, 'east', { ha: true }) };
  let audit: AuditReader;
  let asItWas: readonly Standing[];
  let specsAsTheyWere: readonly unknown[];

  const controlledBy = (controller: string): Promise<unknown> =>
    Promise.all(both.map((namespace) => namespace.patch('v1', 'ConfigMap', 'skupper', { data: { controller } })));
  const written = (namespace: Namespace): readonly string[] => audit.changes(namespace.name).map(describeRequest);

  const routerSpecs = (): Promise<readonly unknown[]> =>
    Promise.all([
      ...both.map((namespace) => specOf(namespace, 'skupper-router')),
      specOf(east, 'skupper-router-2'),
      ...both.map(async (namespace) => ({ ...(await namespace.service('skupper-router-local')).spec, clusterIP: '', clusterIPs: [] })),
    ]);

  before(async () => {
    audit = await auditFromNow(west.cluster);
    for (const namespace of both) {
      const control = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'skupper' }, data: { controller: EARLIER } };
      await namespace.create(control);
    }
    await east.create(webDeployment('backend', 1));
    await west.create(await client('client', west.cluster));
    await Promise.all([left.west.make(), left.east.make()]);
    for (const [name, port, host = 'backend'] of [
      ['backend', 8080],
      ['backend-admin', 9090],
      ['pods', 8080, 'pods'],
    ] as const) {
      const spec = { host, port, routingKey: name === 'backend-admin' ? name : 'backend', exposePodsByName: host === 'pods', type: 'tcp' };
      await left.west.created(skupper('Listener', name, spec), { status: ready('Configured', 'Matched', 'Ready') });
    }
    await left.west.created(
      skupper('MultiKeyListener', 'both', { host: 'both', port: 8080, strategy: { priority: { routingKeys: ['backend', 'other'] } } }),
      { status: ready('Configured', 'Operational') },
    );
    await left.west.service('backend', [
      { name: 'backend-admin', port: 9090, routerPort: 1025 },
      { name: 'backend', port: 8080, routerPort: 1024 },
    ]);
    await left.west.service('pods', [{ name: 'pods', port: 8080, routerPort: 1026 }]);
    await left.west.service('both', [{ name: 'multiaddress-both', port: 8080, routerPort: 1027 }]);
    const expirationTime = new Date(Date.now() + 900_000).toISOString();
    await left.west.created(skupper('AccessGrant', 'token', { redemptionsAllowed: 1, expirationWindow: '15m0s' }), {
      status: {
        ...ready('Processed', 'Resolved', 'Ready'),
        url: 'https://10.77.0.11:9090/x',
        code: 'a'.repeat(24),
        ca: 'x',
        expirationTime,
      },
    });
    const connector = { routingKey: 'backend', selector: 'app=backend', port: 8080, type: 'tcp', useClientCert: false };
    await left.east.created(skupper('Connector', 'backend', connector), { status: ready('Configured', 'Matched', 'Ready') });
    const annotations = { 'internal.skupper.io/tls-profile-context': '[{"profileName":"link-west-profile","ordinal":0}]' };
    await east.create(tlsSecret('link-west', await left.west.linkCertificate(), annotations));
    const link = { cost: 1, endpoints: left.west.endpoints, tlsCredentials: 'link-west' };
    await left.east.created(skupper('Link', LINK, link), { status: ready('Configured', 'Operational', 'Ready') });
    await Promise.all([untilRouters(west, 2, ['skupper-router']), untilRouters(east, 2, GROUPS)]);
    asItWas = (await Promise.all(both.map(standing))).flat();
    specsAsTheyWere = await routerSpecs();
  });

  it('are left alone while they name another controller', async () => {
    await audit.settle();
    assert.deepEqual(both.flatMap(written), []);
  });

  it('become ready, and a client reaches the pods of the other over the link that was there', async (test) => {
    const began = performance.now();
    await controlledBy(await installedController(west));
    await west.running('client');
    assert.match(await fetched(west, 'client', 'http://backend:8080/', 120_000), /^backend-/);
    test.diagnostic(`from the change of who controls them until the first answer: ${((performance.now() - began) / 1000).toFixed(1)} s`);
    for (const name of ['both', 'pods']) assert.match(await fetched(west, 'client', `http://${name}:8080/`), /^backend-/);
    await Promise.all([untilCondition(west, 'Site', 'west'), untilCondition(east, 'Site', 'east'), untilCondition(east, 'Link', LINK)]);
    await untilCondition(west, 'Listener', 'backend');
    await untilCondition(east, 'Connector', 'backend');
  });

  it('have routers of Earshot, and keep all else: Services with addresses, Secrets with certificates', async () => {
    await untilRouters(west, 1, ['skupper-router']);
    await untilRouters(east, 1, GROUPS);
    const now = new Map((await Promise.all(both.map(standing))).flat().map((each) => [each.what, each]));
    assert.deepEqual(
      asItWas.map(({ what }) => now.get(what)),
      asItWas,
    );
    const known = new Set(asItWas.map(({ what }) => what));
    const added = [...now.keys()].filter((what) => !known.has(what)).sort();
    // No record of what was issued: nothing was.
    assert.deepEqual(added, [
      `ConfigMap ${east.name}/skupper-router-renewals`,
      `ConfigMap ${west.name}/skupper-router-renewals`,
      `Secret ${east.name}/skupper-site-key`,
      `Secret ${west.name}/skupper-site-grants`,
      `Secret ${west.name}/skupper-site-key`,
    ]);
  });

  it('give tokens of their own, and not those from before', async () => {
    const of = { apiVersion: SKUPPER, kind: 'AccessGrant', name: 'token' };
    const { status } = await west.until<AccessGrant>(of, 'has another address', (grant) => grant.status?.url !== TOKENS);
    assert.notEqual(status?.code, CODE);
    assert.match(status?.ca ?? '', /BEGIN CERTIFICATE/);
  });

  it('have nothing written any more but what is missing', async () => {
    audit = await auditFromNow(west.cluster);
    for (const namespace of both) {
      await namespace.remove('v1', 'Service', 'skupper-router-local');
      await eventually('the Service to be back', () => namespace.service('skupper-router-local'));
    }
    await audit.settle();
    assert.deepEqual(
      both.map(written),
      both.map(({ name }) => [`create services ${name}/skupper-router-local → 201`]),
    );
  });

  it('let the certificates from before in no longer where the Site says so', async () => {
    await west.patch(SKUPPER, 'Site', 'west', { spec: { settings: { 'unmarked-certificates': 'refuse' } } });
    await removeRouters(west);
    await east.until<Link>({ apiVersion: SKUPPER, kind: 'Link', name: LINK }, 'is refused', ({ status }) =>
      /marked/.test(status?.message ?? ''),
    );
    await west.patch(SKUPPER, 'Site', 'west', { spec: { settings: null } });
    await untilCondition(east, 'Link', LINK);
  });

  it('have them renewed in time, in the Secret that came with the Link, and then let in', async () => {
    const old = await left.west.oldLinkCertificate();
    await east.patch('v1', 'Secret', 'link-west', { data: old });
    const of = { apiVersion: 'v1', kind: 'Secret', name: 'link-west' };
    await east.until<Secret>(of, 'is renewed', (secret) => serialOf(secret) !== serialOf({ ...secret, data: old }));
    await west.patch(SKUPPER, 'Site', 'west', { spec: { settings: { 'unmarked-certificates': 'refuse' } } });
    await removeRouters(west);
    assert.match(await fetched(west, 'client', 'http://backend:8080/', 120_000), /^backend-/);
  });

  it('move back: no controller holds on to what Skupper applies, nor to what is deleted for it', async () => {
    await controlledBy(EARLIER);
    audit = await auditFromNow(west.cluster);
    for (const [kind, name] of [...OURS, ['ConfigMap', 'skupper-router'], ['ConfigMap', 'skupper-router-2']] as const) {
      for (const namespace of both) await namespace.remove('v1', kind, name);
    }
    await Promise.all([left.west.apply(), left.east.apply()]);
    await Promise.all([untilRouters(west, 2, ['skupper-router']), untilRouters(east, 2, GROUPS)]);
    // The API server keeps this field of a Service when it is no longer applied.
    const isKept = { ipFamilyPolicy: 'PreferDualStack' };
    const expected = specsAsTheyWere.map((spec) => (isRecord(spec) && 'ipFamilyPolicy' in spec ? { ...spec, ...isKept } : spec));
    assert.deepEqual(await routerSpecs(), expected);
    await audit.settle();
    // Routers write their own state until they are gone.
    const isOfRouter = ({ user }: AuditedRequest): boolean => user.username?.endsWith(':skupper-router') === true;
    const ofController = both.flatMap(({ name }) => audit.changes(name).filter((request) => !isOfRouter(request)));
    assert.deepEqual(ofController.map(describeRequest), []);
  });
});

/** What comes with Earshot, and goes by hand where it is left. */
const OURS = [
  ['Secret', 'skupper-site-key'],
  ['Secret', 'skupper-site-ledger'],
  ['Secret', 'skupper-site-grants'],
  ['Secret', 'skupper-pending-keys'],
  ['ConfigMap', 'skupper-router-renewals'],
] as const;

async function specOf(namespace: Namespace, name: string): Promise<unknown> {
  return (await namespace.get<Deployment>('apps/v1', 'Deployment', name))?.spec;
}

/** What must stay of an object. */
interface Standing {
  readonly what: string;
  readonly uid: string | undefined;
  readonly address?: string | undefined;
  readonly ports?: unknown;
  readonly serial?: string | undefined;
}

const KINDS: readonly (readonly [apiVersion: string, kind: string])[] = [
  ['v1', 'Service'],
  ['v1', 'Secret'],
  ['v1', 'ConfigMap'],
  ['v1', 'ServiceAccount'],
  ['apps/v1', 'Deployment'],
  ...['Site', 'Listener', 'Link', 'RouterAccess', 'SecuredAccess', 'Certificate'].map((kind) => [SKUPPER, kind] as const),
];

async function standing(namespace: Namespace): Promise<readonly Standing[]> {
  const all = await Promise.all(
    KINDS.map(async ([apiVersion, kind]) => {
      const { items } = await namespace.cluster.api.get<{ readonly items: readonly KubeObject[] }>(
        collectionOf(apiVersion, kind, namespace.name),
      );
      return items.map((object) => standingOf({ ...object, kind }, namespace));
    }),
  );
  return all.flat();
}

function standingOf(object: KubeObject, { name: namespace }: Namespace): Standing {
  const { kind, metadata } = object;
  const { spec } = object as Service;
  const more = {
    Service: () => ({ address: spec?.clusterIP, ports: spec?.ports?.map(({ name, port, targetPort }) => [name, port, targetPort]).sort() }),
    Secret: () => ({ serial: serialOf(object as Secret) }),
  }[kind ?? ''];
  return { what: `${kind} ${namespace}/${metadata.name}`, uid: metadata.uid, ...more?.() };
}

/** Waits until each group has one router that is ready, with that many containers. */
async function untilRouters(namespace: Namespace, containers: number, groups: readonly string[]): Promise<void> {
  for (const name of groups) {
    await namespace.until<Deployment & { readonly status?: Record<string, number>; readonly metadata: { readonly generation?: number } }>(
      { apiVersion: 'apps/v1', kind: 'Deployment', name },
      'is rolled out',
      ({ metadata, status }) =>
        status?.['observedGeneration'] === metadata.generation &&
        [status?.['replicas'], status?.['updatedReplicas'], status?.['readyReplicas']].every((count) => count === 1),
    );
  }
  const selector = encodeURIComponent('application=skupper-router');
  const path = `${collectionOf('v1', 'Pod', namespace.name)}?labelSelector=${selector}`;
  const { items } = await namespace.cluster.api.get<{ readonly items: readonly Pod[] }>(path);
  const alive = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  assert.deepEqual(
    alive.map(({ spec }) => spec?.containers?.length),
    groups.map(() => containers),
  );
}

async function removeRouters(namespace: Namespace): Promise<void> {
  await namespace.cluster.kubectl([
    '--namespace',
    namespace.name,
    'delete',
    'pods',
    '--selector=application=skupper-router',
    '--wait=false',
  ]);
}

/** As a ConfigMap `skupper` names it. */
async function installedController({ cluster }: Namespace): Promise<string> {
  const path = `/apis/apps/v1/deployments?labelSelector=${encodeURIComponent('application=skupper-controller')}`;
  const { items } = await cluster.api.get<{ readonly items: readonly Deployment[] }>(path);
  const { namespace, name } = items[0]?.metadata ?? assert.fail('no controller of sites is installed');
  return `${namespace}/${name}`;
}
