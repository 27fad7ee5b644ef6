import assert from 'node:assert/strict';
import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SubjectAlternativeNameExtension, X509Certificate as PeculiarCertificate, X509CertificateGenerator } from '@peculiar/x509';
import { certificateFacts } from '../../../src/x509/facts.ts';
import { purposeOf } from '../../../src/identity/certificate-purpose.ts';
import { EarlyRenewalError } from '../../../src/identity/issued.ts';
import { checkBundle } from '../../../src/identity/bundle-check.ts';
import { createKey, createRequest } from '../../../src/x509/request.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { openLedger } from '../../../src/trust/disk/ledger.ts';
import { DirectoryPendingKeys } from '../../../src/trust/disk/pending-keys.ts';
import { TrustError } from '../../../src/trust/errors.ts';
import { RenewalPace } from '../../../src/trust/renewal-pace.ts';
import type { IssuedEntry, Ledger } from '../../../src/trust/stores.ts';
import { checkLinkOf, isRenewalDue, renewalTime, renewFor, requestRenewal } from '../../../src/trust/renewal.ts';
import type { IssuedBundle } from '../../../src/identity/tls-bundle.ts';
import type { CertificateOrder } from '../../../src/trust/contract.ts';
import { makePlace } from './support/place.ts';
import { refusal } from './support/refusal.ts';
import { DAY, makeAuthority, makeClock, makeSite } from './support/site.ts';

const clock = makeClock();
const authority = makeAuthority({ clock: () => clock() - DAY });
const { siteId } = makeSite();
const now = clock();
const P256 = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

const bundleOf = (order: Partial<CertificateOrder> = {}): IssuedBundle & { readonly serial: string } =>
  issueBundle(authority, 'to-west', { subject: 'east', siteId, client: true, ...order }, clock);
const peerOf = ({ cert }: IssuedBundle, id = siteId) => ({ certificate: new X509Certificate(cert).raw, siteId: id });

describe('A certificate is due for renewal', () => {
  it('between six and seven tenths of its life, always at the same time, and not all at once', () => {
    const at = (serial: string): number => renewalTime({ notBefore: 0, notAfter: 1_000_000, serial });
    const times = Array.from({ length: 200 }, (_, index) => at(`A${index}`));
    for (const time of times) assert.ok(time > 610_000 && time < 670_000, String(time));
    assert.ok(new Set(times).size > 150);
    assert.equal(at('A1'), at('A1'));
  });

  it('from then on, also when it has expired or the clock was moved', () => {
    const facts = { notBefore: 0, notAfter: 30 * DAY, serial: 'A' };
    const at = renewalTime(facts);
    assert.deepEqual(
      [at - 1, at, 60 * DAY, -5].map((time) => isRenewalDue(facts, time)),
      [false, true, true, false],
    );
  });
});

describe('A pending key', () => {
  it('lies in a file for its user alone, and leaves nothing behind where there was none', async () => {
    await using place = await makePlace();
    const pending = new DirectoryPendingKeys(join(place.path, 'pending'));
    await pending.drop('none');
    assert.deepEqual(await readdir(place.path), []);
    await pending.keyFor('to-west');
    assert.equal((await stat(join(place.path, 'pending/to-west.key'))).mode & 0o777, 0o600);
  });

  it('that was damaged is replaced, since nothing was certified with it', async () => {
    await using place = await makePlace();
    await writeFile(join(place.path, 'to-west.key'), 'half a k');
    const key = await new DirectoryPendingKeys(place.path).keyFor('to-west');
    assert.equal(await new DirectoryPendingKeys(place.path).keyFor('to-west'), key);
  });
});

describe('A renewal', () => {
  it('gives a new key a certificate of the same names, on record', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    const bundle = bundleOf({ hosts: ['east.example.com'] });
    const { csr, key } = await requestRenewal(bundle, new DirectoryPendingKeys(join(place.path, 'pending')));
    const issued = await renewFor(authority, peerOf(bundle), csr, { ledger, pace: new RenewalPace(), clock, days: 10 });
    const facts = certificateFacts(issued.cert, 'it');
    assert.deepEqual([facts.commonName, facts.siteId, facts.hosts, facts.notAfter], ['east', siteId, ['east.example.com'], now + 10 * DAY]);
    assert.ok(checkBundle({ name: 'to-west', cert: issued.cert, key, ca: issued.ca }, { kind: 'client', serverCa: true }, clock).ok);
    assert.deepEqual(
      (await Array.fromAsync(ledger.issued())).map(({ serial }) => serial),
      [issued.serial],
    );
  });

  it('is refused, whatever is asked for, where it should be', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    const csr = createRequest(createKey(), 'east');
    const good = bundleOf();
    const foreign = issueBundle(makeAuthority({ clock }), 'x', { subject: 'east', siteId, client: true }, clock);
    const cases: readonly [string, Parameters<typeof renewFor>[1], string, () => number, ReturnType<typeof refusal>][] = [
      ['another authority', peerOf(foreign), csr, clock, refusal('tls-foreign-ca', /was not issued by the authority west/)],
      ['after its end', peerOf(good), csr, () => now + 31 * DAY, refusal('tls-expired', /no longer be renewed/)],
      ['before its beginning', peerOf(good), csr, () => now - DAY / 2, refusal('tls-not-yet-valid', /clock/)],
      ["a server's certificate", peerOf(bundleOf({ client: false, server: true })), csr, clock, refusal('tls-wrong-purpose')],
      [
        "an application's",
        peerOf(bundleOf({ purpose: 'application' })),
        csr,
        () => now + 20 * DAY,
        refusal('tls-wrong-purpose', /not the certificate of a link/),
      ],
      ['an authority below', peerOf(bundleOf({ signing: true })), csr, clock, refusal('tls-wrong-purpose')],
      ['another site with it', peerOf(good, makeSite().siteId), csr, clock, refusal('request-malformed', /redeem a token of its own/)],
      ['another name', peerOf(good), createRequest(createKey(), 'west'), clock, refusal('request-malformed', /"east"/)],
      ['no request', peerOf(good), 'x', clock, refusal('request-malformed')],
      ['no certificate', { certificate: Buffer.from('x'), siteId }, csr, clock, refusal('tls-mangled')],
    ];
    for (const [what, peer, request, time, expected] of cases) {
      await assert.rejects(renewFor(authority, peer, request, { ledger, pace: new RenewalPace(), clock: time }), expected, what);
    }
    assert.deepEqual(await Array.fromAsync(ledger.issued()), []);
  });

  it('is given in the first half of the life too, and then less and less often, as long as it is not due', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    const csr = createRequest(createKey(), 'east');
    const passed = makeClock(0);
    const pace = new RenewalPace(passed);
    const renew = (bundle: IssuedBundle, time: number) => renewFor(authority, peerOf(bundle), csr, { ledger, pace, clock: () => time });
    const marked = (): IssuedBundle => bundleOf({ purpose: 'link' });
    const first = await renew(marked(), now + DAY);
    passed.advance(60_000);
    const second = await renew(marked(), now + DAY);
    passed.advance(60_000);
    await assert.rejects(renew(marked(), now + DAY), (error: unknown) => {
      assert.ok(error instanceof EarlyRenewalError);
      assert.equal(error.retryAfter, 60_000);
      return refusal('renew-early', /a moment ago/)(error);
    });
    // A due or unmarked certificate waits only for the last one.
    const due = await renew(marked(), now + 15 * DAY);
    passed.advance(60_000);
    const unmarked = await renew(bundleOf(), now);
    assert.deepEqual(
      [first, second, due, unmarked].map(({ cert }) => purposeOf(new X509Certificate(cert))),
      ['link', 'link', 'link', 'link'],
    );
  });

  it('is given a minute after the disk is no longer full, however often it was asked for meanwhile', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(join(place.path, 'internal'), { clock });
    let isFull = true;
    const full: Ledger = {
      issued: () => ledger.issued(),
      revoked: () => ledger.revoked(),
      revoke: (site) => ledger.revoke(site),
      unrevoke: (site) => ledger.unrevoke(site),
      record: (entry, basis) =>
        isFull ? Promise.reject(new TrustError('state-unavailable', 'the disk is full')) : ledger.record(entry, basis),
    };
    const monotonic = makeClock(0);
    const pace = new RenewalPace(monotonic);
    const bundle = bundleOf({ purpose: 'link' });
    const ask = () => renewFor(authority, peerOf(bundle), createRequest(createKey(), 'east'), { ledger: full, pace, clock });
    for (let tries = 0; tries < 20; tries += 1) {
      await assert.rejects(ask(), refusal('state-unavailable'), `try ${tries}`);
      await assert.rejects(ask(), EarlyRenewalError, 'one a minute');
      monotonic.advance(60_000);
    }
    isFull = false;
    await ask();
    monotonic.advance(60_000);
    await ask();
    monotonic.advance(60_000);
    await assert.rejects(ask(), EarlyRenewalError, 'what is answered counts');
  });

  it('leaves out names that no certificate of ours can hold, such as the empty one of those that Skupper has issued', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    const keys = await webcrypto.subtle.generateKey(P256, false, ['sign', 'verify']);
    const der = authority.key.export({ type: 'pkcs8', format: 'der' });
    const foreign = await X509CertificateGenerator.create({
      subject: [{ CN: ['east'] }],
      issuer: new PeculiarCertificate(authority.certificate.raw).subjectName,
      publicKey: keys.publicKey,
      signingKey: await webcrypto.subtle.importKey('pkcs8', der, P256, false, ['sign']),
      signingAlgorithm: P256,
      notBefore: new Date(now - DAY),
      notAfter: new Date(now + DAY),
      extensions: [
        new SubjectAlternativeNameExtension(['', '10.77.0.11', 'east 1', 'east.example'].map((value) => ({ type: 'dns', value }))),
      ],
    });
    const peer = { certificate: new Uint8Array(foreign.rawData), siteId };
    const csr = createRequest(createKey(), 'east');
    const { cert } = await renewFor(authority, peer, csr, { ledger, pace: new RenewalPace(), clock, isLink: true });
    assert.match(new X509Certificate(cert).subjectAltName ?? '', /^IP Address:10\.77\.0\.11, DNS:east\.example, URI:/);
  });

  it('is one of a thousand that are asked for at once', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    const [bundle, pace] = [bundleOf(), new RenewalPace()];
    const csr = createRequest(createKey(), 'east');
    const asked = Array.from({ length: 1_000 }, () => renewFor(authority, peerOf(bundle), csr, { ledger, pace, clock }));
    const given = (await Promise.allSettled(asked)).filter(({ status }) => status === 'fulfilled');
    assert.equal(given.length, 1);
    assert.equal((await Array.fromAsync(ledger.issued())).length, 1);
  });

  it('is refused to a forged certificate of the right names', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    // The same name of the authority, another key.
    const forged = issueBundle(makeAuthority({ clock }), 'x', { subject: 'east', siteId, client: true }, clock);
    assert.equal(certificateFacts(forged.cert, 'it').issuer, certificateFacts(bundleOf().cert, 'it').issuer);
    await assert.rejects(
      renewFor(authority, peerOf(forged), createRequest(createKey(), 'east'), { ledger, pace: new RenewalPace(), clock }),
      refusal('tls-foreign-ca'),
    );
  });

  it('is refused to a revoked site, and to a revoked certificate under another id', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    const anonymous = issueBundle(authority, 'x', { subject: 'east', client: true }, clock);
    await ledger.record({ siteName: 'east', siteId, serial: anonymous.serial, notAfter: now + DAY });
    await ledger.revoke('east');
    const csr = createRequest(createKey(), 'east');
    await assert.rejects(renewFor(authority, peerOf(bundleOf()), csr, { ledger, pace: new RenewalPace(), clock }), refusal('revoked'));
    await assert.rejects(
      renewFor(authority, peerOf(anonymous, makeSite().siteId), csr, { ledger, pace: new RenewalPace(), clock }),
      refusal('revoked', /is not renewed/),
    );
  });

  it('is refused to a certificate that names no site and is revoked while it is renewed', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    const anonymous = issueBundle(authority, 'x', { subject: 'link-far', client: true, purpose: 'link' }, clock);
    await ledger.record({ siteName: 'link-far', serial: anonymous.serial, notAfter: now + DAY });
    for (const revoked of ['link-far', anonymous.serial]) {
      const before = (await Array.fromAsync(ledger.issued())).length;
      const racing: Ledger = {
        record: async (...given) => {
          await ledger.revoke(revoked);
          await ledger.record(...given);
        },
        issued: () => ledger.issued(),
        revoked: () => ledger.revoked(),
        revoke: (name) => ledger.revoke(name),
        unrevoke: (name) => ledger.unrevoke(name),
      };
      const csr = createRequest(createKey(), 'link-far');
      await assert.rejects(
        renewFor(authority, peerOf(anonymous), csr, { ledger: racing, pace: new RenewalPace(), clock }),
        refusal('revoked', /is not renewed/),
      );
      assert.equal((await Array.fromAsync(ledger.issued())).length, before);
      await ledger.unrevoke('link-far');
    }
  });

  it('makes no link of what an application got before there were marks', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    const csr = createRequest(createKey(), 'my-app');
    const options = { ledger, pace: new RenewalPace(), clock };
    const renew = (bundle: IssuedBundle) => renewFor(authority, peerOf(bundle, makeSite().siteId), csr, options);
    const [unknown, known] = [0, 1].map(() => issueBundle(authority, 'x', { subject: 'my-app', client: true }, clock));
    assert.ok(unknown !== undefined && known !== undefined);
    await ledger.record({ siteName: 'Certificate/my-app', serial: known.serial, notAfter: now + DAY });
    for (const bundle of [unknown, known]) await assert.rejects(renew(bundle), refusal('tls-wrong-purpose', /not on record/));
  });

  it('is given for a link by the one rule of all platforms: the record, or the mark with the ID of the site', () => {
    const of = (more: Partial<CertificateOrder>): X509Certificate =>
      new X509Certificate(issueBundle(authority, 'x', { subject: 'east', client: true, ...more }, clock).cert);
    const other = makeSite().siteId;
    const entry = (named: Pick<IssuedEntry, 'siteName' | 'siteId'>): IssuedEntry => ({ serial: 'A', notAfter: now + DAY, ...named });
    const [site, its, app] = [entry({ siteName: 'east' }), entry({ siteName: 'east', siteId }), entry({ siteName: 'Certificate/app' })];
    const marked = { purpose: 'link' } as const;
    for (const [what, order, on, acceptsUnmarked, isGiven] of [
      ['marked and named, record lost', { ...marked, siteId }, undefined, false, true],
      ["marked, another site's name", { ...marked, siteId: other }, undefined, false, false],
      ['marked, no name, record lost', marked, undefined, true, false],
      ['marked, no name, on record', marked, site, false, true],
      ["marked, on record as another site's", marked, entry({ siteName: 'north', siteId: other }), true, false],
      ['marked, of a Certificate', marked, app, false, true],
      ['unmarked, on record', {}, its, false, true],
      ['unmarked, of a Certificate', {}, app, false, false],
      ['unmarked, record lost', {}, undefined, false, false],
      ['unmarked, record lost, accepted', {}, undefined, true, true],
      ['of an application, record lost', { purpose: 'application', siteId }, undefined, true, false],
    ] as const) {
      const check = (): void => checkLinkOf(of(order), siteId, on, acceptsUnmarked);
      if (isGiven) assert.doesNotThrow(check, what);
      else assert.throws(check, refusal('tls-wrong-purpose', /redeem a new token/), what);
    }
  });

  it('is refused on a machine to a marked certificate that names no site and is not on record', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    const lost = issueBundle(authority, 'x', { subject: 'east', client: true, purpose: 'link' }, clock);
    const options = { ledger, pace: new RenewalPace(), clock };
    await assert.rejects(renewFor(authority, peerOf(lost), createRequest(createKey(), 'east'), options), refusal('tls-wrong-purpose'));
  });

  it('binds a certificate without a site id to the site that renews it', async () => {
    await using place = await makePlace();
    const ledger = await openLedger(place.path, { clock });
    const anonymous = issueBundle(authority, 'x', { subject: 'east', client: true }, clock);
    await ledger.record({ siteName: 'link-far', serial: anonymous.serial, notAfter: now + DAY });
    const issued = await renewFor(authority, peerOf(anonymous), createRequest(createKey(), 'east'), {
      ledger,
      pace: new RenewalPace(),
      clock,
    });
    assert.equal(certificateFacts(issued.cert, 'it').siteId, siteId);
  });
});
