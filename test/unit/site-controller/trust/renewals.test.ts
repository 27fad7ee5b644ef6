import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { describe, it } from 'node:test';
import { RENEWALS, SITE_CA } from '../../../../src/api/skupper/cluster-names.ts';
import type { Certificate, Site } from '../../../../src/api/skupper/index.ts';
import { readRequests } from '../../../../src/site-controller/trust/renewal-requests.ts';
import { SecretLedger } from '../../../../src/site-controller/trust/secret-ledger.ts';
import { SiteSecrets } from '../../../../src/site-controller/trust/site-secrets.ts';
import { purposeOf } from '../../../../src/identity/certificate-purpose.ts';
import { configMaps, secrets } from '../../../../src/kube/resource.ts';
import { authorityOf } from '../../../../src/trust/authority.ts';
import type { CertificateOrder } from '../../../../src/trust/contract.ts';
import { issueBundle } from '../../../../src/trust/issue.ts';
import { isRecord } from '../../../../src/text/is-record.ts';
import { createKey, createRequest } from '../../../../src/x509/request.ts';
import { certificate, linkWest, localCa, localServer, site, siteCa, trustWorld, type TrustWorld } from '../support/trust-world.ts';
import { DAY } from '../../trust/support/site.ts';

const east = '11111111-1111-8111-8111-111111111111';
const north = '33333333-3333-8333-8333-333333333333';
const ID = '0123456789abcdef0123456789abcdef';
const server = certificate('skupper-site-server', { server: true, hosts: ['skupper-router.west'] });
const both = { client: true, server: true } as const;

interface Answer {
  readonly cert?: string;
  readonly ca?: string;
  readonly refused?: string;
  readonly retryAfter?: number;
}

class Asking {
  readonly world: TrustWorld;
  readonly ledger: SecretLedger;
  site: Site = site();
  certificates: readonly Certificate[] = [siteCa, localCa, localServer, linkWest, server];
  #asked = 0;

  constructor(world: TrustWorld) {
    this.world = world;
    const { api, caches } = world.cluster;
    const owner = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid: 'site-1' };
    this.ledger = new SecretLedger(new SiteSecrets({ namespace: 'west', client: api, caches, site: owner }), { clock: world.clock });
  }

  step(): ReturnType<TrustWorld['step']> {
    return this.world.step([this.site, ...this.certificates]);
  }

  /** As the site's authority gives one. */
  bundle(order: CertificateOrder, ca = SITE_CA): { readonly certificate: X509Certificate; readonly key: string } {
    const { 'tls.crt': cert = '', 'tls.key': own = '', 'ca.crt': root = '' } = this.world.texts(ca);
    const authority = authorityOf({ name: ca, cert, key: own, ca: root }, ca, this.world.clock);
    const { key, ...issued } = issueBundle(authority, 'x', order, this.world.clock);
    return { certificate: new X509Certificate(issued.cert), key };
  }

  issue(order: CertificateOrder, ca = SITE_CA): X509Certificate {
    return this.bundle(order, ca).certificate;
  }

  async ask(shown: X509Certificate, siteId: string, subject = 'east'): Promise<Answer> {
    const id = `${(this.#asked += 1)}`.padStart(32, '0');
    const request = createRequest(createKey(), subject);
    return this.put(id, JSON.stringify({ certificate: shown.raw.toString('base64'), siteId, request }));
  }

  async put(id: string, text: string): Promise<Answer> {
    const { api } = this.world.cluster;
    const data = { ...api.read(configMaps, `west/${RENEWALS}`)?.data, [id]: text };
    api.put(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: RENEWALS, namespace: 'west' }, data });
    assert.equal((await this.step()).failed, undefined);
    const answer: unknown = JSON.parse(api.read(configMaps, `west/${RENEWALS}`)?.data?.[`${id}.answer`] ?? 'null');
    assert.ok(isRecord(answer), `no answer to ${text.slice(0, 40)}`);
    return answer;
  }
}

async function asking(): Promise<Asking & AsyncDisposable> {
  const world = await trustWorld();
  const created = new Asking(world);
  await created.step();
  return Object.assign(created, { [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() });
}

describe('what routers ask the controller to renew', () => {
  it('is answered however full a router makes the ConfigMap, and nothing is too much for the API server', async () => {
    await using desk = await asking();
    const { api } = desk.world.cluster;
    const at = new Date(desk.world.clock()).toISOString();
    const answers = Array.from({ length: 40 }, (_, index) => [
      `${`${index}`.padStart(32, 'a')}.answer`,
      JSON.stringify({ at, filler: 'x'.repeat(index === 0 ? 200_000 : 24_000) }),
    ]);
    const data = Object.fromEntries(answers);
    api.put(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: RENEWALS, namespace: 'west' }, data });
    assert.match((await desk.put(ID, 'nothing')).refused ?? '', /malformed/);
    const left = api.read(configMaps, `west/${RENEWALS}`)?.data ?? {};
    assert.ok(JSON.stringify(left).length < 950_000);
    const calls = api.calls.length;
    await desk.step();
    assert.equal(api.calls.length, calls, 'nothing is written without a request');
  });

  it("is renewed if on record as the other site's: the same names, the new key, recorded before it is reported", async () => {
    await using desk = await asking();
    const before = desk.issue({ subject: 'east', siteId: east, hosts: ['east.example'], purpose: 'link', ...both });
    await desk.ledger.record({ siteName: 'east', siteId: east, serial: before.serialNumber, notAfter: desk.world.clock() + 30 * DAY });
    desk.world.clock.advance(20 * DAY);
    const { cert = '', ca } = await desk.ask(before, east);
    const after = new X509Certificate(cert);
    assert.equal(ca, desk.world.texts(SITE_CA)['tls.crt']);
    assert.ok(after.verify(desk.world.leaf(SITE_CA).publicKey));
    assert.deepEqual([after.subject, purposeOf(after)], ['CN=east', 'link']);
    assert.match(after.subjectAltName ?? '', new RegExp(`DNS:east.example.*urn:uuid:${east}`));
    const entries = await Array.fromAsync(desk.ledger.issued());
    assert.deepEqual(entries.at(-1), { siteName: 'east', siteId: east, serial: after.serialNumber, notAfter: after.validToDate.getTime() });
    const calls = desk.world.cluster.api.calls.length;
    await desk.step();
    assert.equal(desk.world.cluster.api.calls.length, calls, 'what has its answer is not looked at again');
  });

  it('of a Certificate goes with the Certificate, also after it was renewed', async () => {
    await using desk = await asking();
    const { cert = '', refused } = await desk.ask(desk.world.leaf('link-west'), east, '10.77.0.11,10.77.0.11');
    assert.equal(refused, undefined);
    desk.certificates = [siteCa, localCa, localServer, server];
    const serials = [desk.world.leaf('link-west').serialNumber, new X509Certificate(cert).serialNumber];
    assert.deepEqual((await desk.step()).revoked?.serials.toSorted(), serials.toSorted());
    assert.match((await desk.ask(new X509Certificate(cert), north, '10.77.0.11,10.77.0.11')).refused ?? '', /revoked|no longer exists/);
  });

  it('is given, and recorded again, for a link that names its site where its record was lost', async () => {
    await using desk = await asking();
    const lost = desk.issue({ subject: 'east', purpose: 'link', ...both, siteId: east });
    const { cert = '' } = await desk.ask(lost, east, 'east');
    const entries = await Array.fromAsync(desk.ledger.issued());
    assert.ok(entries.some(({ serial, siteId }) => serial === new X509Certificate(cert).serialNumber && siteId === east));
  });

  it("is refused for a certificate that is not a link's, of no known site, of another site or revoked, even on a router's request", async () => {
    await using desk = await asking();
    const link = { subject: 'east', purpose: 'link', ...both } as const;
    const unknown = desk.issue(link);
    const known = desk.issue({ ...link, siteId: north });
    await desk.ledger.record({ siteName: 'east', siteId: north, serial: known.serialNumber, notAfter: desk.world.clock() + 30 * DAY });
    const out = desk.issue({ ...link, subject: 'out', siteId: east });
    await desk.ledger.record({ siteName: 'out', siteId: east, serial: out.serialNumber, notAfter: desk.world.clock() + 30 * DAY });
    await desk.ledger.revoke('out');
    const cases: readonly (readonly [string, X509Certificate, RegExp])[] = [
      ['of its own server', desk.world.leaf('skupper-site-server'), /Certificate\/skupper-site-server/],
      ['of its own routers', desk.world.leaf('skupper-local-server'), /not signed by a certificate authority of this site/],
      ['of the authority', desk.world.leaf(SITE_CA), /not the certificate of a link|not known as/],
      ['that names no site and is not recorded', unknown, /not on record/],
      ["that is another site's", known, /belongs to site 33333333/],
      ['that is revoked', out, /revoked/],
      ['of an application', desk.issue({ subject: 'east', purpose: 'application', ...both }), /not on record/],
      ['of another authority', desk.issue(link, 'skupper-local-ca'), /not signed by a certificate authority of this site/],
    ];
    for (const [what, shown, words] of cases) {
      const { refused, cert } = await desk.ask(shown, east);
      assert.match(refused ?? '', words, what);
      assert.equal(cert, undefined, what);
    }
  });

  it('of before the move to this controller is renewed unless the Site forbids what has no mark, but never a server of its own', async () => {
    await using desk = await asking();
    const { certificate: own, key } = desk.bundle({ subject: 'skupper-site-server', hosts: server.spec.hosts ?? [], ...both });
    const { data, ...secret } = desk.world.secret('skupper-site-server');
    const texts = { 'tls.crt': own.toString(), 'tls.key': key };
    const left = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
    desk.world.cluster.api.put(secrets, { ...secret, data: { ...data, ...left } });
    assert.match((await desk.ask(own, east, 'skupper-site-server')).refused ?? '', /it belongs to Certificate\/skupper-site-server/);
    assert.ok((await desk.ask(desk.issue({ subject: 'east', ...both }), east)).cert !== undefined);
    desk.site = site({ settings: { 'unmarked-certificates': 'refuse' } });
    assert.match((await desk.ask(desk.issue({ subject: 'east', ...both }), east)).refused ?? '', /not on record/);
  });

  it('is limited in rate, and a requester receives the time to wait', async () => {
    await using desk = await asking();
    const { refused, retryAfter = 0 } = await desk
      .ask(desk.world.leaf('link-west'), east, '10.77.0.11,10.77.0.11')
      .then(() => desk.ask(desk.world.leaf('link-west'), east, '10.77.0.11,10.77.0.11'));
    assert.match(refused ?? '', /a moment ago/);
    assert.ok(retryAfter > 0);
  });

  it('is reported as malformed', async () => {
    await using desk = await asking();
    const whole = { certificate: 'AAAA', siteId: east, request: 'x' };
    for (const text of ['', '[]', '{', '{}', JSON.stringify({ ...whole, siteId: '../x' }), JSON.stringify(whole), 'x'.repeat(40_000)]) {
      const answer = await desk.put(ID, text);
      assert.equal(typeof answer.refused, 'string', text.slice(0, 40));
      desk.world.cluster.api.remove(configMaps, `west/${RENEWALS}`);
    }
  });
});

describe('the requests in the ConfigMap', () => {
  const at = Date.UTC(2027, 0, 1, 12);
  const answer = (hour: number): string => JSON.stringify({ refused: 'no', at: new Date(Date.UTC(2027, 0, 1, hour)).toISOString() });
  const other = ID.replace('0', 'f');

  it('are those without an answer; answers of more than an hour ago go, with what they answered, and what is neither', () => {
    const data = {
      [ID]: '{}',
      [`${ID}.answer`]: answer(10),
      [other]: '{}',
      [`${other}.answer`]: answer(12),
      junk: 'x',
      'x.answer': 'nonsense',
      'renew-east.answer': '{}',
    };
    assert.deepEqual(readRequests(data, at), { open: [], stale: [`${ID}.answer`, 'junk', 'x.answer', ID] });
  });

  it('are looked at up to a number, and those beyond it are taken away', () => {
    const data = Object.fromEntries(Array.from({ length: 70 }, (_, index) => [`${index}`.padStart(32, '0'), '{}']));
    const { open, stale } = readRequests(data, at);
    assert.deepEqual([open.length, stale.length], [64, 6]);
  });
});
