/**
 * Stands for `node:crypto` in the router. Certificates and keys are real, and read once only; a site's signature is a hash, which costs a
 * hundredth: signatures are not forged here. Random values follow from the seed.
 */
import {
  createPrivateKey as parsePrivateKey,
  createPublicKey as parsePublicKey,
  hash,
  KeyObject,
  verify as verifyReal,
  X509Certificate as Certificate,
} from 'node:crypto';
import { random } from '../current.ts';
import { readOnce } from './read-once.ts';

export * from 'node:crypto';

/** Called with `new`: what it returns is taken then. Those of one text are one. */
export function X509Certificate(input: string | Uint8Array): Certificate {
  return typeof input === 'string' ? certificateOf(input) : certificateOfBytes(Buffer.from(input).toString('latin1'));
}

const certificateOf = readOnce((pem) => remembered(new Certificate(pem)));
const certificateOfBytes = readOnce((bytes) => remembered(new Certificate(Buffer.from(bytes, 'latin1'))));

/** As `new` would make it. */
export const certificateIn = (input: string | Uint8Array): Certificate => Reflect.construct(X509Certificate, [input]) as Certificate;

/** Each look at a part of a certificate costs OpenSSL a while: its answers do not change. */
function remembered(certificate: Certificate): Certificate {
  for (const part of PARTS) Object.defineProperty(certificate, part, { value: certificate[part] });
  const legacy = certificate.toLegacyObject();
  return Object.assign(certificate, {
    toLegacyObject: () => legacy,
    checkIssued: once((other: Certificate) => Certificate.prototype.checkIssued.call(certificate, other)),
    verify: once((key: KeyObject) => Certificate.prototype.verify.call(certificate, key)),
    checkPrivateKey: once((key: KeyObject) => Certificate.prototype.checkPrivateKey.call(certificate, key)),
  });
}

const PARTS = [
  'publicKey',
  'raw',
  'subject',
  'issuer',
  'subjectAltName',
  'serialNumber',
  'validFromDate',
  'validToDate',
  'keyUsage',
  'ca',
] as const;

function once<K extends object, V>(ask: (about: K) => V): (about: K) => V {
  const answers = new WeakMap<K, V>();
  return (about) => {
    const known = answers.get(about) ?? ask(about);
    answers.set(about, known);
    return known;
  };
}

export function createPrivateKey(input: Parameters<typeof parsePrivateKey>[0]): KeyObject {
  return typeof input === 'string' ? privateKeyOf(input) : parsePrivateKey(input);
}

const privateKeyOf = readOnce((pem) => parsePrivateKey(pem));

/** PrivateKeyInfo of Ed448 (RFC 8410) up to the 57 bytes that are the key. */
const ED448 = Buffer.from('3047020100300506032b6571043b0439', 'hex');
const ED448_BYTES = 57;

/** Stands for a key of P-256: of a kind whose signatures are those of the key and of what is signed alone, and all of one length. */
export function generateKeyPairSync(kind: string): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  if (kind !== 'ec') throw new Error(`Keys of the kind ${kind} are not simulated.`);
  const key = Buffer.concat([ED448, random().bytes(ED448_BYTES)]);
  const privateKey = parsePrivateKey({ key, format: 'der', type: 'pkcs8' });
  return { privateKey, publicKey: parsePublicKey(privateKey) };
}

export const randomBytes = (length: number): Buffer => random().bytes(length);

export function randomUUID(): string {
  const digits = random().bytes(16).toString('hex');
  return `${digits.slice(0, 8)}-${digits.slice(8, 12)}-4${digits.slice(13, 16)}-8${digits.slice(17, 20)}-${digits.slice(20)}`;
}

/** SubjectPublicKeyInfo of an Ed25519 key: 12 bytes, and the key. */
const SPKI_BYTES = 44;
const SPKI_HEAD = 12;

interface SimulatedKey {
  readonly simulated: Buffer;
}

export function createPublicKey(input: Parameters<typeof parsePublicKey>[0]): KeyObject | SimulatedKey {
  if (
    typeof input === 'object' &&
    'format' in input &&
    input.format === 'der' &&
    Buffer.isBuffer(input.key) &&
    input.key.length === SPKI_BYTES
  )
    return { simulated: input.key.subarray(SPKI_HEAD) };
  return parsePublicKey(input);
}

export function verify(algorithm: string | null, message: Uint8Array, key: KeyObject | SimulatedKey, signature: Buffer): boolean {
  if (key instanceof KeyObject) return verifyReal(algorithm, message, key, signature);
  return signatureOf(key.simulated, message).equals(signature);
}

/** 64 bytes, as Ed25519's. */
export function signatureOf(publicKey: Buffer, message: Uint8Array): Buffer {
  return hash('sha512', Buffer.concat([publicKey, message]), 'buffer');
}
