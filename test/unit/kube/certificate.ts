import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface Certificate {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
}

/** A certificate for 127.0.0.1 that is its own authority. Made anew each time, so that no key lies in the repository. */
export function selfSigned(): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(set(sequence(oid(COMMON_NAME), tagged(0x0c, Buffer.from('test')))));
  const tbs = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    sequence(oid(ECDSA_WITH_SHA256)),
    name,
    sequence(utcTime('200101000000Z'), utcTime('491231235959Z')),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(subjectAltName(Buffer.from([127, 0, 0, 1])), authority())),
  );
  const signature = sign('sha256', tbs, privateKey);
  const der = sequence(tbs, sequence(oid(ECDSA_WITH_SHA256)), bitString(signature));
  const lines = der.toString('base64').replace(/.{1,64}/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** The contents of object identifiers (X.690, section 8.19). */
const COMMON_NAME = '550403';
const ECDSA_WITH_SHA256 = '2a8648ce3d040302';
const SUBJECT_ALT_NAME = '551d11';
const BASIC_CONSTRAINTS = '551d13';

function subjectAltName(address: Buffer): Buffer {
  return sequence(oid(SUBJECT_ALT_NAME), tagged(0x04, sequence(tagged(0x87, address))));
}

function authority(): Buffer {
  const yes = tagged(0x01, Buffer.from([0xff]));
  return sequence(oid(BASIC_CONSTRAINTS), yes, tagged(0x04, sequence(yes)));
}

function tagged(tag: number, content: Buffer): Buffer {
  const size = content.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, Buffer.concat(parts));
const set = (...parts: readonly Buffer[]): Buffer => tagged(0x31, Buffer.concat(parts));
const integer = (content: Buffer): Buffer => tagged(0x02, content);
const oid = (content: string): Buffer => tagged(0x06, Buffer.from(content, 'hex'));
const utcTime = (text: string): Buffer => tagged(0x17, Buffer.from(text));
const bitString = (content: Buffer): Buffer => tagged(0x03, Buffer.concat([Buffer.from([0]), content]));
