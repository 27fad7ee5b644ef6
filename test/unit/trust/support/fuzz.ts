/**
 * What reads bytes of strangers, each with samples to begin from. Runs long by itself:
 * `node test/unit/trust/support/fuzz.ts TARGET CASES [SEED]`, and says how to see a failure again.
 */
import assert from 'node:assert/strict';
import { Random } from '../../../../bench/routing/random.ts';
import { mutate } from '../../../fuzz/mutate.ts';
import { TrustError } from '../../../../src/trust/errors.ts';
import { CertificateError } from '../../../../src/x509/errors.ts';
import { certificateFacts } from '../../../../src/x509/facts.ts';
import { createKey, createRequest, checkRequest } from '../../../../src/x509/request.ts';
import { issueBundle } from '../../../../src/trust/issue.ts';
import { readToken } from '../../../../src/trust/tokens/token.ts';
import { parseGrant } from '../../../../src/trust/disk/grant-file.ts';
import { parseIssued } from '../../../../src/trust/disk/ledger-files.ts';
import { readPem, writePem } from '../../../../src/x509/pem.ts';
import { checkProof, decodeAnswer, decodeRedemption, encodeRedemption } from '../../../../src/trust/tokens/redemption.ts';
import { refusalOf } from '../../../../src/trust/tokens/refusal.ts';
import { writeYaml } from '../../../../src/text/write-yaml.ts';
import { makeAuthority, makeSite } from './site.ts';

export interface FuzzTarget {
  readonly samples: readonly Buffer[];
  /** Throws anything but a TrustError where something is wrong with us. */
  read(bytes: Buffer): unknown;
}

const authority = makeAuthority();
const site = makeSite();
const csr = createRequest(createKey(), site.siteName);
const { cert } = issueBundle(authority, 'x', {
  subject: 'east',
  siteId: site.siteId,
  hosts: ['a.example', '10.0.0.1', '::1'],
  client: true,
});
const derOf = (pem: string): Buffer => readPem(pem)[0]?.der ?? Buffer.alloc(0);
const url = new URL('https://west:9090/v1/redeem/g');
const token = writeYaml({
  apiVersion: 'skupper.io/v2alpha1',
  kind: 'AccessToken',
  metadata: { name: 't' },
  spec: { url: url.href, code: 'x', ca: authority.ca, linkCost: 2 },
});

export const fuzzTargets: Readonly<Record<string, FuzzTarget>> = {
  redemption: {
    samples: [Buffer.from(encodeRedemption('g', { code: 'x', siteId: site.siteId, siteName: site.siteName, csr }, site.siteKey))],
    read: (bytes) => {
      const request = decodeRedemption(bytes);
      checkRequest(request.csr);
      checkProof('g', request);
    },
  },
  answer: {
    samples: [
      Buffer.from(
        JSON.stringify({
          cert,
          ca: authority.ca,
          siteId: site.siteId,
          siteName: 'west',
          endpoints: [{ name: 'edge', host: 'west', port: '45671', group: 'a' }],
        }),
      ),
      Buffer.from('{"code":"token-expired","message":"why"}'),
    ],
    read: (bytes) => {
      const { message } = refusalOf(403, bytes.toString(), url);
      assert.ok(!message.includes('\n') && !message.includes('\u001b'));
      decodeAnswer(bytes.toString());
    },
  },
  token: { samples: [Buffer.from(token)], read: (bytes) => readToken(bytes.toString(), 'it') },
  request: { samples: [derOf(csr)], read: (bytes) => checkRequest(writePem('CERTIFICATE REQUEST', bytes)) },
  certificate: { samples: [derOf(cert), derOf(authority.ca)], read: (bytes) => certificateFacts(writePem('CERTIFICATE', bytes), 'it') },
  pem: { samples: [Buffer.from(cert + authority.ca)], read: (bytes) => certificateFacts(bytes.toString(), 'it') },
  state: {
    samples: [
      Buffer.from('{"siteName":"east","siteId":"x","serial":"AB","notAfter":"2030-01-01T00:00:00.000Z"}\n'),
      Buffer.from(
        '{"version":1,"name":"g","code":"x","redemptionsAllowed":1,"redemptions":0,"created":1,"expires":2,"redeemedBy":[],"ownCode":true,"keyHashes":[]}',
      ),
    ],
    read: (bytes) => {
      parseGrant(bytes.toString(), 'g');
      parseIssued(bytes.toString(), 'it');
    },
  },
};

/** Runs so many cases. @throws the first error that is not one of ours, with the case in its message */
export async function fuzz(name: string, cases: number, seed: number): Promise<number> {
  const target = fuzzTargets[name];
  assert.ok(target !== undefined, `there is no target ${name}: take one of ${Object.keys(fuzzTargets).join(', ')}`);
  const random = new Random(seed);
  let taken = 0;
  for (let count = 0; count < cases; count += 1) {
    const bytes = mutate(random, random.pick(target.samples));
    try {
      await target.read(bytes);
      taken += 1;
    } catch (error) {
      if (error instanceof TrustError || error instanceof CertificateError) continue;
      throw new Error(`${name}, seed ${seed}, case ${count}: ${bytes.toString('base64')}`, { cause: error });
    }
  }
  return taken;
}

if (import.meta.main) {
  const [, , name = '', cases = '1000', seed = String(Date.now() % 1_000_000)] = process.argv;
  const taken = await fuzz(name, Number(cases), Number(seed));
  console.log(`${name}: ${cases} cases from seed ${seed}, ${taken} taken, the rest refused`);
}
