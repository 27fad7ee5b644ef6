/** Commands on a site in a cluster: what they ask the API server for, and what they wait for. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parseYaml } from '../../../src/text/yaml.ts';
import { formatRevoked } from '../../../src/trust/disk/ledger-files.ts';
import { failure } from '../kube/raw-server.ts';
import { Cluster, condition, ready, type Stored } from './cluster.ts';

const ENDPOINTS = [
  { name: 'inter-router', host: '192.0.2.1', port: '55671', group: 'skupper-router' },
  { name: 'edge', host: '192.0.2.1', port: '45671', group: 'skupper-router' },
];

/** A cluster with a site that works. */
async function withSite(status: object = {}): Promise<Cluster> {
  const cluster = await Cluster.start();
  cluster.store('sites/west', {
    spec: { linkAccess: 'default' },
    status: ready({ endpoints: ENDPOINTS, defaultIssuer: 'skupper-site-ca', ...status }),
  });
  return cluster;
}

/** Written objects are processed at once. */
function takingUp(cluster: Cluster, status: object = ready()): void {
  cluster.control = ({ kind, metadata, status: before }) => {
    if (before === undefined) cluster.status(`${String(kind).toLowerCase()}s/${metadata.name}`, status);
  };
}

describe('site create in a cluster', () => {
  it('makes the Site and waits until it is ready, by a watch', async () => {
    await using cluster = await Cluster.start();
    cluster.control = ({ metadata }) => void setImmediate(() => cluster.status(`sites/${metadata.name}`, ready()));
    const { code, out } = await cluster.earshot(['site', 'create', 'west', '--enable-link-access', '--enable-ha']);
    assert.deepEqual([code, out], [0, 'Site "west" is ready.\n']);
    assert.deepEqual(cluster.get('sites/west')?.spec, { edge: false, ha: true, linkAccess: 'default' });
    assert.deepEqual(cluster.writes, ['POST sites']);
    const create = cluster.requests.find(({ method }) => method === 'POST');
    assert.equal(create?.query.get('fieldManager'), 'earshot-cli');
    const after = cluster.requests.slice(cluster.requests.findIndex(({ method }) => method === 'POST') + 1);
    assert.deepEqual(
      after.filter(({ query, what }) => !query.has('watch') && what.startsWith('sites')).map(({ what }) => what),
      ['sites'],
      'who looks after it is asked once, and then nothing is asked for again',
    );
  });

  it('names its cluster if no option chose one, and says how to choose this machine', async () => {
    await using cluster = await Cluster.start();
    cluster.control = ({ metadata }) => void setImmediate(() => cluster.status(`sites/${metadata.name}`, ready()));
    process.env['KUBECONFIG'] = cluster.kubeconfig;
    try {
      const found = await cluster.earshot(['-n', 'west', 'site', 'create', 'west'], '', []);
      assert.equal(found.code, 0);
      assert.match(
        found.err,
        /^The command uses the namespace west of the cluster of context "here"; for a site of this machine, add --platform linux/,
      );
    } finally {
      delete process.env['KUBECONFIG'];
    }
  });

  it('is refused where there is one already', async () => {
    await using cluster = await withSite();
    const { code, err } = await cluster.earshot(['site', 'create', 'east']);
    assert.equal(code, 5);
    assert.match(err, /already has a site: "west"/);
  });

  it('says what the site is and what is still missing when its time is over', async () => {
    await using cluster = await Cluster.start();
    const status = { status: 'Error', message: 'Unsupported value', conditions: [condition('Configured', 'False', 'Unsupported value')] };
    takingUp(cluster, status);
    const { code, err } = await cluster.earshot(['site', 'create', 'west', '--timeout', '200ms']);
    assert.equal(code, 1);
    assert.match(err, /Unsupported value.* "west" was created nevertheless/s);
  });
});

describe('a change in a cluster', () => {
  it('is waited for until the status is about it', async () => {
    await using cluster = await withSite();
    const observed = (generation: number): object =>
      ready({ conditions: [condition('Configured', 'True', 'OK', { observedGeneration: generation })] });
    cluster.store('listeners/web', { spec: { routingKey: 'web', host: 'web', port: 80 } });
    cluster.status('listeners/web', observed(1));
    const change = cluster.earshot(['listener', 'update', 'web', '--port', '81']);
    cluster.control = () => void setImmediate(() => cluster.status('listeners/web', observed(2)));
    const { code, out } = await change;
    assert.deepEqual([code, out], [0, 'Listener "web" is configured.\n']);
    const patches = cluster.requests.filter(({ method }) => method === 'PATCH').map(({ body }) => body);
    assert.deepEqual(patches, [{ spec: { port: 81 } }], 'nothing else is touched');
  });

  it('is not written if it changes nothing', async () => {
    await using cluster = await withSite();
    cluster.store('listeners/web', { spec: { routingKey: 'web', host: 'web', port: 80 }, status: ready() });
    const { out } = await cluster.earshot(['listener', 'update', 'web', '--port', '80', '--wait', 'none']);
    assert.deepEqual([out, cluster.writes], ['Listener "web" is as it was.\n', []]);
  });

  it('puts a host in the place of a selector, and takes fields away', async () => {
    await using cluster = await withSite();
    cluster.store('connectors/db', { spec: { routingKey: 'db', selector: 'app=db', port: 5432, tlsCredentials: 'tls' } });
    await cluster.earshot(['connector', 'update', 'db', '--host', 'db.internal', '--tls-credentials', '', '--wait', 'none']);
    const { host, selector, tlsCredentials, routingKey } = cluster.get('connectors/db')?.spec ?? {};
    assert.deepEqual([host, selector, tlsCredentials, routingKey], ['db.internal', undefined, undefined, 'db']);
  });
});

describe('listener and connector create in a cluster', () => {
  const cases: readonly (readonly [args: readonly string[], what: string, spec: object])[] = [
    [['listener', 'create', 'web', '80'], 'listeners/web', { routingKey: 'web', host: 'web', port: 80 }],
    [['connector', 'create', 'web', '80'], 'connectors/web', { routingKey: 'web', selector: 'app=web', port: 80 }],
    [['connector', 'create', 'web', '80', '--selector', 'a=b'], 'connectors/web', { routingKey: 'web', selector: 'a=b', port: 80 }],
    [['connector', 'create', 'web', '80', '--host', 'x'], 'connectors/web', { routingKey: 'web', host: 'x', port: 80 }],
    [
      ['connector', 'create', 'web', '80', '--workload', 'deployment/back'],
      'connectors/web',
      { routingKey: 'web', selector: 'app=back,tier in (a,b),!old', port: 80 },
    ],
    [
      ['connector', 'create', 'web', '80', '--workload', 'svc/back'],
      'connectors/web',
      { routingKey: 'web', selector: 'app=svc', port: 80 },
    ],
  ];
  for (const [args, what, spec] of cases) {
    it(args.join(' '), async () => {
      await using cluster = await withSite();
      takingUp(cluster);
      const matchExpressions = [
        { key: 'tier', operator: 'In', values: ['a', 'b'] },
        { key: 'old', operator: 'DoesNotExist' },
      ];
      cluster.store('deployments/back', { spec: { selector: { matchLabels: { app: 'back' }, matchExpressions } } });
      cluster.store('services/back', { spec: { selector: { app: 'svc' } } });
      const { code, err } = await cluster.earshot(args);
      assert.equal(code, 0, err);
      const found = cluster.get(what)?.spec ?? {};
      assert.deepEqual(
        Object.fromEntries(['routingKey', 'host', 'selector', 'port'].flatMap((key) => (key in found ? [[key, found[key]]] : []))),
        spec,
      );
    });
  }

  it('need the Secret that they name', async () => {
    await using cluster = await withSite();
    const { code, err } = await cluster.earshot(['listener', 'create', 'web', '80', '--tls-credentials', 'tls']);
    assert.equal(code, 4);
    assert.match(err, /needs the Secret "tls", which does not exist.*kubectl -n west create secret tls tls/);
    assert.deepEqual(cluster.writes, []);
    cluster.store('secrets/tls', { data: {} });
    takingUp(cluster);
    assert.equal((await cluster.earshot(['listener', 'create', 'web', '80', '--tls-credentials', 'tls'])).code, 0);
  });

  it('are printed for a workload', async () => {
    await using cluster = await withSite();
    cluster.store('deployments/back', { spec: { selector: { matchLabels: { app: 'back' } } } });
    const { code, out, err } = await cluster.earshot(['connector', 'generate', 'web', '80', '--workload', 'deployment/back']);
    assert.equal(code, 0, err);
    assert.match(out, /selector: app=back/);
    assert.deepEqual(cluster.writes, []);
  });

  it('name what there is where a workload is not', async () => {
    await using cluster = await withSite();
    const say = async (workload: string): Promise<string> =>
      (await cluster.earshot(['connector', 'create', 'w', '1', '--workload', workload])).err;
    assert.match(await say('deployment/none'), /Deployment "none" does not exist in the namespace west/);
    assert.match(await say('job/none'), /is not a workload: give one such as deployment\/backend/);
  });

  it('wait on where pods may still come', async () => {
    await using cluster = await withSite();
    const none = {
      status: 'Error',
      message: 'No matches for selector',
      conditions: [condition('Configured', 'False', 'No matches for selector')],
    };
    takingUp(cluster, none);
    const { code, err } = await cluster.earshot(['connector', 'create', 'web', '80', '--timeout', '200ms']);
    assert.equal(code, 1);
    assert.match(err, /Failed while waiting for Connector "web" to be configured: it is Error: No matches for selector/);
  });
});

describe('wait in a cluster', () => {
  it('returns once the resource is Ready, and else says why it is not', async () => {
    await using cluster = await withSite();
    cluster.store('listeners/web', { spec: { routingKey: 'web', host: 'web', port: 80 } });
    const late = await cluster.earshot(['wait', 'listener/web', '--timeout', '200ms']);
    assert.deepEqual([late.code, /it is Pending/.test(late.err)], [3, true], late.err);
    const waited = cluster.earshot(['wait', 'listener/web', 'site/west']);
    cluster.status('listeners/web', ready());
    assert.deepEqual((await waited).out, 'Listener "web" is Ready.\nSite "west" is Ready.\n');
  });
});

describe('delete in a cluster', () => {
  it('waits until it is gone', async () => {
    await using cluster = await withSite();
    cluster.store('listeners/web', { spec: { routingKey: 'web', host: 'web', port: 80 } });
    const { code, out } = await cluster.earshot(['listener', 'delete', 'web']);
    assert.deepEqual([code, out, cluster.writes], [0, 'Listener "web" is deleted.\n', ['DELETE listeners/web']]);
  });

  it('of a site with all leaves what controllers made to them', async () => {
    await using cluster = await withSite();
    cluster.store('listeners/web', { spec: { routingKey: 'web', host: 'web', port: 80 } });
    const metadata = { annotations: { 'internal.skupper.io/controlled': 'true' } };
    cluster.store('routeraccesses/skupper-router', { metadata, spec: { roles: [], tlsCredentials: 'x' } });
    const { code } = await cluster.earshot(['site', 'delete', '--all']);
    assert.deepEqual([code, cluster.writes], [0, ['DELETE listeners/web', 'DELETE sites/west']]);
  });
});

describe('link generate in a cluster', () => {
  const tls = { 'tls.crt': 'Q0VSVA==', 'tls.key': 'S0VZ', 'ca.crt': 'Q0E=' };
  function issuing(cluster: Cluster): void {
    cluster.control = ({ kind, metadata }) => {
      if (kind === 'Certificate')
        setImmediate(() =>
          cluster.store(`secrets/${metadata.name}`, { type: 'kubernetes.io/tls', data: { ...tls, 'connect.json': 'e30=' } }),
        );
    };
  }

  it('asks for a certificate, and prints its Secret and a Link for each group of endpoints', async () => {
    await using cluster = await withSite({
      endpoints: [...ENDPOINTS, { name: 'inter-router', host: 'other.example', port: '55671', group: 'skupper-router-2' }],
    });
    issuing(cluster);
    const { code, out, err } = await cluster.earshot(['link', 'generate', '--cost', '5']);
    assert.equal(code, 0, err);
    const { metadata, spec } = cluster.get('certificates/link-west') ?? ({} as Stored);
    assert.equal(spec?.['subject'], '192.0.2.1,other.example');
    assert.deepEqual([spec['ca'], spec['client']], ['skupper-site-ca', true]);
    assert.deepEqual(
      metadata.ownerReferences?.map(({ kind, name }) => `${kind}/${name}`),
      ['Site/west'],
    );
    const link = (name: string, endpoints: object) => ({
      apiVersion: 'skupper.io/v2alpha1',
      kind: 'Link',
      metadata: { name },
      spec: { cost: 5, endpoints, tlsCredentials: 'link-west' },
    });
    assert.deepEqual(parseYaml(out), [
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'link-west' }, type: 'kubernetes.io/tls', data: tls },
      link('link-west-skupper-router', ENDPOINTS),
      link('link-west-skupper-router-2', [{ name: 'inter-router', host: 'other.example', port: '55671', group: 'skupper-router-2' }]),
    ]);
  });

  it('is printed under another name, and taken by apply', async () => {
    await using cluster = await withSite();
    issuing(cluster);
    const { out } = await cluster.earshot(['link', 'generate', 'to-west']);
    await using other = await withSite();
    takingUp(other);
    const { code, out: said, err } = await other.earshot(['apply', '-f', '-', '--wait', 'ready'], out);
    assert.deepEqual([code, said], [0, 'Secret "to-west" is created.\nLink "to-west" is created.\nAll are ready.\n'], err);
    assert.deepEqual(other.get('secrets/to-west')?.data, tls);
    assert.match((await other.earshot(['apply', '-f', '-'], out)).out, /Secret "to-west" is unchanged\.\nLink "to-west" is unchanged\./);
  });

  it('uses the given name for the Secret', async () => {
    await using cluster = await withSite();
    issuing(cluster);
    const { out, err } = await cluster.earshot(['link', 'generate', '--tls-credentials', 'corp']);
    const [secret, link] = parseYaml(out) as readonly Stored[];
    assert.deepEqual(
      [secret?.metadata.name, link?.metadata.name, link?.spec?.['tlsCredentials']],
      ['corp', 'link-west-skupper-router', 'corp'],
      err,
    );
  });

  it('is refused at a site that lets no one in', async () => {
    await using cluster = await withSite();
    cluster.store('sites/west', { spec: {}, status: ready() });
    const { code, err } = await cluster.earshot(['link', 'generate']);
    assert.equal(code, 1);
    assert.match(err, /Other sites cannot link to this one.*site update --enable-link-access/);
  });
});

describe('tokens in a cluster', () => {
  const grant = { url: 'https://192.0.2.9:9090/uid', code: 'secret-code', ca: 'CA', expirationTime: '2030-01-01T00:15:00Z' };

  it('are issued by a grant, at the address that it says and no other', async () => {
    await using cluster = await withSite();
    cluster.control = ({ metadata }) => void setImmediate(() => cluster.status(`accessgrants/${metadata.name}`, ready(grant)));
    const file = cluster.path('token.yaml');
    const { code, err } = await cluster.earshot(['token', 'issue', file, '--redemptions-allowed', '2', '--name', 'ticket', '--cost', '3']);
    assert.equal(code, 0, err);
    const { redemptionsAllowed, expirationWindow } = cluster.get('accessgrants/ticket')?.spec ?? {};
    assert.deepEqual([redemptionsAllowed, expirationWindow], [2, '15m']);
    const [token] = parseYaml(await readFile(file, 'utf8')) as readonly Stored[];
    assert.deepEqual(token?.spec, { url: grant.url, code: grant.code, ca: 'CA', linkCost: 3 });
    assert.equal(token.metadata.name, 'ticket');
    const hosts = [...new Set(ENDPOINTS.map(({ host }) => host))].join(', alternatively to ');
    assert.ok(err.endsWith(`It is redeemed at 192.0.2.9. Its link connects to ${hosts}.\n`), err);
  });

  it('are redeemed: what counts is the condition, then the link', async () => {
    await using cluster = await withSite();
    const ca = await readFile(new URL('../trust/support/ca.pem', import.meta.url), 'utf8').catch(() => undefined);
    const token = {
      apiVersion: 'skupper.io/v2alpha1',
      kind: 'AccessToken',
      metadata: { name: 'ticket' },
      spec: { ...grant, ca: ca ?? (await freshCa()) },
    };
    Reflect.deleteProperty(token.spec, 'expirationTime');
    const file = cluster.path('token.json');
    await writeFile(file, JSON.stringify(token));
    cluster.control = () =>
      void setImmediate(() => {
        cluster.store('links/ticket-1', { spec: { endpoints: [] }, status: ready({ remoteSiteName: 'east' }) });
        cluster.status('accesstokens/ticket', { redeemed: true, conditions: [condition('Redeemed')] });
      });
    const { code, out, err } = await cluster.earshot(['token', 'redeem', file]);
    assert.deepEqual([code, out], [0, 'Link "ticket-1" is ready: it connects to site "east".\n'], err);
  });
});

async function freshCa(): Promise<string> {
  const { freshCertificate } = await import('../support/certificate.ts');
  return (await freshCertificate()).cert;
}

describe('what is shown of a site in a cluster', () => {
  it('is its status, with the pods that run it', async () => {
    await using cluster = await withSite({ sitesInNetwork: 2 });
    const labels = { 'skupper.io/component': 'router', 'skupper.io/type': 'site' };
    const status = { phase: 'Running', conditions: [condition('Ready')] };
    cluster.store('pods/skupper-router-abc', { metadata: { labels }, spec: { nodeName: 'n1', containers: [] }, status });
    const { code, out } = await cluster.earshot(['status']);
    assert.equal(code, 0);
    assert.match(out, /Cluster: +the cluster of context "here"\nSite: +west\nStatus: +Ready/);
    assert.match(out, /Running: +skupper-router-abc \(node n1, ready\)/);
  });

  it('is the network', async () => {
    await using cluster = await withSite({ network: [{ id: '1', name: 'west', namespace: 'west', platform: 'kubernetes', version: '1' }] });
    assert.match((await cluster.earshot(['network'])).out, /^west \(kubernetes, 1, namespace west, 1\), this site/);
  });

  it('is a table, without what the API server keeps for itself', async () => {
    await using cluster = await withSite();
    const { out } = await cluster.earshot(['site', 'status', '-o', 'json']);
    assert.doesNotMatch(out, /managedFields/);
    assert.match((await cluster.earshot(['site', 'status'])).out, /NAME +STATUS.*\nwest +Ready/);
  });

  it('includes revoked certificates for a user who may read the record', async () => {
    await using cluster = await withSite();
    const text = formatRevoked({
      revoked: [{ name: 'east', siteIds: ['a'.repeat(64)], serials: [], at: Date.parse('2030-01-02T00:00:00Z') }],
    });
    const metadata = { ownerReferences: [{ apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid: 'uid-sites/west' }] };
    cluster.store('secrets/skupper-site-ledger', { metadata, data: { 'revoked.yaml': Buffer.from(text).toString('base64') } });
    assert.match((await cluster.earshot(['site', 'status'])).out, /\nRevoked: east \(2030-01-02\)\n/);
    cluster.refuse = ({ what }) => (what.startsWith('secrets') ? failure(403, 'Forbidden', 'no') : undefined);
    const { code, out } = await cluster.earshot(['site', 'status']);
    assert.equal(code, 0);
    assert.doesNotMatch(out, /Revoked/);
  });

  it('includes the version of the controller and of the router', async () => {
    await using cluster = await withSite({ controller: { name: 'skupper-controller', namespace: 'elsewhere', version: '9' } });
    const template = (name: string, image: string): object => ({ spec: { template: { spec: { containers: [{ name, image }] } } } });
    cluster.store('deployments/skupper-controller', template('controller', 'earshot:9'));
    cluster.store('deployments/skupper-router', template('router', 'earshot:8'));
    const { out } = await cluster.earshot(['version', '-o', 'json']);
    const { controller, router, cluster: where } = JSON.parse(out);
    assert.deepEqual([controller, router, where], ['earshot:9', 'earshot:8', 'the cluster of context "here"']);
  });
});

describe('waiting for a NetworkObserver in a cluster', () => {
  const wait = ['wait', 'networkobserver/console', '--timeout', '200ms'];
  const observed = (deployed: string, observedGeneration = 1): object => {
    const common = { reason: 'x', message: 'The pod is not ready.', lastTransitionTime: '2030-01-01T00:00:00Z' };
    return { conditions: [{ type: 'Deployed', status: deployed, observedGeneration, ...common }] };
  };

  it('ends when it is Deployed, and before says why it is not', async () => {
    await using cluster = await withSite();
    assert.match((await cluster.earshot(wait)).err, /waiting for NetworkObserver "console" to be Ready: it does not exist/);
    cluster.store('networkobservers/console', { spec: {}, status: observed('False') });
    const { code, err } = await cluster.earshot(wait);
    assert.deepEqual([code, /to be Ready: it is Pending: The pod is not ready\./.test(err)], [3, true], err);
    cluster.status('networkobservers/console', observed('True', 0));
    assert.match((await cluster.earshot(wait)).err, /has not adopted its last change/);
    cluster.status('networkobservers/console', observed('True'));
    assert.equal((await cluster.earshot(wait)).out, 'NetworkObserver "console" is Ready.\n');
    assert.equal((await cluster.earshot([...wait, '--for', 'Deployed'])).code, 0);
  });
});

it('apply writes a NetworkObserver of a file in a cluster, and only if it differs', async () => {
  await using cluster = await withSite();
  const observer = (spec: object) =>
    JSON.stringify({ apiVersion: 'observability.skupper.io/v2alpha1', kind: 'NetworkObserver', metadata: { name: 'console' }, spec });
  const applied = async (spec: object) => (await cluster.earshot(['apply', '-f', '-'], observer(spec))).out;
  assert.equal(await applied({ service: { port: 8443 } }), 'NetworkObserver "console" is created.\n');
  assert.equal(await applied({ service: { port: 8443 } }), 'NetworkObserver "console" is unchanged.\n');
  assert.equal(await applied({ service: { port: 9443 } }), 'NetworkObserver "console" is changed.\n');
  assert.deepEqual(cluster.get('networkobservers/console')?.spec, { service: { port: 9443 } });
  const waiting = await cluster.earshot(['apply', '-f', '-', '--wait', 'ready', '--timeout', '200ms'], observer({}));
  assert.deepEqual([waiting.code, /waiting for NetworkObserver "console" to be Ready/.test(waiting.err)], [3, true], waiting.err);
  const elsewhere = observer({}).replace('"metadata":{', '"metadata":{"namespace":"other",');
  assert.match((await cluster.earshot(['apply', '-f', '-'], elsewhere)).err, /metadata\.namespace: differs from \w+: select it with -n/);
});

describe('where nothing looks after a site in a cluster', () => {
  it('a change is made and not waited for, and the controller is named', async () => {
    await using cluster = await withSite();
    cluster.store('leases/skupper-controller', { spec: { holderIdentity: '' } });
    const { code, out, err } = await cluster.earshot(['listener', 'create', 'web', '80']);
    assert.deepEqual([code, out], [0, 'Listener "web" is created.\n']);
    assert.match(err, /The controller of sites \(skupper\/skupper-controller\) does not run in the cluster of context "here"/);
  });

  it('a controller that was uninstalled a moment ago is not taken for one that runs', async () => {
    await using cluster = await withSite();
    const renewTime = new Date(Date.now() - 20_000).toISOString();
    cluster.store('leases/skupper-controller', { spec: { holderIdentity: 'controller-1', leaseDurationSeconds: 13, renewTime } });
    const reported = async () => /skupper-controller\) does not run/.test((await cluster.earshot(['listener', 'create', 'web', '80'])).err);
    assert.equal(await reported(), true);
    cluster.store('pods/controller-1', {});
    assert.equal(await reported(), false);
  });

  it('a missing site is reported with the command that creates one', async () => {
    await using cluster = await Cluster.start();
    const { code, err } = await cluster.earshot(['token', 'issue', '-']);
    assert.equal(code, 6);
    assert.match(err, /The namespace west has no site yet: create one with `earshot .*site create NAME`/);
  });
});

describe('link renew in a cluster', () => {
  const map = 'configmaps/skupper-router-renewals';

  /** A cluster whose router gives this answer. */
  async function withLink(answer: object): Promise<Cluster> {
    const cluster = await withSite();
    cluster.store('links/to-east', { spec: { endpoints: [] }, status: ready() });
    cluster.store(map, { data: {} });
    cluster.control = ({ data }) => {
      if (data?.['renew-to-east']?.includes('asked') !== true) return;
      cluster.store(map, { data: { 'renew-to-east': JSON.stringify(answer) } });
    };
    return cluster;
  }

  it('asks the routers by an entry in their ConfigMap, and takes it away again', async () => {
    await using cluster = await withLink({ serial: 'B2', before: 'A1', until: '2030-01-01T00:00:00.000Z' });
    const { code, out } = await cluster.earshot(['link', 'renew', 'to-east']);
    assert.deepEqual(
      [code, out],
      [0, 'Link "to-east" has a new certificate, valid until 2030-01-01T00:00:00.000Z.\nSerial number B2, before A1.\n'],
    );
    assert.deepEqual(cluster.get(map)?.data, {});
  });

  it('fails with the reason of the refusing site, and without routers', async () => {
    await using cluster = await withLink({ refused: 'site west is revoked' });
    assert.match((await cluster.earshot(['link', 'renew', 'to-east'])).err, /keeps its certificate: site west is revoked\n/);
    await using other = await withSite();
    other.store('links/to-east', { spec: { endpoints: [] }, status: ready() });
    const { code, err } = await other.earshot(['link', 'renew', 'to-east']);
    assert.equal(code, 1);
    assert.match(err, /No router runs the links of the namespace west yet/);
  });
});

describe('what only machines have', () => {
  for (const words of ['system status']) {
    it(`${words} is refused`, async () => {
      await using cluster = await withSite();
      const { code, err } = await cluster.earshot(words.split(' '));
      assert.deepEqual([code, cluster.requests], [2, []]);
      assert.match(err, /does not support kubernetes/);
    });
  }
});
