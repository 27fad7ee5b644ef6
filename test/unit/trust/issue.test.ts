import 'reflect-metadata';
import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { connect, createServer, type TLSSocket } from 'node:tls';
import fc from 'fast-check';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsageExtension,
  SubjectAlternativeNameExtension,
  X509Certificate as LibraryCertificate,
} from '@peculiar/x509';
import { purposeOf } from '../../../src/identity/certificate-purpose.ts';
import { certificateFacts } from '../../../src/x509/facts.ts';
import { createKey, createRequest } from '../../../src/x509/request.ts';
import { issueBundle, issueCertificate } from '../../../src/trust/issue.ts';
import { authorityOf } from '../../../src/trust/authority.ts';
import { DAY, makeAuthority, makeClock } from './support/site.ts';
import { refusal } from './support/refusal.ts';

const siteId = '521b6329-d741-89f7-b6de-37f28aa75c79';

describe('A certificate that is issued', () => {
  it('is read by another implementation as it was ordered', async () => {
    const authority = makeAuthority();
    const hosts = ['west.example.com', '*.west.example.com', '10.1.2.3', '2001:db8::1', '::ffff:10.0.0.1'];
    const { cert, serial } = issueCertificate(authority, {
      subject: 'west',
      hosts,
      siteId,
      client: true,
      server: true,
      csr: createRequest(createKey(), 'x'),
    });
    const read = new LibraryCertificate(cert);
    assert.equal(read.subject, 'CN=west');
    assert.equal(read.issuer, 'CN=earshot site west');
    assert.equal(read.serialNumber.toUpperCase(), serial);
    assert.equal(await read.verify({ publicKey: new LibraryCertificate(authority.ca).publicKey }), true);
    assert.equal(read.getExtension(BasicConstraintsExtension)?.ca, false);
    assert.deepEqual([...(read.getExtension(ExtendedKeyUsageExtension)?.usages ?? [])], ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
    const names = read.getExtension(SubjectAlternativeNameExtension)?.names.toJSON();
    assert.deepEqual(
      names?.map(({ type, value }) => `${type}:${value}`),
      ['dns:west.example.com', 'dns:*.west.example.com', 'ip:10.1.2.3', 'ip:2001:db8::1', 'ip:::ffff:a00:1', `url:urn:uuid:${siteId}`],
    );
  });

  it('says what it is for where that was ordered, and of a renewal always', () => {
    const authority = makeAuthority();
    const order = { subject: 'east', hosts: ['2001:db8::1'], siteId, client: true };
    const said = [{}, { purpose: 'link' }, { purpose: 'application' }] as const;
    const certificates = said.map((purpose) => new X509Certificate(issueBundle(authority, 'east', { ...order, ...purpose }).cert));
    assert.deepEqual(certificates.map(purposeOf), [undefined, 'link', 'application']);
    // Programs take the names of the bearer from there.
    assert.equal(certificates[2]?.subjectAltName, certificates[0]?.subjectAltName);
  });

  it('names its serial as node:crypto and so the router does, whatever its first bits', () => {
    const authority = makeAuthority();
    const csr = createRequest(createKey(), 'x');
    for (let count = 0; count < 600; count += 1) {
      const { cert, serial } = issueCertificate(authority, { subject: 'east', client: true, csr });
      assert.equal(serial, new X509Certificate(cert).serialNumber);
    }
  });

  it('begins five minutes ago and lasts 30 days', () => {
    const clock = makeClock();
    const authority = makeAuthority({ clock });
    clock.advance(DAY);
    const { cert, notBefore, notAfter } = issueCertificate(authority, { subject: 'east', csr: createRequest(createKey(), 'x') }, clock);
    assert.equal(notBefore, clock() - 300_000);
    assert.equal(notAfter, clock() + 30 * DAY);
    const facts = certificateFacts(cert, 'it');
    assert.deepEqual([facts.notBefore, facts.notAfter], [notBefore, notAfter]);
  });

  it('does not begin before its authority, nor outlive it', () => {
    const clock = makeClock();
    const authority = makeAuthority({ clock, days: 10 });
    const { notBefore, notAfter } = issueCertificate(authority, { subject: 'east', csr: createRequest(createKey(), 'x') }, clock);
    assert.equal(notBefore, authority.certificate.validFromDate.getTime());
    assert.equal(notAfter, authority.certificate.validToDate.getTime());
  });

  it('is not to be had of an authority that has ended or has not begun, and the error names both times', () => {
    const clock = makeClock();
    const authority = makeAuthority({ clock, days: 10 });
    const order = { subject: 'east', csr: createRequest(createKey(), 'x') };
    assert.throws(() => issueCertificate(authority, order, () => clock() + 11 * DAY), refusal('tls-expired', /2027-01-11/, /2027-01-12/));
    assert.throws(
      () => issueCertificate(authority, order, () => clock() - DAY),
      refusal('tls-not-yet-valid', /2026-12-31T23:55/, /2026-12-31T00:00/),
    );
  });

  it('carries dates beyond 2049, which are written in another form', () => {
    const clock = makeClock(Date.UTC(2049, 11, 1));
    const authority = makeAuthority({ clock, days: 3_000 });
    const { cert, notAfter } = issueCertificate(authority, { subject: 'east', days: 100, csr: createRequest(createKey(), 'x') }, clock);
    assert.equal(new LibraryCertificate(cert).notAfter.getTime(), notAfter);
    assert.equal(new X509Certificate(cert).validToDate.getTime(), notAfter);
  });

  it('can come from an authority of any kind of key that TLS 1.3 takes', () => {
    const pem = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();
    const keys: readonly string[] = [
      pem(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey),
      pem(generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).privateKey),
      pem(generateKeyPairSync('ec', { namedCurve: 'secp521r1' }).privateKey),
      pem(generateKeyPairSync('ed25519').privateKey),
    ];
    for (const key of keys) {
      const authority = makeAuthority({ key });
      const issued = new X509Certificate(issueCertificate(authority, { subject: 'east', csr: createRequest(key, 'x') }).cert);
      assert.equal(issued.verify(authority.certificate.publicKey), true, String(authority.key.asymmetricKeyType));
    }
  });

  it('can sign others, and then their chain leads to the root', async () => {
    const root = makeAuthority();
    const between = issueBundle(root, 'between', { subject: 'between', signing: true, days: 100 });
    const authority = authorityOf(between, 'between', Date.now);
    const server = issueBundle(authority, 'server', { subject: 'server', hosts: ['localhost'], server: true });
    const client = issueBundle(authority, 'client', { subject: 'client', client: true });
    assert.equal(server.cert.match(/BEGIN CERTIFICATE/g)?.length, 2);
    assert.equal(server.ca, root.ca);
    assert.equal(await handshake({ ...server, ca: client.ca }, client), 'client');
  });

  it('serves both ends of mutual TLS', async () => {
    const authority = makeAuthority();
    const server = issueBundle(authority, 'server', { subject: 'server', hosts: ['localhost', '127.0.0.1'], server: true });
    const client = issueBundle(authority, 'client', { subject: 'client', siteId, client: true });
    assert.equal(await handshake(server, client), 'client');
  });

  it('is refused for subjects, hosts and lives that no certificate should have', () => {
    const authority = makeAuthority();
    const csr = createRequest(createKey(), 'x');
    const refused = [
      { subject: '' },
      { subject: 'a'.repeat(65) },
      { subject: 'east\nCN=west' },
      { subject: 'east', hosts: ['a b'] },
      { subject: 'east', hosts: ['fe80::1%eth0'] },
      { subject: 'east', hosts: ['x'.repeat(64)] },
      { subject: 'east', hosts: ['*'] },
      { subject: 'east', days: 0 },
      { subject: 'east', days: Number.NaN },
      { subject: 'east', days: 4_000 },
    ];
    for (const order of refused)
      assert.throws(() => issueCertificate(authority, { ...order, csr }), refusal('bad-argument'), JSON.stringify(order));
  });

  it('holds whatever IPv6 address it was ordered for', () => {
    const authority = makeAuthority();
    const csr = createRequest(createKey(), 'x');
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const { cert } = issueCertificate(authority, { subject: 'east', hosts: [address], csr });
        assert.notEqual(new X509Certificate(cert).checkIP(address), undefined);
      }),
      { numRuns: 50 },
    );
  });
});

describe('A key', () => {
  it('is ECDSA P-256', () => {
    assert.equal(createPrivateKey(createKey()).asymmetricKeyDetails?.namedCurve, 'prime256v1');
  });
});

interface Ends {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

/** @returns the common name that the server saw */
async function handshake(server: Ends, client: Ends): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>();
  const listening = createServer({ ...server, requestCert: true, minVersion: 'TLSv1.3' }, (socket: TLSSocket) => {
    const { CN: name } = socket.getPeerCertificate().subject;
    resolve(Array.isArray(name) ? name[0] : name);
    socket.end();
  });
  listening.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const address = listening.address();
  const socket = connect({
    ...client,
    host: '127.0.0.1',
    port: typeof address === 'object' && address !== null ? address.port : 0,
    servername: 'localhost',
  });
  try {
    await once(socket, 'secureConnect');
    return await promise;
  } finally {
    socket.destroy();
    listening.close();
  }
}
