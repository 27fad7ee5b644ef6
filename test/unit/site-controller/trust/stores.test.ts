import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotation, LEDGER, PENDING_KEYS } from '../../../../src/api/skupper/cluster-names.ts';
import { SiteSecretBundles } from '../../../../src/site-controller/trust/site-secret-bundles.ts';
import { SecretLedger } from '../../../../src/site-controller/trust/secret-ledger.ts';
import { SecretPendingKeys } from '../../../../src/site-controller/trust/secret-pending-keys.ts';
import { SiteSecrets } from '../../../../src/site-controller/trust/site-secrets.ts';
import type { OwnerReference, Secret } from '../../../../src/kube/objects.ts';
import { secrets } from '../../../../src/kube/resource.ts';
import type { TrustError } from '../../../../src/trust/errors.ts';
import { storeContract, type Stores } from '../../trust/stores-contract.ts';
import { MemoryGrantStore } from '../../trust/support/memory-stores.ts';
import { refusal } from '../../trust/support/refusal.ts';
import { DAY, makeClock } from '../../trust/support/site.ts';
import { playedCluster, type PlayedCluster } from '../support/played-cluster.ts';

const site: OwnerReference = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid: 'site-1' };
const clusters = new WeakMap<Stores, PlayedCluster>();

const secretsIn = ({ api, caches }: PlayedCluster, owner = site): SiteSecrets =>
  new SiteSecrets({ namespace: 'west', client: api, caches, site: owner });

storeContract('In Secrets', {
  open: async (clock) => {
    const cluster = await playedCluster();
    const ledger = new SecretLedger(secretsIn(cluster), { clock });
    return storesIn(cluster, ledger, new MemoryGrantStore({ ledger, clock }));
  },
  reopen: async (stores, clock) => {
    const cluster = clusters.get(stores);
    if (cluster === undefined) throw new Error('these stores were not opened here');
    const next = await playedCluster(cluster.api);
    cluster[Symbol.dispose]();
    // Grants are kept elsewhere.
    return storesIn(next, new SecretLedger(secretsIn(next), { clock }), stores.grants);
  },
});

function storesIn(cluster: PlayedCluster, ledger: SecretLedger, grants: Stores['grants']): Stores {
  const stores: Stores = {
    bundles: new SiteSecretBundles(secretsIn(cluster)),
    ledger,
    grants,
    pending: new SecretPendingKeys(secretsIn(cluster)),
    [Symbol.asyncDispose]: async () => {
      await grants[Symbol.asyncDispose]();
      cluster[Symbol.dispose]();
    },
  };
  clusters.set(stores, cluster);
  return stores;
}

describe('bundles in Secrets', () => {
  it('are TLS Secrets of the Site, and reading one costs one request', async () => {
    using cluster = await playedCluster();
    const bundles = new SiteSecretBundles(secretsIn(cluster));
    await bundles.put({ name: 'web', cert: 'cert', key: 'key', ca: 'ca' });
    const { metadata, type, data } = secretNamed(cluster, 'web');
    assert.deepEqual([type, data], ['kubernetes.io/tls', { 'tls.crt': base64('cert'), 'tls.key': base64('key'), 'ca.crt': base64('ca') }]);
    assert.deepEqual(metadata.ownerReferences, [site]);
    assert.equal(metadata.annotations?.[annotation.controlled], 'true');
    await bundles.list();
    await bundles.get('web');
    await bundles.put({ name: 'web', cert: 'cert', key: 'key', ca: 'ca' });
    await bundles.get('web');
    assert.deepEqual(cluster.api.calls, ['create secrets west/web', 'get secrets west/web']);
  });

  it('keep the type of the Secret, and what others have written on it', async () => {
    using cluster = await playedCluster();
    const mine = { labels: { team: 'a' }, annotations: { [annotation.controlled]: 'true', note: 'x' } };
    cluster.api.put(secrets, secret('web', { 'tls.crt': 'old', 'tls.key': 'old' }, mine));
    const bundles = new SiteSecretBundles(secretsIn(cluster), () => ({ annotations: { hosts: 'a' }, labels: { ours: 'true' } }));
    await bundles.put({ name: 'web', cert: 'new' });
    const { metadata, data } = secretNamed(cluster, 'web');
    assert.deepEqual(data, { 'tls.crt': base64('new'), 'tls.key': '' });
    assert.deepEqual(await bundles.get('web'), { name: 'web', cert: 'new' });
    assert.deepEqual(metadata.labels, { team: 'a', ours: 'true' });
    assert.deepEqual(metadata.annotations, { [annotation.controlled]: 'true', note: 'x', hosts: 'a' });
  });

  it("never replace a person's", async () => {
    using cluster = await playedCluster();
    cluster.api.put(secrets, secret('web', { 'tls.crt': 'his', 'tls.key': 'his' }));
    const bundles = new SiteSecretBundles(secretsIn(cluster));
    await assert.rejects(bundles.put({ name: 'web', cert: 'ours' }), refusal('name-taken', /Secret west\/web/));
    assert.deepEqual(await bundles.get('web'), { name: 'web', cert: 'his', key: 'his' });
  });

  it("do not replace one that came while the watch was behind, a person's or not", async () => {
    using cluster = await playedCluster();
    cluster.api.hold(secrets);
    cluster.api.put(secrets, secret('his', { 'tls.crt': 'his', 'tls.key': 'his' }));
    cluster.api.put(secrets, secret('made', { 'tls.crt': 'first', 'tls.key': 'first' }, { ownerReferences: [site] }));
    const bundles = new SiteSecretBundles(secretsIn(cluster));
    await assert.rejects(bundles.put({ name: 'his', cert: 'ours', key: 'ours' }), refusal('name-taken'));
    assert.deepEqual(await bundles.make('made', () => ({ name: 'made', cert: 'second' })), { name: 'made', cert: 'first', key: 'first' });
    await bundles.put({ name: 'made', cert: 'third', key: 'third' });
    assert.equal(secretNamed(cluster, 'made').data?.['tls.crt'], base64('third'));
  });
});

describe('the ledger in a Secret', () => {
  const entry = (serial: string, notAfter: number, siteName = 'east') => ({ siteName, serial, notAfter });

  it('belongs to the Site, loses what has ended with the next write, and says when there is no room', async () => {
    using cluster = await playedCluster();
    const clock = makeClock();
    const ledger = new SecretLedger(secretsIn(cluster), { clock });
    await ledger.record(entry('A1', clock() + DAY));
    assert.deepEqual(secretNamed(cluster, LEDGER).metadata.ownerReferences, [site]);
    clock.advance(2 * DAY);
    await ledger.record(entry('A2', clock() + DAY));
    assert.deepEqual(
      (await Array.fromAsync(ledger.issued())).map(({ serial }) => serial),
      ['A2'],
    );
    const long = 'x'.repeat(699_000);
    await ledger.record(entry('A3', clock() + DAY, long));
    await assert.rejects(ledger.record(entry('A4', clock() + DAY, long)), refusal('state-unavailable', /is full/, /Secret west/));
    assert.deepEqual((await ledger.revoke('A2'.padEnd(16, '0'))).serials, ['A2'.padEnd(16, '0')]);
    clock.advance(2 * DAY);
    await ledger.record(entry('A5', clock() + DAY));
  });

  it('forgets that a Certificate is revoked once all that it gave has ended', async () => {
    using cluster = await playedCluster();
    const clock = makeClock();
    const ledger = new SecretLedger(secretsIn(cluster), { clock });
    await ledger.record(entry('C1', clock() + DAY, 'Certificate/web'));
    await ledger.record(entry('A1', clock() + DAY, 'east'));
    await ledger.revoke('web');
    await ledger.revoke('east');
    clock.advance(2 * DAY);
    await ledger.record(entry('C2', clock() + DAY, 'Certificate/other'));
    await ledger.revoke('other');
    assert.deepEqual(
      (await ledger.revoked()).map(({ name }) => name),
      ['east', 'Certificate/other'],
    );
  });

  it('reports a damaged line once and keeps it; an invalid list of revocations admits no site', async () => {
    using cluster = await playedCluster();
    const told: TrustError[] = [];
    const ledger = new SecretLedger(secretsIn(cluster), { onDamage: (damage) => told.push(damage) });
    cluster.api.put(secrets, secret(LEDGER, { 'issued.jsonl': 'nonsense\n' }));
    await ledger.record(entry('A1', Date.now() + DAY));
    assert.deepEqual([(await Array.fromAsync(ledger.issued())).length, (await Array.fromAsync(ledger.issued())).length], [1, 1]);
    assert.equal(told.length, 1);
    cluster.api.put(secrets, secret(LEDGER, { 'revoked.yaml': 'nonsense' }));
    await assert.rejects(ledger.revoked(), refusal('state-damaged', /Secret west\/skupper-site-ledger/));
    await assert.rejects(ledger.record(entry('A2', Date.now() + DAY)), refusal('state-damaged'));
  });

  it('is made of what others wrote meanwhile', async () => {
    using cluster = await playedCluster();
    const [one, other] = [new SecretLedger(secretsIn(cluster)), new SecretLedger(secretsIn(cluster))];
    await one.record(entry('A1', Date.now() + DAY));
    cluster.api.hold(secrets);
    await one.record(entry('A2', Date.now() + DAY));
    using late = await playedCluster(cluster.api);
    await new SecretLedger(secretsIn(late)).record(entry('A3', Date.now() + DAY));
    await other.record(entry('A4', Date.now() + DAY));
    cluster.api.release(secrets);
    assert.deepEqual(
      (await Array.fromAsync(other.issued())).map(({ serial }) => serial),
      ['A1', 'A2', 'A3', 'A4'],
    );
  });

  it('of a Site that is gone is waited out', async () => {
    using cluster = await playedCluster();
    await new SecretLedger(secretsIn(cluster)).record(entry('A1', Date.now() + DAY));
    const next = new SecretLedger(secretsIn(cluster, { ...site, uid: 'site-2' }));
    await assert.rejects(next.revoked(), refusal('state-busy', /another Site/));
    await assert.rejects(next.record(entry('A2', Date.now() + DAY)), refusal('state-busy'));
    cluster.api.remove(secrets, `west/${LEDGER}`);
    assert.deepEqual(await next.revoked(), []);
  });
});

describe('pending keys in a Secret', () => {
  it('are in one, which the Site owns', async () => {
    using cluster = await playedCluster();
    const pending = new SecretPendingKeys(secretsIn(cluster));
    await pending.keyFor('to-west');
    await pending.keyFor('to-north');
    const { data, metadata } = secretNamed(cluster, PENDING_KEYS);
    assert.deepEqual(Object.keys(data ?? {}), ['to-west', 'to-north']);
    assert.deepEqual(metadata.ownerReferences, [site]);
  });
});

function secret(name: string, texts: Readonly<Record<string, string>>, metadata: Secret['metadata'] = {}): Secret {
  const data = Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, base64(text)]));
  return { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, name, namespace: 'west' }, type: 'kubernetes.io/tls', data };
}

function secretNamed({ api }: PlayedCluster, name: string): Secret {
  const found = api.read(secrets, `west/${name}`);
  assert.ok(found !== undefined);
  return found;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
