import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { attachedConnectorBindings, connectors, links, listeners, multiKeyListeners, sites } from '../../../../src/api/skupper/index.ts';
import { generateSiteKey } from '../../../../src/identity/site-key.ts';
import { siteIdOf } from '../../../../src/identity/site-id.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import { leases } from '../../../../src/kube/lease/lease-record.ts';
import { configMaps, endpointSlices, pods, secrets, type Resource } from '../../../../src/kube/resource.ts';
import { eventually } from '../../../harness/wait.ts';
import type { PlayedApi } from '../../exposure/support/played-api.ts';
import { freshCertificate } from '../../support/certificate.ts';
import { issueBundle, issueCertificate } from '../../../../src/trust/issue.ts';
import { aLink } from '../../site/fixtures.ts';
import { makeAuthority } from '../../trust/support/site.ts';
import { aNamespace, aPod, namespace, put, putListener, putSecret } from './support.ts';

interface Status {
  readonly status?: string;
  readonly message?: string;
}

function statusOf(api: PlayedApi, of: Resource, name: string): Status | undefined {
  return api.read(of as Resource<KubeObject & { readonly status?: Status }>, `${namespace}/${name}`)?.status;
}

function becomes(api: PlayedApi, of: Resource, name: string, word: string): Promise<unknown> {
  return eventually(`${name} ${word}`, () => statusOf(api, of, name)?.status === word);
}

/** Leases apart. */
function writesOf(api: PlayedApi): readonly string[] {
  return api.writes.filter((call) => !call.includes(' leases '));
}

test('a pod runs what its namespace says, and writes the statuses of what it runs and what it sees of the network', async () => {
  const api = aNamespace();
  putListener(api, 'web', 1024);
  put(api, connectors, 'web', { spec: { routingKey: 'web', port: 80, host: '192.0.2.9' } }, { generation: 1 });
  await using pod = await aPod(api);
  assert.equal(pod.agent.unready, undefined);
  assert.deepEqual(
    pod.router.config.listeners.map(({ name, port, host }) => [name, port, host]),
    [['Listener/web', 1024, undefined]],
  );
  await becomes(api, listeners, 'web', 'Pending');
  pod.router.reach('web');
  await becomes(api, listeners, 'web', 'Ready');
  await becomes(api, connectors, 'web', 'Pending');
  const network = await eventually('the network', () => api.read(configMaps, `${namespace}/skupper-network-status`)?.data);
  assert.equal(JSON.parse(network['sites.json'] ?? '')[0].name, 'west');
  const written = new Set(writesOf(api).map((call) => call.split(' ', 2).join(' ')));
  assert.deepEqual(written, new Set(['patch-status listeners', 'patch-status connectors', 'patch configmaps']));
});

test('a pod that starts while the key of a Site before is still there waits for the key of its own', async () => {
  const api = aNamespace();
  const owners = (uid: string): KubeObject['metadata'] => ({
    ownerReferences: [{ apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid }],
  });
  const keys = { former: generateSiteKey(), own: generateSiteKey() };
  putSecret(api, 'skupper-site-key', { 'site.key': keys.former.pem }, 'Opaque', owners('former-uid'));
  await using pod = await aPod(api);
  assert.match(pod.agent.unready ?? '', /has not created its key yet/);
  putSecret(api, 'skupper-site-key', { 'site.key': keys.own.pem }, 'Opaque', owners('site-uid'));
  await eventually('the pod is ready', () => pod.agent.unready === undefined);
  assert.equal(pod.router.config.site.id, siteIdOf(keys.own.key.publicKey));
});

const leaseOf = (api: PlayedApi) => api.read(leases, `${namespace}/skupper-site-leader`);

test('a pod leads at once although a pod of a deleted Site holds the Lease', async () => {
  const api = aNamespace();
  const ownerReferences = [{ apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid: 'former-uid' }];
  put(api, leases, 'skupper-site-leader', { spec: { holderIdentity: 'former', leaseDurationSeconds: 600 } }, { ownerReferences });
  putListener(api, 'web', 1024);
  await using _pod = await aPod(api);
  await becomes(api, listeners, 'web', 'Pending');
  assert.equal(leaseOf(api)?.spec?.holderIdentity, 'one');
});

test('a pod whose Site is deleted releases the Lease while it still runs, and leads again with its Site', async () => {
  const api = aNamespace();
  await using _pod = await aPod(api);
  const holder = (): string | undefined => leaseOf(api)?.spec?.holderIdentity ?? undefined;
  await eventually('it leads', () => holder() === 'one');
  api.remove(sites, `${namespace}/west`);
  await eventually('the Lease is free', () => holder() === undefined, { timeoutMs: 10_000 });
  put(api, sites, 'west', { spec: null }, { uid: 'site-uid' });
  await eventually('it leads again', () => holder() === 'one');
});

test('unchanged statuses are not written, not even by the next leading pod', async () => {
  const api = aNamespace();
  putListener(api, 'web', 1024);
  const first = await aPod(api);
  await becomes(api, listeners, 'web', 'Pending');
  const standing = statusOf(api, listeners, 'web');
  await eventually('the network', () => writesOf(api).some((call) => call.startsWith('patch configmaps')));
  await first[Symbol.asyncDispose]();
  const before = writesOf(api).length;
  await using _second = await aPod(api, 'two');
  // A new object shows that the second one leads.
  put(api, connectors, 'late', { spec: { routingKey: 'late', port: 80, host: '192.0.2.9' } });
  await becomes(api, connectors, 'late', 'Pending');
  assert.deepEqual(statusOf(api, listeners, 'web'), standing);
  const statuses = writesOf(api)
    .slice(before)
    .filter((call) => call.startsWith('patch-status'));
  assert.deepEqual(statuses, ['patch-status connectors west/late']);
});

/** As a Listener is before its Service is made. */
function putLonely(api: PlayedApi, name: string): void {
  put(api, listeners, name, { spec: { routingKey: name, host: name, port: 8080 } }, { generation: 1 });
}

test('a new listener whose Service comes soon has one first status, which does not wait for it', async () => {
  const api = aNamespace();
  putLonely(api, 'late');
  putListener(api, 'web', 1024);
  await using _pod = await aPod(api);
  await becomes(api, listeners, 'web', 'Pending');
  putListener(api, 'late', 1025);
  await eventually('late is listened for', () => JSON.stringify(statusOf(api, listeners, 'late')).includes('no connector'));
  const writes = writesOf(api).filter((call) => call === 'patch-status listeners west/late');
  assert.equal(writes.length, 1);
});

test('a new listener says that it waits for its Service where that does not come', async () => {
  const api = aNamespace();
  putLonely(api, 'late');
  await using _pod = await aPod(api, 'one', { grace: 5 });
  await eventually('late waits', () => JSON.stringify(statusOf(api, listeners, 'late')).includes('Service late does not lead to it'));
});

test('a hundred new listeners whose connectors come a moment later have one first status each', async () => {
  const api = aNamespace();
  const names = Array.from({ length: 100 }, (_, index) => `web-${index}`);
  for (const [index, name] of names.entries()) putListener(api, name, 1024 + index);
  await using pod = await aPod(api);
  await eventually('all are listened for', () => pod.router.config.listeners.length === names.length);
  // Status rounds pass, and none reports connectors before they exist.
  await eventually('the network status is written', () => writesOf(api).some((call) => call.endsWith('skupper-network-status')));
  pod.router.reach(...names);
  await eventually('all are ready', () => names.every((name) => statusOf(api, listeners, name)?.status === 'Ready'));
  const writes = writesOf(api).filter((call) => call.startsWith('patch-status listeners'));
  assert.equal(writes.length, names.length);
});

test('a hundred objects within a hundred milliseconds are a few passes, and not a hundred', async (t) => {
  const api = aNamespace();
  await using pod = await aPod(api);
  const applied = pod.router.configs.length;
  let now = performance.now();
  t.mock.method(performance, 'now', () => now);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const pass = (milliseconds: number): void => {
    now += milliseconds;
    t.mock.timers.tick(milliseconds);
  };
  for (let index = 0; index < 100; index++) {
    putListener(api, `web-${index}`, 1024 + index);
    pass(1);
    await new Promise(setImmediate);
  }
  pass(100);
  t.mock.timers.reset();
  t.mock.restoreAll();
  await eventually('all are listened for', () => pod.router.config.listeners.length === 100);
  // One that was due, one after a hundred milliseconds, the last; and one that was asked for before the clock stood still.
  assert.ok(pod.router.configs.length - applied <= 4, `${pod.router.configs.length - applied} times`);
});

test('an object stored under another schema is reported as its own error, and does not affect others', async () => {
  const api = aNamespace();
  putListener(api, 'web', 1024);
  put(api, links, 'odd', { spec: { endpoints: 'none', cost: 'dear' } }, { generation: 3 });
  await using _pod = await aPod(api);
  await becomes(api, listeners, 'web', 'Pending');
  await becomes(api, links, 'odd', 'Error');
  assert.match(statusOf(api, links, 'odd')?.message ?? '', /must be a list.*\(spec\.endpoints\).*\(spec\.cost\)/);
});

test('a pod announces its addresses on links if the controller says that its Site is reachable, and again on changes', async () => {
  const api = aNamespace();
  await using pod = await aPod(api);
  const stored = api.read(sites as Resource<KubeObject & { readonly status?: object }>, `${namespace}/west`);
  assert.deepEqual(pod.router.config.reachedAt, []);
  const bad = [
    { name: 'inter-router', host: 'a b', port: '1' },
    { name: 'inter-router', host: 'a' },
    { name: 'odd', host: 'a', port: '1' },
    7,
  ];
  for (const host of ['192.0.2.1', '192.0.2.2']) {
    const endpoints = [
      { name: 'inter-router', host, port: '30001', group: 'skupper-router' },
      { name: 'edge', host, port: '30002' },
      ...bad,
    ];
    put(api, sites, 'west', { ...stored, status: { endpoints } }, stored?.metadata);
    await eventually('the endpoints', () => pod.router.config.reachedAt?.[0]?.host === host);
    assert.deepEqual(pod.router.config.reachedAt, [
      { role: 'inter-router', host, port: 30_001, group: 'skupper-router' },
      { role: 'edge', host, port: 30_002 },
    ]);
  }
});

test('a pod starts with the link endpoints that an earlier one received, and keeps them until it has their certificates', async () => {
  const api = aNamespace();
  const [site, endpoints] = ['0b6b1f3c-5f0a-8c11-9d2e-3a4b5c6d7e8f', [{ host: '192.0.2.7', port: '55671' }]];
  const { spec } = aLink('east', { tlsCredentials: 'link-east' });
  const conditions = [{ type: 'Ready', status: 'True', observedGeneration: 1 }];
  put(api, links, 'east', { spec, status: { remoteSiteId: site, endpoints, conditions } }, { generation: 1 });
  await using pod = await aPod(api);
  await becomes(api, links, 'east', 'Pending');
  const standing = (): unknown => statusOf(api, links, 'east');
  assert.deepEqual(Object(standing()).endpoints, endpoints);
  const { cert, key, ca } = freshCertificate();
  putSecret(api, 'link-east', { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca });
  await eventually('the link', () => pod.router.config.links.length === 1);
  assert.deepEqual(pod.router.config.links[0]?.remembered, { site, endpoints: [{ host: '192.0.2.7', port: 55_671 }] });
});

test('a pod renews the certificate of a link once for each request', async () => {
  const api = aNamespace();
  const authority = makeAuthority({ name: 'east' });
  const { cert = '', key = '', ca = '' } = issueBundle(authority, 'link-east', { subject: 'west', client: true });
  const annotations = { 'internal.skupper.io/controlled': 'true' };
  putSecret(api, 'link-east', { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca }, 'kubernetes.io/tls', { annotations });
  put(api, links, 'east', { spec: aLink('east', { tlsCredentials: 'link-east' }).spec }, { generation: 1 });
  await using pod = await aPod(api);
  await eventually('the link', () => pod.router.config.links.length === 1);
  pod.router.links = { 'Link/east': { operational: true } };
  let renewals = 0;
  pod.router.onRenew = async (_link, csr) => {
    renewals += 1;
    return issueCertificate(authority, { subject: 'west', client: true, csr });
  };
  const map = 'skupper-router-renewals';
  const entry = (): string => api.read(configMaps, `${namespace}/${map}`)?.data?.['renew-east'] ?? '';
  put(api, configMaps, map, { data: { 'renew-east': '{"asked":"1"}', 'renew-gone': '{"asked":"2"}', 'renew-a b': '{}', other: '{}' } });
  await eventually('the answer', () => entry().includes('serial'));
  assert.equal(JSON.parse(entry()).before, new X509Certificate(cert).serialNumber);
  await eventually('the new one in use', () => pod.router.config.links[0]?.tls.cert !== cert);
  assert.match(api.read(configMaps, `${namespace}/${map}`)?.data?.['renew-gone'] ?? '', /the link is not in use/);
  assert.equal(renewals, 1);
});

test('a status that is refused is tried again, and the others are written', async () => {
  const api = aNamespace();
  putListener(api, 'a', 1024);
  putListener(api, 'b', 1025);
  put(api, multiKeyListeners, 'first', { spec: { host: 'x', port: 1, strategy: { priority: { routingKeys: ['a'] } } } }, { uid: 'first' });
  let refusals = 0;
  api.meets = ({ verb, object }) => {
    if (verb !== 'patch-status' || !JSON.stringify(object).includes('"uid":"first"') || refusals > 0) return;
    refusals += 1;
    throw new Error('etcd is busy');
  };
  await using _pod = await aPod(api);
  await becomes(api, listeners, 'a', 'Pending');
  await becomes(api, listeners, 'b', 'Pending');
  await becomes(api, multiKeyListeners, 'first', 'Pending');
  assert.equal(refusals, 1);
});

test('a Secret that a Listener names is taken up when it comes, and when it changes', async () => {
  const api = aNamespace();
  putListener(api, 'web', 1024, { tlsCredentials: 'cert' });
  await using pod = await aPod(api);
  await becomes(api, listeners, 'web', 'Error');
  assert.match(statusOf(api, listeners, 'web')?.message ?? '', /^TLS credentials secret "cert" not found: /);
  for (const { cert, key } of [freshCertificate(), freshCertificate()]) {
    putSecret(api, 'cert', { 'tls.crt': cert, 'tls.key': key });
    await eventually('the certificate in use', () => pod.router.config.listeners[0]?.tls?.cert === cert);
  }
});

test('a pod connects to the servers of an AttachedConnector that its site takes in, by what the Site owns alone', async () => {
  const api = aNamespace();
  const note = { name: 'db', namespace: 'apps', port: 5432, useClientCert: false };
  const slice = (name: string, uid: string, address: string): void => {
    const metadata = {
      labels: { 'internal.skupper.io/attached': 'true' },
      annotations: { 'internal.skupper.io/attached': JSON.stringify(note) },
      ownerReferences: [{ apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid }],
    };
    put(api, endpointSlices, name, { endpoints: [{ addresses: [address], targetRef: { kind: 'Pod', name: 'db-0' } }] }, metadata);
  };
  slice('ours', 'site-uid', '192.0.2.7');
  slice('forged', 'another', '192.0.2.66');
  await using pod = await aPod(api);
  assert.equal(pod.router.config.connectors.length, 0, 'the site has not asked for it');
  put(api, attachedConnectorBindings, 'db', { spec: { connectorNamespace: 'apps', routingKey: 'db' } }, { generation: 1 });
  await eventually('the connector', () => pod.router.config.connectors.length === 1);
  const [connector] = pod.router.config.connectors;
  assert.deepEqual([connector?.routingKey, connector?.hosts, connector?.port], ['db', ['192.0.2.7'], 5432]);
  slice('ours', 'site-uid', '192.0.2.8');
  await eventually('the new address', () => pod.router.config.connectors[0]?.hosts[0] === '192.0.2.8');
});

test('a pod applies only the Site that it was given, of several', async () => {
  const api = aNamespace();
  put(api, sites, 'another', { spec: {} });
  await using pod = await aPod(api);
  const { name, platform } = pod.router.config.site;
  assert.deepEqual({ name, platform }, { name: 'west', platform: 'kubernetes' });
});

test('a pod is not ready before the site has its key, and is as soon as it has', async () => {
  const api = aNamespace();
  const key = api.read(secrets, `${namespace}/skupper-site-key`);
  assert.ok(key);
  api.remove(secrets, `${namespace}/skupper-site-key`);
  await using pod = await aPod(api);
  assert.match(pod.agent.unready ?? '', /has not created its key yet/);
  api.put(secrets, key);
  await eventually('readiness', () => pod.agent.unready === undefined);
});

test('the pods of a site know each other by their addresses, and meet by a certificate of the site', async () => {
  const api = aNamespace();
  const { cert, key, ca } = freshCertificate();
  putSecret(api, 'skupper-local-server', { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca });
  const labels = { application: 'skupper-router', 'skupper.io/component': 'router' };
  const running = (podIP: string): object => ({ status: { phase: 'Running', podIP } });
  put(api, pods, 'one', running('192.0.2.1'), { labels });
  put(api, pods, 'other', running('192.0.2.3'), { labels: { application: 'web' } });
  await using pod = await aPod(api);
  const others = () => {
    const { siblings } = pod.router.config;
    return siblings?.kind === 'tls' ? siblings.others : undefined;
  };
  assert.deepEqual(others(), []);
  put(api, pods, 'two', running('192.0.2.2'), { labels });
  await eventually('the other pod', () => others()?.length === 1);
  assert.deepEqual(others(), [{ router: 'two', host: '192.0.2.2', port: 5671 }]);
});

test('a pod does not wait for a pod of a deleted Site that still serves, and does not link to it', async () => {
  const api = aNamespace();
  const { cert, key, ca } = freshCertificate();
  putSecret(api, 'skupper-local-server', { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca });
  const labels = { application: 'skupper-router', 'skupper.io/component': 'router' };
  const status = { phase: 'Running', podIP: '192.0.2.2', conditions: [{ type: 'Ready', status: 'True' }] };
  const spec = { containers: [{ name: 'router', env: [{ name: 'SITE_UID', value: 'former-uid' }] }] };
  put(api, pods, 'former', { spec, status }, { labels });
  await using pod = await aPod(api);
  const { siblings } = pod.router.config;
  assert.deepEqual([pod.agent.unready, siblings?.kind === 'tls' ? siblings.others : undefined], [undefined, []]);
});

test('a pod is not ready before it is linked to those that serve already, one about to end apart', async () => {
  const api = aNamespace();
  const labels = { application: 'skupper-router', 'skupper.io/component': 'router' };
  const serving = { status: { phase: 'Running', podIP: '192.0.2.2', conditions: [{ type: 'Ready', status: 'True' }] } };
  put(api, pods, 'ending', serving, { labels, deletionTimestamp: '2026-01-01T00:00:00Z' });
  put(api, pods, 'starting', { status: { phase: 'Running', podIP: '192.0.2.3' } }, { labels });
  await using first = await aPod(api);
  assert.equal(first.agent.unready, undefined);
  put(api, pods, 'two', serving, { labels });
  await using second = await aPod(api, 'three');
  assert.match(second.agent.unready ?? '', /not linked to the site's router two yet/);
});

test('a pod that no longer leads carries traffic, and writes nothing', async () => {
  const api = aNamespace();
  putListener(api, 'web', 1024);
  await using pod = await aPod(api);
  await becomes(api, listeners, 'web', 'Pending');
  pod.cluster.platform.leadership.resign();
  putListener(api, 'late', 1025);
  await eventually('the listener', () => pod.router.config.listeners.length === 2);
  assert.equal(statusOf(api, listeners, 'late'), undefined);
  assert.equal(pod.agent.unready, undefined);
});

test('state that another site keeps changing is written a few times at once, then once every ten seconds', async (t) => {
  const api = aNamespace();
  putListener(api, 'web', 1024);
  await using pod = await aPod(api);
  const writes = (): number => writesOf(api).filter((call) => call.endsWith('skupper-network-status')).length;
  const { site } = pod.router.config;
  let versions = 0;
  const change = (): void => {
    versions += 1;
    pod.router.others = [
      { router: 'other', site: { ...site, id: 'other', name: 'east', version: String(versions) }, edge: false, links: [], keys: [] },
    ];
    pod.router.changed();
  };
  await eventually(
    'ten writes',
    () => {
      change();
      return writes() >= 10;
    },
    { everyMs: 10 },
  );
  change();
  // A listener's status shows that this change has been seen, too.
  pod.router.reach('web');
  await becomes(api, listeners, 'web', 'Ready');
  assert.equal(writes(), 10);
  const later = performance.now() + 10_000;
  t.mock.method(performance, 'now', () => later);
  const written = (): string => api.read(configMaps, `${namespace}/skupper-network-status`)?.data?.['sites.json'] ?? '';
  await eventually('the last change', () => written().includes(`"version":"${versions}"`));
  assert.equal(writes(), 11);
});
