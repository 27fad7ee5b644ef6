/** Refusals of the API server and errors before it: the messages say what to do. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, it } from 'node:test';
import { failure, RawServer } from '../kube/raw-server.ts';
import { freePort } from '../support/free-port.ts';
import { freshCertificate } from '../support/certificate.ts';
import { Cluster, type Asked } from './cluster.ts';

const isWrite = ({ method }: Asked): boolean => method !== 'GET';
const forbidden = failure(403, 'Forbidden', 'listeners.skupper.io is forbidden: User "me" cannot create resource "listeners"');
const terminating = failure(403, 'Forbidden', 'unable to create new content', {
  details: { causes: [{ reason: 'NamespaceTerminating' }] },
});
const ofListeners = (asked: Asked): boolean => isWrite(asked) && asked.what.startsWith('listeners');

const answers: readonly (readonly [what: string, refuse: Cluster['refuse'], code: number, said: RegExp])[] = [
  [
    'does not know who asks',
    () => failure(401, 'Unauthorized', 'Unauthorized'),
    1,
    /context "here" rejects your credentials: log in again/,
  ],
  [
    'forbids it',
    (asked) => (ofListeners(asked) ? forbidden : undefined),
    1,
    /Forbidden .*cannot create.* role "edit" in the namespace west/,
  ],
  ['has no such definitions', () => '404 page not found\n', 1, /definitions \(skupper\.io\/v2alpha1\) are not installed/],
  [
    'has no such namespace',
    (asked) => (ofListeners(asked) ? failure(404, 'NotFound', 'namespaces "west" not found') : undefined),
    4,
    /The namespace west does not exist .*kubectl create namespace west/,
  ],
  ['is deleting the namespace', (asked) => (ofListeners(asked) ? terminating : undefined), 1, /namespace west is being deleted/],
  [
    'has got one meanwhile',
    (asked) => (ofListeners(asked) ? failure(409, 'AlreadyExists', 'listeners "web" already exists') : undefined),
    5,
    /The object already exists .*"web" already exists/,
  ],
  [
    'was changed meanwhile',
    (asked) => (ofListeners(asked) ? failure(409, 'Conflict', 'modified') : undefined),
    1,
    /Another client changed the object.*try again/,
  ],
  [
    'does not take it',
    (asked) => (ofListeners(asked) ? failure(422, 'Invalid', 'spec.port: too large') : undefined),
    2,
    /The cluster of context "here" rejects the object: spec\.port: too large/,
  ],
  ['is in trouble', (asked) => (ofListeners(asked) ? failure(500, 'InternalError', 'etcd') : undefined), 1, /failed: etcd \(500\)/],
];

describe('a cluster that', () => {
  for (const [what, refuse, code, said] of answers) {
    it(what, async () => {
      await using cluster = await Cluster.start();
      cluster.refuse = refuse;
      const result = await cluster.earshot(['listener', 'create', 'web', '80']);
      assert.match(result.err, said);
      assert.equal(result.code, code);
    });
  }

  it('lets one write and not watch says so at once', async () => {
    await using cluster = await Cluster.start();
    cluster.store('sites/west', { spec: {} });
    cluster.refuse = ({ query }) => (query.has('watch') ? failure(403, 'Forbidden', 'cannot watch') : undefined);
    const { code, err } = await cluster.earshot(['listener', 'create', 'web', '80']);
    assert.equal(code, 1);
    assert.match(err, /Forbidden .*cannot watch/);
  });

  it('does not let one see the controller is waited for all the same', async () => {
    await using cluster = await Cluster.start();
    cluster.store('sites/west', { spec: {} });
    cluster.refuse = ({ what }) => (what.startsWith('leases') ? failure(403, 'Forbidden', 'no') : undefined);
    cluster.control = () => setImmediate(() => cluster.status('listeners/web', { status: 'Ready', conditions: [] }));
    const { code, err } = await cluster.earshot(['listener', 'create', 'web', '80']);
    assert.equal(code, 0, err);
  });

  it('cannot be reached', async () => {
    await using cluster = await Cluster.start();
    const port = await freePort();
    await writeFile(cluster.kubeconfig, kubeconfig({ server: `http://127.0.0.1:${port}` }));
    const { code, err } = await cluster.earshot(['status']);
    assert.equal(code, 1);
    assert.match(
      err,
      new RegExp(`context "here" \\(http://127\\.0\\.0\\.1:${port}\\) is unreachable \\(ECONNREFUSED\\).*--platform linux`),
    );
  });

  it('shows a certificate issued by another authority', async () => {
    await using cluster = await Cluster.start();
    await using server = await RawServer.start(() => {}, await freshCertificate());
    await writeFile(cluster.kubeconfig, kubeconfig({ server: server.url }));
    const { code, err } = await cluster.earshot(['status']);
    assert.equal(code, 1);
    assert.match(err, /cannot be trusted \(\w+\): check certificate-authority/);
  });

  it('is not in the kubeconfig', async () => {
    await using cluster = await Cluster.start();
    const { code, err } = await cluster.earshot(['--context', 'nowhere', 'status']);
    assert.equal(code, 1);
    assert.match(err, /contexts has no entry "nowhere"/);
    assert.match((await cluster.earshot(['--context', 'nowhere', 'version'])).out, /cluster: +.*no entry "nowhere"/);
  });
});

describe('a file that names another namespace', () => {
  it('is not applied in this one', async () => {
    await using cluster = await Cluster.start();
    const metadata = { name: 'web', namespace: 'other' };
    const listener = { apiVersion: 'skupper.io/v2alpha1', kind: 'Listener', metadata, spec: { routingKey: 'web', host: 'web', port: 80 } };
    const { code, err } = await cluster.earshot(['apply', '-f', '-'], JSON.stringify(listener));
    assert.deepEqual([code, cluster.writes], [2, []]);
    assert.match(err, /metadata\.namespace: differs from west: select it with -n/);
  });
});

describe('an AttachedConnector', () => {
  it('is applied in a cluster', async () => {
    await using cluster = await Cluster.start();
    const spec = { siteNamespace: 'hub', port: 5201, selector: 'app=iperf3' };
    const manifest = { apiVersion: 'skupper.io/v2alpha1', kind: 'AttachedConnector', metadata: { name: 'iperf3' }, spec };
    const { code, out, err } = await cluster.earshot(['apply', '-f', '-'], JSON.stringify(manifest));
    assert.deepEqual([code, out], [0, 'AttachedConnector "iperf3" is created.\n'], err);
  });
});

function kubeconfig(cluster: object): string {
  const contexts = [{ name: 'here', context: { cluster: 'c' } }];
  return JSON.stringify({ 'current-context': 'here', contexts, clusters: [{ name: 'c', cluster }] });
}

describe('a command as a process of its own', () => {
  it('ends once it is done, and says what is wrong once', async () => {
    await using cluster = await Cluster.start();
    cluster.refuse = ({ query }) => (query.has('watch') ? undefined : failure(401, 'Unauthorized', 'Unauthorized'));
    const main = new URL('../../../src/cli/main.ts', import.meta.url).pathname;
    const run = promisify(execFile)(process.execPath, [main, '--kubeconfig', cluster.kubeconfig, 'status']);
    const { stderr, code } = (await run.catch((error: { readonly stderr: string; readonly code: number }) => error)) as {
      readonly stderr: string;
      readonly code: number;
    };
    assert.equal(code, 1);
    assert.match(stderr, /^earshot: The API server of [^\n]* choose another context with --context\.\n$/);
  });
});
