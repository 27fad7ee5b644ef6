import 'reflect-metadata';
import assert from 'node:assert/strict';
import { generateKeyPairSync, webcrypto } from 'node:crypto';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Pkcs10CertificateRequest, Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import { CertificateError } from '../../../src/x509/errors.ts';
import { sequence, Tag } from '../../../src/x509/der-writer.ts';
import { readChildren, readWhole } from '../../../src/x509/der-reader.ts';
import { readPem, writePem } from '../../../src/x509/pem.ts';
import { checkRequest, createKey, createRequest } from '../../../src/x509/request.ts';
import { refusal } from '../trust/support/refusal.ts';

describe('A certificate request', () => {
  it('is read by another implementation', async () => {
    const read = new Pkcs10CertificateRequest(createRequest(createKey(), 'east'));
    assert.equal(read.subject, 'CN=east');
    assert.equal(await read.verify(), true);
  });

  it('is taken from another implementation, extensions and all', async () => {
    const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-384' }, true, ['sign', 'verify']);
    const request = await Pkcs10CertificateRequestGenerator.create({
      name: 'O=x, CN=east',
      keys,
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-384' },
    });
    assert.equal(checkRequest(request.toString('pem')).commonName, 'east');
  });

  it('of an RSA or Ed25519 key is taken', () => {
    for (const { privateKey } of [generateKeyPairSync('rsa', { modulusLength: 2048 }), generateKeyPairSync('ed25519')]) {
      const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      assert.equal(checkRequest(createRequest(pem, 'east')).publicKey.asymmetricKeyType, privateKey.asymmetricKeyType);
    }
  });

  it('of a weak key is refused', () => {
    const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    assert.throws(() => checkRequest(createRequest(rsa, 'east')), refusal('tls-weak', /1024 bits/));
    const curve = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    assert.throws(() => createRequest(curve, 'east'), refusal('tls-weak'));
  });

  it('that another key has signed is refused', () => {
    const [mine, other] = [createRequest(createKey(), 'east'), createRequest(createKey(), 'east')].map(partsOf);
    assert.ok(mine !== undefined && other !== undefined);
    const forged = sequence(mine.content, mine.algorithm, other.signature);
    assert.throws(() => checkRequest(writePem('CERTIFICATE REQUEST', forged)), refusal('request-malformed', /not signed by its own key/));
  });

  it('cut anywhere, or with any byte changed, is refused and nothing else happens', () => {
    const [block] = readPem(createRequest(createKey(), 'east'));
    assert.ok(block !== undefined);
    for (let length = 0; length < block.der.length; length += 1) {
      const cut = block.der.subarray(0, length);
      assert.throws(() => checkRequest(writePem('CERTIFICATE REQUEST', cut)), refusal('request-malformed'));
    }
    fc.assert(
      fc.property(fc.nat(block.der.length - 1), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const changed = Buffer.from(block.der);
        changed.writeUInt8(changed.readUInt8(at) ^ change, at);
        assert.throws(
          () => checkRequest(writePem('CERTIFICATE REQUEST', changed)),
          (error: unknown) => error instanceof CertificateError && (error.code === 'request-malformed' || error.code === 'tls-weak'),
        );
      }),
      { numRuns: 250 },
    );
  });

  it('that is no request says what it is not', () => {
    assert.throws(() => checkRequest(''), refusal('request-malformed', /BEGIN CERTIFICATE REQUEST/));
    assert.throws(() => checkRequest('x'.repeat(10_000)), refusal('request-malformed', /longer than 8192/));
    assert.throws(() => checkRequest('-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n'), refusal('request-malformed', /no END line/));
  });
});

function partsOf(pem: string): { readonly content: Buffer; readonly algorithm: Buffer; readonly signature: Buffer } {
  const [block] = readPem(pem);
  assert.ok(block !== undefined);
  const [content, algorithm, signature] = readChildren(readWhole(block.der, Tag.sequence, 'it'), 'it');
  assert.ok(content !== undefined && algorithm !== undefined && signature !== undefined);
  return { content: content.whole, algorithm: algorithm.whole, signature: signature.whole };
}
