import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, verify, type KeyObject } from 'node:crypto';
import { context, objectIdentifier, sequence, set, unsignedInteger, utf8String } from './der-writer.ts';
import { CertificateError } from './errors.ts';
import { readPem, writePem } from './pem.ts';
import { signatureHashes, signed } from './signature.ts';
import { COMMON_NAME, commonNameOf, publicKeyOf, readRequestParts, weaknessOf, type RequestParts } from './parts.ts';
import { isOneLine, quoted } from '../text/printable.ts';

/** Creates an ECDSA P-256 key, PKCS #8 PEM. */
export function createKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Whether the text is a private key that can sign. */
export function isKey(pem: string): boolean {
  try {
    createRequest(pem, 'try');
    return true;
  } catch {
    return false;
  }
}

/** Creates a certificate signing request (PKCS #10, RFC 2986), PEM. It requests no extensions, since the authority decides them. */
export function createRequest(key: string, subject: string): string {
  const privateKey = createPrivateKey(key);
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const content = sequence(unsignedInteger(Buffer.from([0])), subjectName(subject), publicKey, context(0));
  return writePem('CERTIFICATE REQUEST', signed(content, privateKey));
}

/** Encodes a name with one common name, DER. */
export function subjectName(commonName: string): Buffer {
  if (commonName === '' || commonName.length > 64 || !isOneLine(commonName)) {
    throw new CertificateError(
      'bad-argument',
      `subject ${quoted(commonName)} must have 1 to 64 characters, none of them a control character`,
    );
  }
  return sequence(set(sequence(objectIdentifier(COMMON_NAME), utf8String(commonName))));
}

/** Request whose sender has proved possession of the key. */
export interface CheckedRequest {
  readonly publicKey: KeyObject;
  readonly commonName?: string;
}

/** More than twice the length of a request with an RSA key of 8192 bits. */
const MAX_CHARACTERS = 8_192;

/** @throws CertificateError `request-malformed` or `tls-weak` */
export function checkRequest(pem: string): CheckedRequest {
  const parts = parse(pem);
  const publicKey = keyOf(parts.publicKey);
  const weakness = weaknessOf(publicKey);
  if (weakness !== undefined) throw new CertificateError('tls-weak', `the certificate request has ${weakness}`);
  if (!isSignedBy(parts, publicKey)) {
    throw new CertificateError('request-malformed', 'the certificate request is not signed by its own key; create a new one');
  }
  const commonName = readName(parts.subject);
  return { publicKey, ...(commonName === undefined ? {} : { commonName }) };
}

function isSignedBy(parts: RequestParts, publicKey: KeyObject): boolean {
  const hash = signatureHashes.get(parts.signatureAlgorithm);
  if (hash === undefined) {
    throw new CertificateError(
      'tls-weak',
      `the certificate request is signed by the algorithm ${parts.signatureAlgorithm}, which is not accepted (use SHA-256 or better)`,
    );
  }
  try {
    return verify(hash, parts.signed, publicKey, parts.signature);
  } catch {
    // The algorithm does not fit the type of the key.
    return false;
  }
}

function parse(pem: string): RequestParts {
  if (pem.length > MAX_CHARACTERS) throw malformed(`it is longer than ${MAX_CHARACTERS} characters`);
  try {
    const block = readPem(pem).find(({ label }) => label === 'CERTIFICATE REQUEST' || label === 'NEW CERTIFICATE REQUEST');
    if (block === undefined) throw malformed('it has no line "-----BEGIN CERTIFICATE REQUEST-----"');
    return readRequestParts(block.der);
  } catch (error) {
    throw error instanceof CertificateError ? error : malformed(error instanceof Error ? error.message : String(error), error);
  }
}

function keyOf(spki: Buffer): KeyObject {
  try {
    return publicKeyOf(spki);
  } catch (error) {
    throw malformed('its public key cannot be read', error);
  }
}

function readName(subject: Buffer): string | undefined {
  try {
    return commonNameOf(subject);
  } catch (error) {
    throw malformed('its subject cannot be read', error);
  }
}

const malformed = (why: string, cause?: unknown): CertificateError =>
  new CertificateError('request-malformed', `the certificate request is malformed: ${why}`, cause);

/** SHA-256 of the SubjectPublicKeyInfo, hex. Identifies a key. */
export const keyHashOf = (publicKey: KeyObject): string =>
  createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest('hex');
