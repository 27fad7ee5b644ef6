import { limitTable } from '../../limits/table.ts';
import type { Token } from './contract.ts';
import { TrustError } from '../errors.ts';
import { CertificateError } from '../../x509/errors.ts';
import { readCertificates } from '../../x509/facts.ts';
import { isRecord } from '../../text/is-record.ts';
import { quoted } from '../../text/printable.ts';
import { isResourceName } from '../../text/names.ts';
import { parseYaml } from '../../text/yaml.ts';

const API_VERSION = 'skupper.io/v2alpha1';
const KIND = 'AccessToken';
const MAX_BYTES = limitTable.tokenBytes.value;
const MOST_URLS = limitTable.tokenUrls.value;

/**
 * Setting with additional URLs, separated by spaces. It is in `spec.settings`, which every kind has, so implementations that do not know it
 * use `spec.url`.
 */
export const OTHER_URLS = 'other-urls';

/** @param where name of the source in errors @throws TrustError `token-mangled` that names the field, never the code */
export function readToken(text: string, where: string): Token {
  if (Buffer.byteLength(text) > MAX_BYTES) throw mangled(where, `it has more than ${MAX_BYTES} bytes`);
  const [document, ...more] = documentsOf(text, where);
  if (document === undefined) throw mangled(where, 'it is empty');
  if (more.length > 0) throw mangled(where, 'it contains several resources, and a token is one resource');
  const { apiVersion, kind, ...resource } = fieldsOf(document, where, 'the file');
  if (kind !== KIND) {
    const found = typeof kind === 'string' ? `a ${quoted(kind)}` : 'no resource';
    throw mangled(where, `kind must be ${KIND}, not ${found}`);
  }
  if (apiVersion !== API_VERSION) throw mangled(where, `apiVersion must be ${API_VERSION}`);
  return parseToken(resource, where);
}

function documentsOf(text: string, where: string): readonly unknown[] {
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof SyntaxError) throw mangled(where, error.message, error);
    throw error;
  }
}

/** Checks the fields of an AccessToken resource. @throws TrustError `token-mangled` */
export function parseToken(resource: { readonly metadata?: unknown; readonly spec?: unknown }, where: string): Token {
  const { name } = fieldsOf(resource.metadata, where, 'metadata');
  const { url, code, ca, linkCost, settings = {} } = fieldsOf(resource.spec, where, 'spec');
  if (typeof name !== 'string' || !isResourceName(name)) {
    throw mangled(where, 'metadata.name must be a DNS name in lower case');
  }
  if (typeof code !== 'string' || code === '' || code.length > 1_024) {
    throw mangled(where, 'spec.code must be a text of 1 to 1024 characters');
  }
  if (
    linkCost !== undefined &&
    (typeof linkCost !== 'number' || !Number.isSafeInteger(linkCost) || linkCost < 0 || linkCost > 2_147_483_647)
  ) {
    throw mangled(where, 'spec.linkCost must be a whole number, at least 0');
  }
  const others = otherUrls(fieldsOf(settings, where, 'spec.settings')[OTHER_URLS] ?? '', where);
  return {
    name,
    url: checkUrl(url, 'spec.url', where),
    ...(others.length === 0 ? {} : { otherUrls: others }),
    code,
    ca: checkCa(ca, where),
    // 0 means 1, as in Skupper's manifests.
    ...(linkCost === undefined ? {} : { linkCost: Math.max(1, linkCost) }),
  };
}

function otherUrls(text: unknown, where: string): readonly string[] {
  const field = `spec.settings.${OTHER_URLS}`;
  if (typeof text !== 'string') throw mangled(where, `${field} must be a text`);
  const urls = text.split(/\s+/).filter((url) => url !== '');
  if (urls.length > MOST_URLS) throw mangled(where, `${field} has more than ${MOST_URLS} URLs`);
  return urls.map((url) => checkUrl(url, field, where));
}

function checkUrl(url: unknown, field: string, where: string): string {
  if (typeof url !== 'string' || url.length > 2_048 || !URL.canParse(url)) throw mangled(where, `${field} must be a URL`);
  const { protocol, username, password, pathname } = new URL(url);
  if (protocol !== 'https:') throw mangled(where, `${field} must begin with "https://"`);
  if (username !== '' || password !== '') throw mangled(where, `${field} must not contain a user name or password`);
  if (pathname === '/') throw mangled(where, `${field} must end with the path of a grant`);
  try {
    decodeURIComponent(pathname);
  } catch (error) {
    throw mangled(where, 'the path of spec.url contains an invalid "%"', error);
  }
  return url;
}

function checkCa(ca: unknown, where: string): string {
  if (typeof ca !== 'string') throw mangled(where, 'spec.ca must be a certificate (PEM)');
  try {
    readCertificates(ca, 'spec.ca');
    return ca;
  } catch (error) {
    if (error instanceof CertificateError) throw mangled(where, error.message, error);
    throw error;
  }
}

function fieldsOf(value: unknown, where: string, what: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw mangled(where, `${what} must contain fields`);
  return value;
}

function mangled(where: string, why: string, cause?: unknown): TrustError {
  return new TrustError(
    'token-mangled',
    `${where} is not a valid token: ${why}. Copy the complete token again, or ask for a new one`,
    cause,
  );
}
