import { createPublicKey, generateKeyPairSync, X509Certificate, type KeyObject } from 'node:crypto';
import type { Random } from '../../bench/routing/random.ts';
import type { Authority } from '../../src/trust/contract.ts';
import {
  context,
  contextBytes,
  objectIdentifier,
  octetString,
  sequence,
  set,
  Tag,
  time,
  tlv,
  unsignedInteger,
  utf8String,
  yes,
} from '../../src/x509/der-writer.ts';
import { buildRoot } from '../../src/trust/issue.ts';
import { writePem } from '../../src/x509/pem.ts';
import { algorithmFor, signed } from '../../src/x509/signature.ts';
import { COMMON_NAME, Extension, readCertificateParts, Use } from '../../src/x509/parts.ts';

/** A certificate that can be shown, PEM, with its key; `what` says how it is odd. */
export interface OddCertificate {
  readonly cert: string;
  readonly key: string;
  readonly what: string;
}

type Odd = readonly [what: string, der: Buffer];

const NOW = Date.now();
const DAY = 86_400_000;

/** An authority whose certificates are as the holder of its key wants them: a site chooses which authorities its peers are to trust. */
export function oddAuthority(): Authority {
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const der = buildRoot('an authority', key, 10, NOW);
  const ca = writePem('CERTIFICATE', der);
  return { name: 'odd', certificate: new X509Certificate(der), key, chain: '', ca };
}

/** Values that DER allows, and hostile ones instead. @param authority undefined: it signs itself */
export function oddCertificate(random: Random, authority: Authority | undefined): OddCertificate {
  const [subjectIs, subject] = choose(random, NAMES);
  const [issuerIs, issuer]: Odd = authority === undefined ? choose(random, NAMES) : ['the authority', nameOf(authority)];
  const [validityIs, validity] = choose(random, VALIDITIES);
  const [serialIs, serial] = choose(random, SERIALS);
  const extensions = EXTENSIONS.filter(() => random.below(4) > 0).map((choices) => choose(random, choices));
  const what = [`issuer ${issuerIs}`, `subject ${subjectIs}`, validityIs, serialIs, ...extensions.map(([is]) => is)].join(', ');
  const isFirstVersion = random.below(12) === 0;
  return write(
    { issuer, subject, validity, serial, what, ...(isFirstVersion ? {} : { extensions: extensions.map(([, der]) => der) }) },
    authority?.key,
  );
}

/** The certificate that a script creates with one `openssl req -x509 -subj /`: its issuer is empty. */
export function namelessCertificate(): OddCertificate {
  const [validity, serial] = [VALIDITIES[0][1], SERIALS[0][1]];
  return write({ issuer: sequence(), subject: sequence(), validity, serial, what: 'no name' });
}

interface Parts {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly validity: Buffer;
  readonly serial: Buffer;
  /** Left out: a certificate of version 1, which has none. */
  readonly extensions?: readonly Buffer[];
  readonly what: string;
}

/** RFC 5280 section 4.1. @param signer itself by default */
function write({ issuer, subject, validity, serial, extensions, what }: Parts, signer: KeyObject = KEY): OddCertificate {
  const content = sequence(
    ...(extensions === undefined ? [] : [context(0, unsignedInteger(Buffer.of(2)))]),
    serial,
    algorithmFor(signer).identifier,
    issuer,
    validity,
    subject,
    createPublicKey(KEY).export({ type: 'spki', format: 'der' }),
    ...(extensions === undefined ? [] : [context(3, sequence(...extensions))]),
  );
  return { cert: writePem('CERTIFICATE', signed(content, signer)), key: PEM, what };
}

/** Mostly the first, which is in order: what is odd in two ways is refused for one of them, and the other never seen. */
const choose = (random: Random, choices: readonly [Odd, ...Odd[]]): Odd => (random.below(3) > 0 ? choices[0] : random.pick(choices));

const KEY: KeyObject = generateKeyPairSync('ec', { namedCurve: 'prime256v1' }).privateKey;
const PEM = KEY.export({ type: 'pkcs8', format: 'pem' }).toString();

function nameOf(authority: Authority): Buffer {
  return readCertificateParts(authority.certificate.raw).subject;
}

const attribute = (value: Buffer, type = COMMON_NAME): Buffer => sequence(objectIdentifier(type), value);
const name = (...values: readonly Buffer[]): Buffer => sequence(...values.map((value) => set(attribute(value))));
const NAMES: readonly [Odd, ...Odd[]] = [
  ['ordinary', name(utf8String('peer'))],
  ['empty', sequence()],
  ['of nothing', name(utf8String(''))],
  ['with line breaks', name(utf8String('a\nb\r\nCN=c'))],
  ['with a zero', name(utf8String('a\0b'))],
  ['long', name(utf8String('x'.repeat(60_000)))],
  ['of no UTF-8', name(tlv(Tag.utf8String, Buffer.from('c080ff', 'hex')))],
  ['of half UTF-16', name(tlv(0x1e, Buffer.from('d800', 'hex')))],
  ['of an odd kind', name(tlv(Tag.octetString, Buffer.from('x')))],
  ['of several parts', sequence(set(attribute(utf8String('a')), attribute(utf8String('b'), '2.5.4.10')))],
  ['of a part that is empty', sequence(set())],
  ['of an unknown type', sequence(set(attribute(utf8String('a'), '1.2.3.4.5.6.7')))],
  ['of a hundred parts', name(...Array.from({ length: 100 }, (_, index) => utf8String(String(index))))],
  ['that turns the line round', name(utf8String('\u202egnp.exe\u2028'))],
];

const when = (tag: number, text: string): Buffer => tlv(tag, Buffer.from(text, 'latin1'));
const VALIDITIES: readonly [Odd, ...Odd[]] = [
  ['valid', sequence(time(NOW - DAY), time(NOW + DAY))],
  ['ended', sequence(time(NOW - 2 * DAY), time(NOW - DAY))],
  ['not begun', sequence(time(NOW + DAY), time(NOW + 2 * DAY))],
  ['ends before it begins', sequence(time(NOW + DAY), time(NOW - DAY))],
  ['ends with the year 9999', sequence(time(NOW - DAY), when(Tag.generalizedTime, '99991231235959Z'))],
  ['from the year 0', sequence(when(Tag.generalizedTime, '00000101000000Z'), when(Tag.generalizedTime, '00000102000000Z'))],
  ['ends at no time', sequence(time(NOW - DAY), when(Tag.utcTime, 'soon'))],
  ['begins at no time', sequence(when(Tag.utcTime, '999999999999Z'), time(NOW - DAY))],
  ['of empty times', sequence(when(Tag.utcTime, ''), when(Tag.utcTime, ''))],
];

const SERIALS: readonly [Odd, ...Odd[]] = [
  ['serial 7', unsignedInteger(Buffer.of(7))],
  ['serial 0', unsignedInteger(Buffer.of(0))],
  ['a serial below 0', tlv(Tag.integer, Buffer.of(0x80, 1))],
  ['a long serial', unsignedInteger(Buffer.alloc(200, 0x7f))],
];

const extension = (id: string, content: Buffer, ...critical: readonly Buffer[]): Buffer =>
  sequence(objectIdentifier(id), ...critical, octetString(content));
const alternative = (...names: readonly Buffer[]): Buffer => extension(Extension.subjectAltName, sequence(...names));
const host = (text: string): Buffer => contextBytes(2, Buffer.from(text, 'latin1'));
const uri = (text: string): Buffer => contextBytes(6, Buffer.from(text, 'latin1'));
const address = (...bytes: readonly number[]): Buffer => contextBytes(7, Buffer.from(bytes));
const EXTENSIONS: readonly (readonly [Odd, ...Odd[]])[] = [
  [
    ['for this host', alternative(address(127, 0, 0, 1), host('localhost'))],
    ['for another host', alternative(host('elsewhere.example'))],
    ['for no host', alternative()],
    ['names with a zero', alternative(host('localhost\0.example'), address(127, 0, 0, 1))],
    ['names with quotes', alternative(host('a", DNS:b\\'), uri('urn:uuid:"'), address(127, 0, 0, 1))],
    ['an address of three bytes', alternative(address(127, 0, 0))],
    ['a site of no id', alternative(uri(`urn:uuid:${'-'.repeat(36)}`), address(127, 0, 0, 1))],
    ['two sites', alternative(uri(`urn:uuid:${'1'.repeat(8)}-1111-8111-8111-${'1'.repeat(12)}`), uri('urn:uuid:x'), address(127, 0, 0, 1))],
    [
      'another kind of name',
      alternative(context(0, objectIdentifier('1.2.3'), context(0, utf8String('x'))), context(4, sequence()), address(127, 0, 0, 1)),
    ],
    ['thousands of names', alternative(...Array.from({ length: 3_000 }, (_, index) => host(`${index}.example`)), address(127, 0, 0, 1))],
    ['names that are none', extension(Extension.subjectAltName, Buffer.from('04016100', 'hex'))],
  ],
  [
    ['no authority', extension(Extension.basicConstraints, sequence(), yes())],
    ['an authority', extension(Extension.basicConstraints, sequence(yes()), yes())],
    ['constraints that are none', extension(Extension.basicConstraints, Buffer.of(0xff))],
  ],
  [
    ['for both uses', extension(Extension.extendedKeyUsage, sequence(objectIdentifier(Use.server), objectIdentifier(Use.client)))],
    ['for no use', extension(Extension.extendedKeyUsage, sequence())],
    ['for unknown uses', extension(Extension.extendedKeyUsage, sequence(objectIdentifier('1.2.3.4')), yes())],
  ],
  [
    ['an extension that is empty', extension('1.2.3.4.6', Buffer.alloc(0))],
    ['an extension that must be understood', extension('1.2.3.4.5', Buffer.from('x'), yes())],
    ['the same extension again', extension(Extension.basicConstraints, sequence(yes()), yes())],
    ['an invalid key identifier', extension(Extension.authorityKeyIdentifier, Buffer.of(0))],
  ],
];
