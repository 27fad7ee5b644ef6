import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { annotation, LEDGER, LOCAL_CA, LOCAL_SERVER, ROUTER, SITE_CA, SITE_KEY } from '../../../../src/api/skupper/cluster-names.ts';
import type { AccessGrant } from '../../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../../src/api/skupper/names.ts';
import type { KubeClient } from '../../../../src/kube/contract.ts';
import { ApiError } from '../../../../src/kube/errors.ts';
import type { Secret } from '../../../../src/kube/objects.ts';
import { configMaps, secrets } from '../../../../src/kube/resource.ts';
import { purposeOf } from '../../../../src/identity/certificate-purpose.ts';
import { authorityOf } from '../../../../src/trust/authority.ts';
import { buildRoot, issueBundle } from '../../../../src/trust/issue.ts';
import { parseEntry } from '../../../../src/trust/disk/ledger-files.ts';
import { writePem } from '../../../../src/x509/pem.ts';
import { refuse } from '../../exposure/support/played-api.ts';
import { playedCluster } from '../support/played-cluster.ts';
import { certificate, linkWest, localCa, localServer, site, siteCa, trustWorld, type TrustWorld } from '../support/trust-world.ts';
import { DAY } from '../../trust/support/site.ts';

const BOTH = ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2'];
const server = certificate('skupper-site-server', { server: true, hosts: ['10.77.0.11', 'skupper-router.west'] });
const all = [site(), siteCa, localCa, localServer, linkWest, server];

describe('the trust of a site in a cluster', () => {
  it('warns at the Site when the record of certificates is 90 % full, and not before', async () => {
    await using world = await trustWorld();
    await world.step(all);
    const line = (index: number): string =>
      JSON.stringify({ siteName: 'east', serial: index.toString(16).toUpperCase().padStart(32, '0'), notAfter: world.clock() + DAY });
    for (const [percent, isTold] of [
      [89, false],
      [91, true],
    ] as const) {
      const lines: string[] = [];
      for (let length = 0, index = 1; length < 7_000 * percent; index += 1) length += (lines[lines.push(line(index)) - 1]?.length ?? 0) + 1;
      const secret = world.secret(LEDGER);
      const issued = Buffer.from(`${lines.join('\n')}\n`).toString('base64');
      world.cluster.api.put(secrets, { ...secret, data: { ...secret.data, 'issued.jsonl': issued } });
      const { problems } = await world.step(all);
      const told = problems.filter(({ message }) => /% full/.test(message));
      assert.deepEqual(
        told.map(({ resource, severity }) => [resource, severity]),
        isTold ? [['Site/west', 'warning']] : [],
      );
    }
  });

  it('has a key, and the Secrets of its Certificates, in one step; what stands costs no request', async () => {
    await using world = await trustWorld();
    const { facts, problems, revoked, again = 0 } = await world.step(all);
    assert.deepEqual(problems, []);
    assert.deepEqual(revoked, { sites: [], serials: [] });
    assert.match(world.texts(SITE_KEY)['site.key'] ?? '', /BEGIN PRIVATE KEY/);
    assert.equal(world.secret(SITE_KEY).metadata.ownerReferences?.[0]?.uid, 'site-1');
    for (const [name, ca, years] of [
      [SITE_CA, SITE_CA, 5],
      [LOCAL_CA, LOCAL_CA, 5],
      [LOCAL_SERVER, LOCAL_CA, 1],
      ['link-west', SITE_CA, 1],
      ['skupper-site-server', SITE_CA, 1],
    ] as const) {
      const { metadata, type } = world.secret(name);
      const leaf = world.leaf(name);
      assert.equal(type, 'kubernetes.io/tls');
      assert.ok(leaf.checkIssued(world.leaf(ca)) && leaf.verify(world.leaf(ca).publicKey), name);
      assert.equal(world.texts(name)['ca.crt'], world.texts(ca)['tls.crt'], name);
      assert.ok(leaf.checkPrivateKey(createPrivateKey(world.texts(name)['tls.key'] ?? '')));
      assert.equal(Math.round((leaf.validToDate.getTime() - world.clock()) / DAY / 365), years, name);
      assert.deepEqual(leaf.keyUsage, years === 5 ? undefined : BOTH);
      assert.deepEqual([metadata.ownerReferences?.[0]?.kind, metadata.ownerReferences?.[0]?.uid], ['Certificate', `uid-${name}`]);
      assert.equal(metadata.annotations?.[annotation.certificate], 'true');
      assert.deepEqual(facts.certificates.get(name), { expires: leaf.validToDate.getTime() });
    }
    assert.equal(world.secret(LOCAL_SERVER).metadata.annotations?.[annotation.hosts], 'skupper-router-local,skupper-router-local.west');
    assert.deepEqual(
      onRecord(world).map(({ siteName, serial }) => [siteName, serial]),
      ['link-west', LOCAL_SERVER, 'skupper-site-server'].map((name) => [`Certificate/${name}`, world.leaf(name).serialNumber]),
    );
    assert.ok(again > 10 * DAY && again <= 20 * DAY, `${again}`);
    const before = world.cluster.api.calls.length;
    assert.deepEqual((await world.step(all)).problems, []);
    assert.equal(world.cluster.api.calls.length, before);
    assert.equal(facts.defaultIssuer, SITE_CA);
  });

  it('is reconciled again when a grant expires, which no event reports', async () => {
    await using world = await trustWorld({ grants: true });
    const grant = (name: string, expirationWindow: string): AccessGrant => ({
      apiVersion: API_VERSION,
      kind: 'AccessGrant',
      metadata: { name, namespace: 'west', uid: `uid-${name}` },
      spec: { expirationWindow },
    });
    const objects = [...all, grant('short', '90s'), grant('long', '2h')];
    const first = await world.step(objects);
    assert.deepEqual([first.facts.grants.get('short')?.expired, first.again], [false, 90_000]);
    world.clock.advance(90_000);
    const second = await world.step(objects);
    assert.deepEqual([second.facts.grants.get('short')?.expired, second.again], [true, 7_110_000]);
  });

  it('reports what a Certificate requests in vain, and issues all others', async () => {
    await using world = await trustWorld();
    const wrong = {
      lost: certificate('lost', { ca: 'nobody' }),
      hostile: certificate('hostile', { ca: '../x' }),
      alone: certificate('alone', { ca: '' }),
      purpose: certificate('purpose', { settings: { purpose: 'all' } }),
      api: certificate('api', { settings: { purpose: 'api' } }),
      control: certificate('control', { settings: { purpose: 'api-control' } }),
      life: certificate('life', { settings: { lifetime: 'long' } }),
      host: certificate('host', { hosts: ['a b'] }),
      'of-leaf': certificate('of-leaf', { ca: 'link-west' }),
    };
    await world.step(all);
    const { facts, problems, failed } = await world.step([...all, ...Object.values(wrong)]);
    const words = Object.fromEntries(Object.keys(wrong).map((name) => [name, facts.certificates.get(name)?.problem?.message]));
    assert.match(words['lost'] ?? '', /^CA "west\/nobody" not found/);
    assert.match(words['hostile'] ?? '', /^CA ".*" not found/);
    assert.match(words['alone'] ?? '', /only a signing certificate can sign itself/);
    assert.match(words['purpose'] ?? '', /settings.purpose/);
    assert.match(words['api'] ?? '', /so spec.ca must be skupper-local-ca/);
    assert.match(words['control'] ?? '', /is "api-control", so spec.ca must be skupper-local-ca/);
    assert.match(words['life'] ?? '', /settings.lifetime/);
    assert.match(words['host'] ?? '', /a b/);
    assert.match(words['of-leaf'] ?? '', /not a certificate authority/);
    assert.deepEqual([problems, failed], [[], undefined]);
    assert.ok(world.leaf('skupper-site-server'));
    assert.equal((await world.step([...all, ...Object.values(wrong)])).failed, undefined);
  });

  it("leaves a person's Secret alone, and says where it does not fit", async () => {
    await using world = await trustWorld();
    await world.step([site(), siteCa]);
    const authority = authorityIn(world, SITE_CA);
    put(world, 'fits', issueBundle(authority, 'fits', { subject: 'fits', hosts: ['a'], server: true }, world.clock));
    put(world, 'not', issueBundle(authority, 'not', { subject: 'not', hosts: ['b'], server: true }, world.clock));
    const before = world.cluster.api.writes.length;
    const { facts } = await world.step([site(), siteCa, certificate('fits', { hosts: ['a'] }), certificate('not', { hosts: ['a'] })]);
    assert.equal(facts.certificates.get('fits')?.problem, undefined);
    assert.equal(facts.certificates.get('fits')?.expires, world.leaf('fits').validToDate.getTime());
    assert.match(facts.certificates.get('not')?.problem?.message ?? '', /^secret exists but is not controlled by skupper/);
    assert.equal(world.cluster.api.writes.length, before);
  });

  it('goes on with the RSA authority and the Secrets that an earlier controller has left', async () => {
    await using world = await trustWorld();
    const key = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
    const cert = writePem('CERTIFICATE', buildRoot('west site CA', key, 5 * 365, world.clock()));
    const pem = key.export({ type: 'pkcs1', format: 'pem' }).toString();
    put(world, SITE_CA, { cert, key: pem, ca: cert }, left(SITE_CA));
    const uses = { client: true, server: true };
    const old = issueBundle(
      authorityIn(world, SITE_CA),
      'link-west',
      { subject: linkWest.spec.subject, days: 5 * 365, ...uses },
      world.clock,
    );
    put(world, 'link-west', old, left('link-west'));
    const { facts } = await world.step([site(), siteCa, linkWest, server]);
    assert.deepEqual(world.texts(SITE_CA)['tls.key'], pem);
    assert.equal(world.leaf('link-west').serialNumber, old.serial);
    assert.equal(facts.certificates.get('link-west')?.problem, undefined);
    assert.ok(world.leaf('skupper-site-server').verify(world.leaf(SITE_CA).publicKey));
  });

  it('issues one again for other hosts, another subject, and in the last third of its life', async () => {
    await using world = await trustWorld();
    await world.step(all);
    const serials = async (...changed: typeof all): Promise<string> => {
      await world.step([site(), siteCa, ...changed]);
      return world.leaf('skupper-site-server').serialNumber;
    };
    const first = world.leaf('skupper-site-server').serialNumber;
    assert.equal(await serials(certificate('skupper-site-server', { server: true, hosts: ['10.77.0.11'] })), first);
    const more = await serials(certificate('skupper-site-server', { server: true, hosts: ['10.77.0.12', 'SKUPPER-router.west.'] }));
    assert.notEqual(more, first);
    assert.deepEqual(world.leaf('skupper-site-server').subjectAltName, 'IP Address:10.77.0.12, DNS:skupper-router.west');
    const renamed = certificate('skupper-site-server', { server: true, subject: 'another'.repeat(20) });
    const second = await serials(renamed);
    assert.notEqual(second, more);
    world.clock.advance(200 * DAY);
    assert.equal(await serials(renamed), second);
    world.clock.advance(60 * DAY);
    assert.notEqual(await serials(renamed), second);
  });

  it('reissues all certificates of an authority when it is replaced, in the same step, once that is requested', async () => {
    await using world = await trustWorld();
    await world.step(all);
    const signed = [LOCAL_SERVER, 'link-west', 'skupper-site-server'] as const;
    const before = signed.map((name) => world.leaf(name).serialNumber);
    world.cluster.api.remove(secrets, `west/${SITE_CA}`);
    const { problems } = await world.step(all);
    assert.match(
      problems.map(({ message }) => message).join(),
      /authority in Secret west\/skupper-site-ca is missing.*delete the ConfigMap skupper-router/,
    );
    assert.deepEqual(
      signed.map((name) => world.leaf(name).serialNumber),
      before,
    );
    world.cluster.api.remove(configMaps, `west/${ROUTER}`);
    assert.deepEqual((await world.step(all)).problems, []);
    const after = signed.map((name) => world.leaf(name));
    assert.deepEqual(
      after.map(({ serialNumber }, index) => serialNumber === before[index]),
      [true, false, false],
    );
    for (const leaf of after.slice(1)) assert.ok(leaf.verify(world.leaf(SITE_CA).publicKey));
    assert.equal(world.texts('skupper-site-server')['ca.crt'], world.texts(SITE_CA)['tls.crt']);
    const calls = world.cluster.api.calls.length;
    await world.step(all);
    assert.equal(world.cluster.api.calls.length, calls);
  });

  it('takes for its own what has been put back from a backup, so that it goes with the Site', async () => {
    await using before = await trustWorld();
    await before.step(all);
    await using world = await trustWorld();
    const restored = [SITE_KEY, LEDGER, SITE_CA, LOCAL_CA];
    for (const name of restored) {
      const { metadata, ...secret } = before.secret(name);
      world.cluster.api.put(secrets, { ...secret, metadata: { name, namespace: 'west', annotations: metadata.annotations ?? {} } });
    }
    assert.deepEqual((await world.step(all)).problems, []);
    const ownersOf = (of: TrustWorld, name: string): unknown => of.secret(name).metadata.ownerReferences?.map(({ kind }) => kind);
    for (const name of restored) {
      assert.deepEqual(ownersOf(world, name), ownersOf(before, name), name);
      if (name !== LEDGER) assert.deepEqual(world.texts(name), before.texts(name), name);
    }
    const calls = world.cluster.api.calls.length;
    await world.step(all);
    assert.equal(world.cluster.api.calls.length, calls);
  });

  it('keeps what an authority signed that cannot be found', async () => {
    await using world = await trustWorld();
    await world.step(all);
    const { serialNumber } = world.leaf('link-west');
    await world.step([site(), siteCa, { ...linkWest, spec: { ...linkWest.spec, ca: 'of-a-person' } }]);
    assert.equal(world.leaf('link-west').serialNumber, serialNumber);
  });

  it('renews an authority with its name and its key, so that what it has signed stays good', async () => {
    await using world = await trustWorld();
    await world.step(all);
    const [root, leaf] = [world.leaf(SITE_CA), world.leaf('link-west')];
    world.clock.advance(1_300 * DAY);
    await world.step([site(), siteCa]);
    const next = world.leaf(SITE_CA);
    assert.notEqual(next.serialNumber, root.serialNumber);
    assert.ok(leaf.checkIssued(next) && leaf.verify(next.publicKey));
    assert.ok(next.validToDate > root.validToDate);
  });

  it('marks as links those that tools make for links and that routers show, and no others', async () => {
    await using world = await trustWorld();
    const marked = {
      'link-west': linkWest,
      [LOCAL_SERVER]: localServer,
      said: certificate('said', { settings: { purpose: 'link' } }),
      app: certificate('app', { client: true, server: true }),
      client: certificate('client', { client: true, hosts: ['app'] }),
      other: certificate('other', { client: true, ca: LOCAL_CA }),
      denied: certificate('denied', { client: true, settings: { purpose: 'application' } }),
      api: certificate('api', { client: true, ca: LOCAL_CA, settings: { purpose: 'api' } }),
      control: certificate('control', { client: true, ca: LOCAL_CA, settings: { purpose: 'api-control' } }),
    };
    await world.step([site(), siteCa, localCa, ...Object.values(marked)]);
    assert.deepEqual(
      Object.keys(marked).map((name) => [name, purposeOf(world.leaf(name))]),
      [
        ['link-west', 'link'],
        [LOCAL_SERVER, 'link'],
        ['said', 'link'],
        ['app', 'application'],
        ['client', 'application'],
        ['other', 'application'],
        ['denied', 'application'],
        ['api', 'api'],
        ['control', 'api-control'],
      ],
    );
  });

  it('revokes what a Certificate gave once that is gone, and what opened links and is an application from now on', async () => {
    await using world = await trustWorld();
    await world.step(all);
    const gone = world.leaf('skupper-site-server').serialNumber;
    const link = world.leaf('link-west').serialNumber;
    const { revoked } = await world.step([
      site(),
      siteCa,
      { ...linkWest, spec: { ...linkWest.spec, settings: { purpose: 'application' } } },
    ]);
    assert.deepEqual(new Set(revoked?.serials), new Set([gone, link, world.leaf(LOCAL_SERVER).serialNumber]));
    assert.notEqual(world.leaf('link-west').serialNumber, link);
  });

  it('takes back a certificate for the router API when its purpose changes', async () => {
    await using world = await trustWorld();
    const before = certificate('client', { client: true, ca: LOCAL_CA, settings: { purpose: 'api-control' } });
    await world.step([site(), siteCa, localCa, before]);
    const serial = world.leaf('client').serialNumber;
    for (const purpose of ['api', 'link', 'application']) {
      const { revoked } = await world.step([site(), siteCa, localCa, { ...before, spec: { ...before.spec, settings: { purpose } } }]);
      assert.deepEqual([revoked?.serials.includes(serial), purposeOf(world.leaf('client'))], [true, purpose]);
    }
  });

  it('waits until what an earlier Certificate or Site of the name gave is gone', async () => {
    await using world = await trustWorld();
    await world.step(all);
    const again = { ...linkWest, metadata: { ...linkWest.metadata, uid: 'uid-new' } };
    const before = world.leaf('link-west').serialNumber;
    assert.equal((await world.step([site(), siteCa, again])).facts.certificates.has('link-west'), false);
    assert.equal(world.leaf('link-west').serialNumber, before);
    world.cluster.api.remove(secrets, 'west/link-west');
    await world.step([site(), siteCa, again]);
    assert.notEqual(world.leaf('link-west').serialNumber, before);
    const { problems, revoked, failed } = await world.step([site({}, 'site-2'), siteCa]);
    assert.match(problems[0]?.message ?? '', /belongs to another Site/);
    assert.deepEqual([revoked, failed], [undefined, undefined]);
  });

  it('issues a certificate that cannot be written only once, and again only if another is desired by then', async () => {
    await using world = await trustWorld();
    const standing = [site(), siteCa, localCa, localServer];
    await world.step(standing);
    const { api } = world.cluster;
    api.meets = ({ verb, plural }) => {
      if (verb === 'create' && plural === 'secrets') refuse(403, 'Forbidden', 'exceeded quota: few, requested: secrets=1');
    };
    const serials = (): readonly string[] =>
      onRecord(world).flatMap(({ siteName, serial }) => (siteName === 'Certificate/link-west' ? [serial] : []));
    for (let tries = 0; tries < 3; tries += 1) {
      const { facts, failed } = await world.step([...standing, linkWest]);
      assert.match(facts.certificates.get('link-west')?.problem?.message ?? '', /exceeded quota/);
      assert.ok(failed instanceof ApiError);
    }
    assert.equal(serials().length, 1);
    const other = certificate('link-west', { client: true, subject: 'other' });
    await world.step([...standing, other]);
    assert.equal(serials().length, 2);
    world.clock.advance(300 * DAY);
    await world.step([...standing, other]);
    assert.equal(serials().length, 3);
    api.meets = () => undefined;
    await world.step([...standing, other]);
    assert.equal(serials().length, 3);
    assert.equal(world.leaf('link-west').serialNumber, serials().at(-1));
  });

  it('writes the same certificate again where its Secret is overwritten, less and less often, and records nothing more', async () => {
    await using world = await trustWorld();
    await world.step(all);
    const [issued, recorded] = [world.texts('link-west')['tls.crt'], onRecord(world).length];
    const { api } = world.cluster;
    let writes = 0;
    for (let round = 0; round < 20; round += 1) {
      const secret = world.secret('link-west');
      api.put(secrets, { ...secret, data: { ...secret.data, ...linkOfAnother(world) } });
      const calls = api.calls.length;
      const { facts } = await world.step(all);
      if (api.calls.slice(calls).includes('patch secrets west/link-west')) {
        writes += 1;
        assert.equal(world.texts('link-west')['tls.crt'], issued);
      } else assert.match(facts.certificates.get('link-west')?.problem?.message ?? '', /is reverted by another writer/);
    }
    assert.equal(onRecord(world).length, recorded);
    assert.ok(writes >= 1 && writes <= 6, `${writes}`);
  });

  it('does not replace a damaged key, authority or record, and says so', async () => {
    await using world = await trustWorld();
    await world.step(all);
    const damaged = (name: string, data: Secret['data']): void => {
      world.cluster.api.put(secrets, { ...world.secret(name), data: { ...world.secret(name).data, ...data } });
    };
    damaged(SITE_KEY, { 'site.key': base64('nonsense') });
    damaged(SITE_CA, { 'tls.key': base64('nonsense') });
    damaged('link-west', { 'tls.key': base64('nonsense') });
    const { problems, facts } = await world.step(all);
    assert.deepEqual(
      problems.map(({ resource, message }) => [resource, /Restore it from a backup/.test(message)]),
      [
        ['Site/west', true],
        ['Site/west', true],
      ],
    );
    assert.match(facts.certificates.get(SITE_CA)?.problem?.message ?? '', /is damaged.*Restore it from a backup/);
    assert.deepEqual(world.texts(SITE_KEY), { 'site.key': 'nonsense' });
    assert.equal(world.texts(SITE_CA)['tls.key'], 'nonsense');
    damaged(LEDGER, { 'revoked.yaml': base64('nonsense') });
    const { revoked, problems: after } = await world.step(all);
    assert.equal(revoked, undefined);
    assert.ok(after.some(({ message }) => message.includes(LEDGER)));
  });

  it("serves the controller's own Certificates without a Site, and reports to others that there is no Site", async () => {
    await using world = await trustWorld();
    const controlled = { annotations: { [annotation.controlled]: 'true' } };
    const own = certificate('skupper-grant-server-ca', { ca: '', signing: true }, controlled);
    const shown = certificate('skupper-grant-server', { ca: 'skupper-grant-server-ca', server: true, hosts: ['a'] }, controlled);
    const { facts, again } = await world.step([own, shown, linkWest]);
    assert.equal(facts.certificates.get('link-west')?.problem?.code, 'no-site');
    assert.deepEqual(world.cluster.api.calls, ['create secrets west/skupper-grant-server-ca', 'create secrets west/skupper-grant-server']);
    assert.ok(world.leaf('skupper-grant-server').verify(world.leaf('skupper-grant-server-ca').publicKey));
    assert.ok(again !== undefined);
  });

  for (const when of ['before', 'after'] as const) {
    it(`comes to the same end when it is killed ${when} any of its writes`, async () => {
      await using whole = await trustWorld();
      await whole.step(all);
      const writes = whole.cluster.api.calls.length;
      assert.ok(writes >= 7, `${writes}`);
      for (let killed = 0; killed < writes; killed += 1) {
        const cluster = await playedCluster();
        await using first = await trustWorld({ cluster, client: killedAt(cluster.api, killed, when) });
        const { failed, problems } = await first.step(all);
        assert.ok(failed !== undefined || problems.length > 0 || killed === writes - 1, `write ${killed}`);
        await using next = await trustWorld({ cluster: await playedCluster(cluster.api), clock: first.clock });
        assert.deepEqual((await next.step(all)).problems, []);
        const recorded = new Set(onRecord(next).map(({ serial }) => serial));
        for (const [name, ca] of [
          [LOCAL_SERVER, LOCAL_CA],
          ['link-west', SITE_CA],
          ['skupper-site-server', SITE_CA],
        ] as const) {
          assert.ok(next.leaf(name).verify(next.leaf(ca).publicKey), `write ${killed}: ${name}`);
          assert.ok(recorded.has(next.leaf(name).serialNumber), `write ${killed}: ${name}`);
        }
        const calls = cluster.api.calls.length;
        await next.step(all);
        assert.equal(cluster.api.calls.length, calls);
      }
    });
  }
});

/** Everything fails from that write on. */
function killedAt(api: KubeClient, at: number, when: 'before' | 'after'): KubeClient {
  let writes = 0;
  const write = async <T>(send: () => Promise<T>): Promise<T> => {
    const number = writes;
    writes += 1;
    if (number > at || (number === at && when === 'before')) throw new Error('killed');
    const answer = await send();
    if (number === at) throw new Error('killed');
    return answer;
  };
  return Object.assign(Object.create(api) as KubeClient, {
    create: (...given: Parameters<KubeClient['create']>) => write(() => api.create(...given)),
    patch: (...given: Parameters<KubeClient['patch']>) => write(() => api.patch(...given)),
    find: (...given: Parameters<KubeClient['find']>) => api.find(...given),
  });
}

const left = (name: string): Secret['metadata'] => ({
  annotations: { [annotation.certificate]: 'true', [annotation.controlled]: 'true', [annotation.hosts]: '' },
  ownerReferences: [{ apiVersion: 'skupper.io/v2alpha1', kind: 'Certificate', name, uid: `uid-${name}` }],
});

/** A valid certificate of another writer, for another subject. */
function linkOfAnother(world: TrustWorld): Secret['data'] {
  const { cert, key } = issueBundle(authorityIn(world, SITE_CA), 'link-west', { subject: 'another', client: true }, world.clock);
  return { 'tls.crt': base64(cert), 'tls.key': base64(key) };
}

interface Texts {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

function put({ cluster }: TrustWorld, name: string, { cert, key, ca }: Texts, metadata: Secret['metadata'] = {}): void {
  const data = { 'tls.crt': base64(cert), 'tls.key': base64(key), 'ca.crt': base64(ca) };
  cluster.api.put(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, name, namespace: 'west' },
    type: 'kubernetes.io/tls',
    data,
  });
}

function authorityIn(world: TrustWorld, name: string): ReturnType<typeof authorityOf> {
  const { 'tls.crt': cert = '', 'tls.key': key = '', 'ca.crt': ca = '' } = world.texts(name);
  return authorityOf({ name, cert, key, ca }, name, world.clock);
}

function onRecord(world: TrustWorld): readonly NonNullable<ReturnType<typeof parseEntry>>[] {
  const lines = (world.texts(LEDGER)['issued.jsonl'] ?? '').split('\n').filter((line) => line !== '');
  return lines.map(parseEntry).filter((entry) => entry !== undefined);
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('what another controller has made a moment ago', () => {
  it('stays: an authority that the watch has not brought yet is not replaced', async () => {
    await using before = await trustWorld();
    await before.step([site(), siteCa]);
    await using world = await trustWorld();
    world.cluster.api.hold(secrets);
    world.cluster.api.put(secrets, before.secret(SITE_CA));
    const { failed } = await world.step([site(), siteCa]);
    assert.equal(failed, undefined);
    assert.deepEqual(world.texts(SITE_CA), before.texts(SITE_CA));
  });
});
