import assert from 'node:assert/strict';
import { TrustError } from '../../src/trust/errors.ts';
import { CertificateError } from '../../src/x509/errors.ts';
import { certificateFacts } from '../../src/x509/facts.ts';
import { createKey, createRequest, checkRequest } from '../../src/x509/request.ts';
import { issueBundle } from '../../src/trust/issue.ts';
import { readToken } from '../../src/trust/tokens/token.ts';
import { parseGrant } from '../../src/trust/disk/grant-file.ts';
import { parseEntry } from '../../src/trust/disk/ledger-files.ts';
import { readPem, writePem } from '../../src/x509/pem.ts';
import { checkProof, decodeAnswer, decodeRedemption, encodeRedemption } from '../../src/trust/tokens/redemption.ts';
import { refusalOf } from '../../src/trust/tokens/refusal.ts';
import { writeYaml } from '../../src/text/write-yaml.ts';
import { makeAuthority, makeSite } from '../unit/trust/support/site.ts';
import { Random } from '../../bench/routing/random.ts';
import { mutate } from './mutate.ts';
import { Fault, type Plan, type Tally, type Target } from './target.ts';

/** Untrusted input of trust, each kind with its share: bodies of redemptions, answers, tokens, requests, certificates, PEM, state. */
export const trust: Target = {
  what: 'bodies, tokens, requests, certificates and PEM',
  cases: 1_000_000,
  heapKilobytes: 16_384,
  slowest: 20_000,
  run,
};

const BATCH = 2_000;

async function run({ cases, seed, step }: Plan): Promise<Tally> {
  const names = Object.keys(readers);
  const batch = Math.min(BATCH, Math.ceil(cases / names.length));
  const taken: Record<string, number> = {};
  for (let done = 0, round = 0; done < cases; round += 1) {
    const name = names[round % names.length] ?? '';
    const count = Math.min(batch, cases - done);
    taken[`${name}-taken`] = (taken[`${name}-taken`] ?? 0) + (await takenBy(name, count, seed + round));
    done += count;
    step(count);
  }
  const accepted = Object.values(taken).reduce((sum, count) => sum + count, 0);
  return { cases, accepted, refused: cases - accepted, notes: taken };
}

/** @returns how many were taken @throws Fault for the first error that is not one of ours */
async function takenBy(name: string, cases: number, seed: number): Promise<number> {
  const reader = readers[name];
  if (reader === undefined) throw new TypeError(`no reader for ${name}`);
  const random = new Random(seed);
  let taken = 0;
  for (let number = 0; number < cases; number += 1) {
    const bytes = mutate(random, random.pick(reader.samples));
    try {
      await reader.read(bytes);
      taken += 1;
    } catch (error) {
      if (error instanceof TrustError || error instanceof CertificateError) continue;
      throw new Fault(`${name}, seed ${seed}, case ${number}`, bytes.toString('base64'), error);
    }
  }
  return taken;
}

interface Reader {
  readonly samples: readonly Buffer[];
  /** Throws anything but an error of trust or of certificates where something is wrong with us. */
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

const readers: Readonly<Record<string, Reader>> = {
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
      for (const line of bytes.toString().split('\n')) parseEntry(line);
    },
  },
};
