import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Cluster } from './cluster.ts';
import { Namespace } from './namespace.ts';

const listener = (routingKey: string) => ({ routingKey, host: '127.0.0.1', port: 8080 });
const unmet = (type: string, reason: string, message: string) => ({
  status: 'Pending',
  conditions: [type, 'Ready'].map((each) => ({ type: each, status: 'False', reason, message, lastTransitionTime: '2030-01-01T00:00:00Z' })),
});

async function broken(): Promise<Namespace> {
  const west = await Namespace.make();
  await west.run();
  await west.answer('Site', 'west', {}, { status: 'Ready', network: [{ id: 'w', name: 'west', version: '0' }] });
  await west.answer('Connector', 'ok', { routingKey: 'ok', host: 'h', port: 1 }, unmet('Configured', 'TargetRefused', 'refused at h:1'));
  for (const name of ['a', 'b', 'c'])
    await west.answer('Listener', name, listener(name), unmet('Matched', 'NoConnector', `no connector of ${name}`));
  return west;
}

describe('earshot check', () => {
  it('explains each object, fails with exit code 1, and shows causes first', async () => {
    await using west = await broken();
    const { code, out, err } = await west.earshot(['check']);
    assert.deepEqual([code, err], [1, '4 problems found.\n']);
    assert.match(out, /^Namespace west +Fails$/m);
    assert.match(out, /FAIL +Connector\/ok +refused at h:1 \(target-refused\)/);
    assert.match(out, /FAIL +Listener\/a +no connector of a/);
    const { objects, verdict } = JSON.parse((await west.earshot(['check', '-o', 'json'])).out);
    assert.deepEqual([verdict, objects.length], ['fail', 5]);
  });

  it('has one line about a site that nothing runs, with all objects that it affects', async () => {
    await using west = await Namespace.make();
    await west.earshot(['site', 'create', 'west']);
    await west.earshot(['listener', 'create', 'web', '8080']);
    const { out, err } = await west.earshot(['check']);
    assert.equal(err, '1 problem found.\n');
    assert.deepEqual(out.match(/^ {2}(?:FAIL|\?|wait|warn) .*$/gm)?.length, 1, out);
    assert.match(
      out.replaceAll(/\s+/g, ' '),
      /FAIL namespace\/west No process runs .* Affects 1 Site, 1 Listener: Site\/west, Listener\/web/,
    );
  });

  it('counts what it prints: causes for people, tests in JUnit XML', async () => {
    await using west = await Namespace.make();
    await west.earshot(['site', 'create', 'west']);
    await west.earshot(['listener', 'create', 'web', '8080']);
    const junit = await west.earshot(['check', '-o', 'junit']);
    const failures = junit.out.match(/<failure /g)?.length;
    const tests = junit.out.match(/<testcase /g)?.length;
    assert.match(junit.out, new RegExp(`tests="${tests}" failures="${failures}" skipped="0"`));
    assert.equal(junit.err, `${failures} of ${tests} tests failed.\n`);
    await west.run();
    await west.answer('Site', 'west', {}, { status: 'Ready', network: [{ id: 'w', name: 'west', version: '0' }] });
    await west.answer('Listener', 'web', listener('web'), { status: 'Ready' });
    const warned = await west.earshot(['check', '-o', 'junit', '--fail-on', 'warn']);
    assert.equal(warned.code, 1);
    assert.equal(warned.out.match(/<failure /g)?.length, Number(/^\d+/.exec(warned.err)?.[0]), warned.err);
  });

  it('advises to create a site in a namespace without one', async () => {
    await using west = await Namespace.make();
    const { code, out } = await west.earshot(['check']);
    assert.equal(code, 1);
    assert.match(out, /FAIL .* the namespace west has no Site \(no-site\)\n +do +create one: `earshot -n west site create NAME`/);
  });

  it('prints JUnit XML with one test for each object, in which texts are escaped', async () => {
    await using west = await broken();
    await west.answer('Link', 'east', { endpoints: [] }, unmet('Operational', 'Refused', 'refused by "<x>" & more'));
    const { out } = await west.earshot(['check', '-o', 'junit']);
    assert.match(
      out,
      /^<\?xml version="1.0" encoding="UTF-8"\?>\n<testsuite name="earshot check: Namespace west" tests="\d+" failures="5"/,
    );
    assert.match(out, /name="Link\/east"><failure type="refused" message="refused by &quot;&lt;x&gt;&quot; &amp; more">/);
  });

  it('ends with exit code 6 if nothing runs the site, and warns of versions only with --fail-on warn', async () => {
    await using west = await Namespace.make();
    await west.answer('Site', 'west', {}, { status: 'Ready', network: [{ id: 'w', name: 'west', version: '0' }] });
    assert.equal((await west.earshot(['check'])).code, 6);
    await west.run();
    const { code, out } = await west.earshot(['check']);
    assert.deepEqual([code, /warn +Site\/west +version 0 runs at west/.test(out)], [0, true]);
    assert.equal((await west.earshot(['check', '--fail-on', 'warn'])).code, 1);
  });

  it('finds errors, conflicts and odd keys in files before they are applied', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'earshot-check-'));
    const resource = (kind: string, name: string, spec: object) =>
      `${JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name }, spec })}\n`;
    await writeFile(join(folder, 'a.yaml'), resource('Listener', 'a', listener('web')));
    await writeFile(join(folder, 'b.yaml'), `${resource('Listener', 'b', listener('Web'))}---\n${resource('Site', 'x', { edge: 'yes' })}`);
    await using west = await Namespace.make();
    const { code, out } = await west.earshot(['check', '-f', folder]);
    await rm(folder, { recursive: true });
    assert.equal(code, 1);
    assert.match(out, /b\.yaml:\d+:\d+: spec\.edge:/s);
    assert.match(
      out.replaceAll(/\s+/g, ' '),
      /FAIL Listener\/b \S+b\.yaml:1: spec\.port: Listener a with host 127\.0\.0\.1 and port 8080 already exists .* \(port-taken-twice\)/,
    );
    assert.match(out, /routing keys differ only in case: "web", "Web"/);
    assert.equal((await west.earshot(['check', '-f', join(folder, 'gone.yaml')])).code, 4);
  });

  for (const [what, kind, spec, code, text] of [
    [
      'a setting of the Site',
      'Site',
      { settings: { routers: 'many' } },
      'setting',
      /spec\.settings\.routers: "many" is not auto or a whole/,
    ],
    [
      'an unknown setting',
      'Site',
      { settings: { router: '2' } },
      'setting',
      /spec\.settings\.router: is unknown .* did you mean routers\?/,
    ],
    ['an edge site with access', 'Site', { edge: true, linkAccess: 'default' }, 'edge-access', /spec\.linkAccess: an edge site does not/],
    [
      'clients without TLS',
      'Listener',
      { ...listener('a'), requireClientCert: true },
      'tls-missing',
      /spec\.requireClientCert: clients can/,
    ],
    ['a link without a usable endpoint', 'Link', { endpoints: [], tlsCredentials: 'x' }, 'no-endpoint', /spec\.endpoints: its endpoints/],
    ['a role', 'RouterAccess', { roles: [{ name: 'outer' }] }, 'role', /"outer" is not a role/],
    ['a network', 'Listener', { ...listener('a'), settings: { network: 'apps' } }, 'not-on-platform', /container networks need a router/],
    ['a token', 'AccessToken', { url: 'http://east/x', code: 'c', ca: 'x' }, 'token-mangled', /must begin with "https:\/\/"/],
    [
      'a purpose',
      'Certificate',
      { ca: 'a', subject: 'x', settings: { purpose: 'fun' } },
      'bad-argument',
      /must be "link" or "application"/,
    ],
    [
      'a host name of a certificate',
      'Certificate',
      { ca: 'a', subject: 'x', hosts: ['east.example.com', 'two words'] },
      'bad-argument',
      /spec\.hosts: host "two words" is neither an IP address nor a DNS name/,
    ],
    [
      'a host name that an access announces',
      'RouterAccess',
      { roles: [{ name: 'inter-router' }], subjectAlternativeNames: ['east:55671'] },
      'bad-argument',
      /spec\.subjectAlternativeNames: host "east:55671" is neither/,
    ],
    [
      'an access type of Kubernetes',
      'RouterAccess',
      { roles: [{ name: 'inter-router' }], accessType: 'route' },
      'not-on-platform',
      /spec\.accessType: "route" exists on Kubernetes only/,
    ],
    ['a link access of Kubernetes', 'Site', { linkAccess: 'loadbalancer' }, 'not-on-platform', /spec\.linkAccess: "loadbalancer" exists/],
  ] as const)
    it(`finds ${what} in a file that a status would report`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'earshot-check-'));
      await writeFile(join(folder, 'a.yaml'), JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name: 'a' }, spec }));
      await using west = await Namespace.make();
      const { code: exit, out } = await west.earshot(['check', '-f', folder, '--fail-on', 'warn', '-o', 'json']);
      await rm(folder, { recursive: true });
      const found = JSON.parse(out).findings.find((finding: { code?: string }) => finding.code === code);
      assert.equal(exit, 1);
      assert.match(found?.says ?? out, text);
    });

  it('compares the hosts that an access announces with its certificate', async () => {
    const names = ['east.example.com', '*.example.org', '2001:db8::1'];
    const announced = ['EAST.example.com', 'a.example.org', '2001:db8:0::1', 'other.example.com'];
    const access = { roles: [{ name: 'inter-router' }], tlsCredentials: 'own', subjectAlternativeNames: announced };
    const files = [
      { kind: 'Certificate', metadata: { name: 'own' }, spec: { ca: 'earshot-site-ca', subject: 'x', hosts: names, server: true } },
      { kind: 'RouterAccess', metadata: { name: 'own' }, spec: access },
    ];
    const text = files.map((file) => JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', ...file })).join('\n---\n');
    await using west = await Namespace.make();
    const { findings } = JSON.parse((await west.earshot(['check', '-f', '-', '-o', 'json'], text)).out);
    const found = findings.filter(({ code }: { readonly code?: string }) => code === 'tls-host-mismatch');
    assert.deepEqual(
      found.map(({ object }: { readonly object: string }) => object),
      ['RouterAccess/own'],
    );
    assert.match(found[0].says, /announces "other\.example\.com", which the certificate "own" does not contain/);
  });

  for (const [what, type, served, text] of [
    ['is unknown', 'rout', true, /spec\.accessType: unsupported access type: "rout" is unknown; use one of local, loadbalancer/],
    ['needs an API that the cluster lacks', 'route', false, /spec\.accessType: "route" needs the kind Route of route\.openshift\.io/],
    ['needs an API that the cluster serves', 'route', true, undefined],
    ['needs no other API', 'loadbalancer', false, undefined],
  ] as const)
    it(`${text === undefined ? 'accepts' : 'reports'} an access type in a cluster that ${what}`, async () => {
      await using cluster = await Cluster.start();
      cluster.refuse = ({ what: asked }) => (asked.startsWith('routes') && !served ? '404 page not found\n' : undefined);
      const spec = { roles: [{ name: 'inter-router' }], tlsCredentials: 'own', generateTlsCredentials: true, accessType: type };
      const file = JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind: 'RouterAccess', metadata: { name: 'a' }, spec });
      const { findings } = JSON.parse((await cluster.earshot(['check', '-f', '-', '-o', 'json'], file)).out);
      const found = findings.find(({ code }: { readonly code?: string }) => code === 'access-type');
      if (text === undefined) assert.equal(found, undefined);
      else assert.match(found?.says ?? '', text);
    });

  const observer = (name: string, spec: unknown = {}) =>
    JSON.stringify({ apiVersion: 'observability.skupper.io/v2alpha1', kind: 'NetworkObserver', metadata: { name }, spec });
  const many = ['a', 'b', 'c', 'd', 'e'].map((name) => observer(name)).join('\n---\n');
  for (const [what, text, found] of [
    ['that works', observer('a', { auth: { basic: { create: true } } }), []],
    ['with a field without effect', observer('a', { nginx: { tag: '1' } }), [/^warn NetworkObserver\/a .*:1: These fields .*: nginx/]],
    [
      'that names a Secret of the controller',
      observer('a', { tls: { secretName: 'skupper-local-server' } }),
      [/^fail NetworkObserver\/a .*spec\.tls\.secretName: a console must not read a Secret/],
    ],
    [
      'whose console has the name of another',
      `${observer('a')}\n---\n${observer('a-network-observer')}`,
      [/^fail NetworkObserver\/a-network-observer .*:3: NetworkObserver\/a has the console a-network-observer/],
    ],
    ['that is written twice', `${observer('a')}\n---\n${observer('a')}`, [/^fail NetworkObserver\/a .* is written 2 times/]],
    ['beyond the limit', many, [/^fail NetworkObserver\/e .*more than 4 resources of kind NetworkObserver/]],
    ['without a valid spec', observer('a', []), [/^fail file\/standard input .*spec: must be an object/]],
    ['without a valid name', observer('A'), [/^fail file\/standard input .*metadata\.name: must be lower-case letters/]],
  ] as const)
    it(`checks a NetworkObserver ${what} in files`, async () => {
      await using cluster = await Cluster.start();
      const { findings } = JSON.parse((await cluster.earshot(['check', '-f', '-', '-o', 'json'], text)).out);
      const seen = findings.map(({ state, object, says }: Readonly<Record<string, string>>) => `${state} ${object} ${says}`);
      assert.equal(seen.length, found.length, seen.join('\n'));
      for (const [at, pattern] of found.entries()) assert.match(seen[at] ?? '', pattern);
    });

  it('checks access types in files without a cluster', async () => {
    await using cluster = await Cluster.start();
    const spec = { roles: [{ name: 'inter-router' }], tlsCredentials: 'own', generateTlsCredentials: true, accessType: 'route' };
    const file = JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind: 'RouterAccess', metadata: { name: 'a' }, spec });
    const away = ['--kubeconfig', `${cluster.kubeconfig}-none`, '--platform', 'kubernetes'];
    const { code, err } = await cluster.earshot(['check', '-f', '-'], file, away);
    assert.equal(code, 0, err);
  });

  it('takes bundles that the files lack for existing ones', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'earshot-check-'));
    const link = { endpoints: [{ name: 'inter-router', host: 'east', port: '55671' }], tlsCredentials: 'east' };
    await writeFile(
      join(folder, 'a.yaml'),
      JSON.stringify({ apiVersion: 'skupper.io/v2alpha1', kind: 'Link', metadata: { name: 'a' }, spec: link }),
    );
    await using west = await Namespace.make();
    assert.equal((await west.earshot(['check', '-f', folder, '--fail-on', 'warn'])).code, 0);
    await rm(folder, { recursive: true });
  });

  it('checks a machine before a site is installed there', async () => {
    await using west = await Namespace.make();
    const { out } = await west.earshot(['check', '--pre', '-o', 'json']);
    const { findings } = JSON.parse(out);
    const directory = findings.find(({ id }: { id: string }) => id === 'pre.directory');
    assert.deepEqual([directory.state, directory.says.startsWith(west.home)], ['pass', true]);
    assert.match(directory.says, /\/namespaces\/west can be written$/);
    await west.answer('Site', 'west', {}, { status: 'Ready' });
    assert.match((await west.earshot(['check', '--pre'])).out, /warn +namespace\/west +has the Site west already/);
  });

  it('names the process that has a port which a site needs', async () => {
    await using west = await Namespace.make();
    const server = createServer().listen(45671);
    // It does not matter if another process has the port already.
    await once(server, 'listening').catch(() => undefined);
    try {
      const { out } = await west.earshot(['check', '--pre', '-o', 'json']);
      const { findings } = JSON.parse(out);
      const port = findings.find(({ object }: { object: string }) => object === 'port 45671');
      assert.match(port.says, /^not free, for edge: in use by \S+ .*\S$/);
      assert.match(port.do, /^Choose another port, or stop that program\.$/);
    } finally {
      server.close();
    }
  });
});
