import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explainableKinds } from '../../../src/explain/gather/explainable-kinds.ts';
import { Cluster, condition, ready } from './cluster.ts';
import { Namespace } from './namespace.ts';

const listener = { routingKey: 'web', host: '127.0.0.1', port: 8080 };
const unmet = (type: string, reason: string, message: string) => [
  { type, status: 'False', reason, message, lastTransitionTime: '2030-01-01T00:00:00Z' },
  { type: 'Ready', status: 'False', reason, message, lastTransitionTime: '2030-01-01T00:00:00Z' },
];

describe('earshot explain', () => {
  it('says that nothing runs the site, with exit code 6', async () => {
    await using west = await Namespace.make();
    await west.answer('Listener', 'web', listener, { status: 'Ready' });
    const { code, out } = await west.earshot(['explain', 'listener', 'web']);
    assert.equal(code, 6);
    assert.match(out, /FAIL +process +No process runs the namespace west: start it with/);
  });

  it('shows the step that fails first within 80 columns, with exit code 1, and skips the later ones', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Site', 'west', {}, { status: 'Ready' });
    const message = 'Port 8080 is in use by nginx (pid 7). Stop that program, or choose another port in spec.port of this listener.';
    await west.answer('Listener', 'web', listener, { status: 'Error', conditions: unmet('Configured', 'PortInUse', message) });
    const { code, out, err } = await west.earshot(['explain', 'lnr', 'web']);
    assert.equal(code, 1);
    assert.match(out, /^Listener web, key "web", 127\.0\.0\.1:8080 +Fails$/m);
    assert.match(out, /^ {2}FAIL {2}port +Port 8080 is in use by nginx/m);
    assert.match(out, /^ {2}do +Choose another port, or stop that program\.$/m);
    assert.match(out, /^ {2}- +not checked +key, server$/m);
    assert.ok(out.split('\n').every((line) => line.length <= 80));
    assert.equal(err, 'Listener web fails at step port.\n');
  });

  it('gives programs the cause, the verdict and all steps', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Site', 'west', {}, { status: 'Ready' });
    await west.answer(
      'Link',
      'east',
      { endpoints: [] },
      { status: 'Pending', conditions: unmet('Operational', 'Connecting', 'it is connecting') },
    );
    const { code, out } = await west.earshot(['explain', 'link', 'east', '-o', 'json']);
    assert.equal(code, 3);
    const { object, verdict, cause, steps } = JSON.parse(out);
    assert.deepEqual([object, verdict, cause.id, cause.code], ['Link/east', 'wait', 'link.tcp', 'connecting']);
    assert.ok(steps.some(({ id, state }: { id: string; state: string }) => id === 'link.spec' && state === 'pass'));
  });

  it('ends with exit code 4 and the most similar name if the object does not exist', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Listener', 'web', listener, { status: 'Ready' });
    const { code, err } = await west.earshot(['explain', 'listener', 'wbe']);
    assert.equal(code, 4);
    assert.match(err, /does not exist in the namespace west; did you mean web\?/);
    assert.equal((await west.earshot(['explain', 'lisener', 'web'])).code, 2);
  });

  it('takes the name of an object as it is shown', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Listener', 'web', listener, { status: 'Ready' });
    const [apart, joined] = [await west.earshot(['explain', 'listener', 'web']), await west.earshot(['explain', 'Listener/web'])];
    assert.deepEqual([joined.code, joined.out.split('\n')[0]], [apart.code, apart.out.split('\n')[0]]);
    const { code, err } = await west.earshot(['explain', 'listener']);
    assert.equal(code, 2);
    assert.match(err, /no object is named: give listener NAME or listener\/NAME/);
    assert.match((await west.earshot(['explain', 'web'])).err, /no kind is named: give it before the name, such as listener web$/m);
  });

  it('lists existing names if none is similar, and where links of other sites are', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Listener', 'web', listener, { status: 'Ready' });
    const { err } = await west.earshot(['explain', 'listener', 'database']);
    assert.match(err, /does not exist in the namespace west; it has web\.$/m);
    const link = await west.earshot(['explain', 'link', 'east']);
    assert.equal(link.code, 4);
    assert.match(
      link.err,
      /The link "east" does not exist in the namespace west\. `earshot -n west link status` also shows links of other sites\./,
    );
  });

  it('says where names are if an object of any kind does not exist', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Site', 'west', {}, { status: 'Ready', network: [{ id: 'w', name: 'west', version: '0' }] });
    for (const { kind, words, needsCluster } of explainableKinds) {
      // Without the router API, a connection may exist.
      if (needsCluster === true || kind === 'connection') continue;
      const { code, err } = await west.earshot(['explain', words.at(-1) ?? '', 'zzzzzzzz']);
      if (code === 2) continue;
      assert.equal(code, 4, `${kind}: ${err}`);
      assert.match(err, /it has west\.$|`earshot -n west [a-z -]+`/m, kind);
    }
    const { err } = await west.earshot(['explain', 'accesstoken', 'east']);
    assert.match(err, /does not exist in the namespace west\. Names are in the output of `earshot -n west token status`\.$/m);
  });

  it('fails for a warning only with --fail-on warn', async () => {
    await using west = await Namespace.make();
    await west.run();
    await west.answer('Site', 'west', {}, { status: 'Ready' });
    const expired = { status: 'Ready', redemptions: 1, conditions: [] };
    await west.answer('AccessGrant', 'one', { redemptionsAllowed: 1 }, expired);
    assert.equal((await west.earshot(['explain', 'accessgrant', 'one'])).code, 0);
    assert.equal((await west.earshot(['explain', 'accessgrant', 'one', '--fail-on', 'warn'])).code, 1);
  });
});

describe('earshot explain in a cluster', () => {
  it('names the cause that the words of a status give, and the sites of the network', async () => {
    await using cluster = await Cluster.start();
    const services = [{ routingKey: 'api', connectors: ['router/1'], listeners: [] }];
    const network = [
      { id: 'w', name: 'west', version: '0' },
      { id: 'e', name: 'east', version: '0', services },
    ];
    cluster.store('sites/west', { spec: {}, status: ready({ network }) });
    const unmatched = [
      condition('Configured'),
      condition('Matched', 'False', 'No matching connectors: none'),
      condition('Ready', 'False', 'No matching connectors: none'),
    ];
    const status = { status: 'Pending', message: 'No matching connectors: none', conditions: unmatched };
    cluster.store('listeners/api', { spec: { routingKey: 'Api', host: 'api', port: 80 }, status });
    const { code, out } = await cluster.earshot(['explain', 'lnr', 'api', '-o', 'json']);
    const { cause } = JSON.parse(out);
    assert.deepEqual([code, cause.id, cause.code], [1, 'listener.key', 'no-connector']);
    assert.match(cause.says, /did you mean "api" \(east\)\?/);
    assert.equal((await cluster.earshot(['explain', 'lnr', 'other'])).code, 4);
  });

  it('says where names are if an object of any kind does not exist', async () => {
    await using cluster = await Cluster.start();
    cluster.store('sites/west', { spec: {}, status: ready({ network: [{ id: 'w', name: 'west', version: '0' }] }) });
    for (const { kind, words } of explainableKinds) {
      // Without the router API, a connection may exist.
      if (kind === 'connection') continue;
      const { code, err } = await cluster.earshot(['explain', words.at(-1) ?? '', 'zzzzzzzz']);
      assert.equal(code, 4, `${kind}: ${err}`);
      assert.match(err, /it has west\.$|`(?:earshot|kubectl) [^`]+`/m, kind);
      assert.match(err, kind === 'ListenerClass' ? /does not exist in the cluster/ : /does not exist in the namespace west/, kind);
    }
  });

  it('follows a NetworkObserver to the Secret with its users, and check finds the same', async () => {
    await using cluster = await Cluster.start();
    cluster.store('sites/west', { spec: {}, status: ready({ network: [{ id: 'w', name: 'west', version: '0' }] }) });
    const deployed = { ...condition('Deployed'), observedGeneration: 1 };
    cluster.store('networkobservers/web', { metadata: { name: 'web', generation: 1 }, status: { conditions: [deployed] } });
    cluster.store('secrets/web-network-observer-auth', { data: { htpasswd: Buffer.from('me:$2y$05$x').toString('base64') } });
    const { code, out } = await cluster.earshot(['explain', 'networkobserver', 'web', '-o', 'json']);
    const { cause } = JSON.parse(out);
    assert.deepEqual([code, cause.id], [1, 'network-observer.users']);
    const found = JSON.parse((await cluster.earshot(['check', '-o', 'json'])).out);
    const same = found.objects.find(({ object }: { object: string }) => object === 'NetworkObserver/web');
    assert.deepEqual(same?.cause, cause);
    const { err } = await cluster.earshot(['explain', 'networkobserver', 'wbe']);
    assert.match(err, /^The networkobserver "wbe" does not exist in the namespace west; did you mean web\?/);
  });

  it('takes links from their statuses, and dates from Certificates', async () => {
    await using cluster = await Cluster.start();
    cluster.store('sites/west', { spec: {}, status: ready({ network: [{ id: 'w', name: 'west', version: '0' }] }) });
    const down = [
      condition('Configured'),
      condition('Operational', 'False', 'Not operational: refused'),
      condition('Ready', 'False', 'Not operational: refused'),
    ];
    cluster.store('links/east', {
      spec: { endpoints: [] },
      status: { status: 'Pending', message: 'Not operational: refused', conditions: down },
    });
    cluster.store('certificates/ca', {
      spec: { ca: '', subject: 'ca', signing: true },
      status: ready({ expiration: '2020-01-01T00:00:00Z' }),
    });
    const { cause, steps } = JSON.parse((await cluster.earshot(['explain', 'site', 'west', '-o', 'json'])).out);
    assert.deepEqual([cause.id, cause.code], ['site.authority', 'tls-expired']);
    assert.ok(steps.every(({ state }: { state: string }) => state !== 'unknown'));
    const link = JSON.parse((await cluster.earshot(['explain', 'link', 'east', '-o', 'json'])).out);
    assert.deepEqual([link.cause.id, link.cause.says], ['link.handshake', 'Not operational: refused']);
  });
});
