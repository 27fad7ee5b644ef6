/** `debug dump` of a site in a cluster. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { failure } from '../kube/raw-server.ts';
import { freshCertificate } from '../support/certificate.ts';
import { Cluster, ready } from './cluster.ts';
import { limitRights, startRouterPods, storeIdentity } from './router-pods.ts';
import { untar } from './untar.ts';

const ROUTER_POD = 'skupper-router-abc';
const CONTROLLER_POD = 'skupper-controller-abc';
const { cert, key } = freshCertificate();
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A cluster whose router was restarted once. */
async function withSite(): Promise<Cluster> {
  const cluster = await Cluster.start();
  cluster.store('sites/west', { spec: {}, status: ready() });
  cluster.store(`pods/${ROUTER_POD}`, {
    metadata: { labels: { 'app.kubernetes.io/name': 'skupper-router' } },
    spec: { containers: [{ name: 'router' }] },
    status: { containerStatuses: [{ name: 'router', lastState: { terminated: { reason: 'Error', exitCode: 1 } } }] },
  });
  cluster.store(`pods/${CONTROLLER_POD}`, {
    metadata: { labels: { application: 'skupper-controller' } },
    spec: { containers: [{ name: 'controller' }] },
  });
  return cluster;
}

/** Content of each file by its path below the archive's directory. */
async function dumpOf(cluster: Cluster): Promise<(path: string) => string> {
  const file = cluster.path('dump.tar.gz');
  const { code, err } = await cluster.earshot(['debug', 'dump', file]);
  assert.equal(code, 0, err);
  const files = untar(gunzipSync(await readFile(file)));
  return (path) => {
    const content = files.get(`earshot-west/${path}`);
    assert.ok(content !== undefined, `${path} is not one of ${[...files.keys()].join(' ')}`);
    return content;
  };
}

describe('debug dump in a cluster', () => {
  it('has the metrics and the readiness of each router pod', async () => {
    await using cluster = await withSite();
    cluster.answerOfPod = ({ what }) => `answer to ${decodeURIComponent(what)}\n`;
    const content = await dumpOf(cluster);
    assert.equal(content(`routers/${ROUTER_POD}/metrics.txt`), `answer to pods/${ROUTER_POD}:9090/proxy/metrics\n`);
    assert.equal(content(`routers/${ROUTER_POD}/readyz.txt`), `answer to pods/${ROUTER_POD}:9090/proxy/readyz\n`);
  });

  it('has the answers of the router API', async () => {
    await using cluster = await withSite();
    limitRights(cluster);
    storeIdentity(cluster, 'reader', 'api');
    await using _pods = await startRouterPods(cluster, { 'router-1': {} });
    const content = await dumpOf(cluster);
    assert.match(content('routers/router-1/self.yaml'), /^router: router-1$/m);
    for (const view of ['network', 'links', 'keys']) assert.doesNotMatch(content(`routers/router-1/${view}.yaml`), /^problem:/m);
    assert.throws(() => content('routers/api.txt'), /is not one of/);
  });

  const lacking: readonly (readonly [right: string, says: RegExp])[] = [
    ['create pods/portforward', /your user may not get and create pods\/portforward in the namespace west\. Ask an administrator/],
    ['get secrets/reader', /your user may not get secrets\/reader in the namespace west\. Ask an administrator/],
  ];
  for (const [right, says] of lacking)
    it(`names the right that is missing for the router API: ${right}`, async () => {
      await using cluster = await withSite();
      limitRights(cluster, (each) => each === right);
      storeIdentity(cluster, 'reader', 'api');
      await using _pods = await startRouterPods(cluster, { 'router-1': {} });
      const content = await dumpOf(cluster);
      assert.match(content('routers/api.txt'), says);
      assert.match(content('routers/api.txt'), /skupper-network-status has the network/);
    });

  it('advises to create a Certificate for the router API if the namespace does not have one', async () => {
    await using cluster = await withSite();
    limitRights(cluster);
    await using _pods = await startRouterPods(cluster, { 'router-1': {} });
    assert.match(
      (await dumpOf(cluster))('routers/api.txt'),
      /^The API of the routers was not asked: .*Create a Certificate with this spec: .*purpose: api/,
    );
  });

  it('names the right that is missing for the answers of a router', async () => {
    await using cluster = await withSite();
    const forbidden = failure(403, 'Forbidden', `pods "${ROUTER_POD}:9090" is forbidden: User "u" cannot get resource "pods/proxy"`);
    cluster.refuse = ({ what }) => (what.includes('/proxy/') ? forbidden : undefined);
    const content = await dumpOf(cluster);
    assert.match(content(`routers/${ROUTER_POD}/metrics.txt`), /^could not be read: .*cannot get resource "pods\/proxy"/);
    assert.match(content(`logs/${ROUTER_POD}-router.txt`), /^log of/);
  });

  it('names the right that is missing for Secrets, and goes on', async () => {
    await using cluster = await withSite();
    cluster.refuse = ({ what }) => (what === 'secrets' ? failure(403, 'Forbidden', 'User "u" cannot list resource "secrets"') : undefined);
    const content = await dumpOf(cluster);
    assert.match(content('resources/Secret.problem.txt'), /^could not be read: .*cannot list resource "secrets"/);
    assert.match(content('resources/Site.yaml'), /kind: Site/);
  });

  it('has the log of a container that ended, beside that of the running one', async () => {
    await using cluster = await withSite();
    cluster.answerOfPod = ({ what, query }) => `${what}, previous ${query.get('previous') ?? 'no'}\n`;
    const content = await dumpOf(cluster);
    assert.equal(content(`logs/${ROUTER_POD}-router.txt`), `pods/${ROUTER_POD}/log, previous no\n`);
    assert.equal(content(`logs/${ROUTER_POD}-router.previous.txt`), `pods/${ROUTER_POD}/log, previous true\n`);
    assert.throws(() => content(`controller/logs/${CONTROLLER_POD}-controller.previous.txt`), /is not one of/);
  });

  it('has the facts of the certificates in Secrets', async () => {
    await using cluster = await withSite();
    cluster.store('secrets/skupper-site-server', {
      data: { 'tls.crt': base64(cert), 'tls.key': base64(key), 'ca.crt': base64('damaged') },
    });
    const content = await dumpOf(cluster);
    const text = content('certificates.yaml');
    assert.match(text, /secret: skupper-site-server\n +key: tls\.crt\n[^]*validTo: /);
    assert.match(text, /key: ca\.crt\n +problem: /);
    assert.doesNotMatch(text, new RegExp(base64(key)));
  });

  it('has the Leases, the renewals, the Services of listeners and the EndpointSlices of the site, and none of others', async () => {
    await using cluster = await withSite();
    const service = (name: string): object => ({ metadata: { labels: { 'kubernetes.io/service-name': name } } });
    cluster.store('leases/skupper-site-leader', { spec: { holderIdentity: ROUTER_POD } });
    cluster.store('leases/skupper-controller', { spec: { holderIdentity: CONTROLLER_POD } });
    cluster.store('leases/other-lease', { spec: {} });
    cluster.store('configmaps/skupper-router-renewals', { data: { east: 'asked' } });
    cluster.store('services/backend', { metadata: { labels: { 'internal.skupper.io/listener': 'backend' } } });
    cluster.store('endpointslices/skupper-router-x', service('skupper-router'));
    cluster.store('endpointslices/backend-x', { metadata: { labels: { 'internal.skupper.io/listener': 'backend' } } });
    cluster.store('endpointslices/attached-x', { metadata: { labels: { 'internal.skupper.io/attached': 'true' } } });
    cluster.store('endpointslices/other-x', service('other'));
    const content = await dumpOf(cluster);
    assert.deepEqual(namesIn(content('objects/Lease.yaml')), ['skupper-site-leader']);
    assert.deepEqual(namesIn(content('controller/Lease.yaml')), ['skupper-controller']);
    assert.deepEqual(namesIn(content('objects/ConfigMap.yaml')), ['skupper-router-renewals']);
    assert.deepEqual(namesIn(content('objects/Service.yaml')), ['backend']);
    assert.deepEqual(namesIn(content('objects/EndpointSlice.yaml')), ['skupper-router-x', 'backend-x', 'attached-x']);
  });

  it('has no key and no code, whichever source repeats them', async () => {
    await using cluster = await withSite();
    const secrets = ['given-code', 'redeemed-code', 'a2V5a2V5'];
    const leak = `${secrets.join(' ')} ${key}`;
    cluster.store('accessgrants/g', { spec: { code: 'given-code' }, status: { code: 'redeemed-code' } });
    cluster.store('secrets/tls', { data: { 'tls.key': 'a2V5a2V5', 'tls.crt': base64(key) } });
    const annotated = (name?: string): object => ({ metadata: { annotations: { leak }, labels: { 'kubernetes.io/service-name': name } } });
    cluster.store('leases/skupper-site-leader', annotated());
    cluster.store('leases/skupper-controller', annotated());
    cluster.store('endpointslices/skupper-router-x', annotated('skupper-router'));
    cluster.store('configmaps/skupper-router-renewals', { data: { leak } });
    cluster.answerOfPod = ({ what }) => `${what} ${leak}`;
    const content = await dumpOf(cluster);
    const sources = [
      `routers/${ROUTER_POD}/metrics.txt`,
      `routers/${ROUTER_POD}/readyz.txt`,
      `logs/${ROUTER_POD}-router.txt`,
      `logs/${ROUTER_POD}-router.previous.txt`,
      `controller/logs/${CONTROLLER_POD}-controller.txt`,
      'objects/Lease.yaml',
      'objects/EndpointSlice.yaml',
      'objects/ConfigMap.yaml',
      'controller/Lease.yaml',
    ];
    for (const path of sources) assert.match(content(path), /\(hidden\)/, path);
    const keyText = key.split('\n')[1] ?? '';
    for (const path of [...sources, 'certificates.yaml', 'resources/Secret.yaml', 'resources/AccessGrant.yaml'])
      for (const secret of [...secrets, keyText]) assert.ok(!content(path).includes(secret), `${path} has ${secret}`);
    assert.match(content('resources/Secret.yaml'), /tls\.key/);
  });
});

function namesIn(documents: string): readonly string[] {
  return [...documents.matchAll(/^ {2}name: "?([^"\n]+)"?$/gm)].map(([, name = '']) => name);
}
