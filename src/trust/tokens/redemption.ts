import { verifySignature, type SiteKey } from '../../identity/site-key.ts';
import type { LinkOffer, OfferedEndpoint } from './contract.ts';
import { TrustError } from '../errors.ts';
import { siteIdOf } from '../../identity/site-id.ts';
import { isRecord } from '../../text/is-record.ts';
import { isHost, isSiteName, isUuid } from '../../text/names.ts';
import { limitTable } from '../../limits/table.ts';

/** Path prefix, followed by the grant's name. */
export const REDEEM_PATH = '/v1/redeem/';

/** JSON body of `POST /v1/redeem/GRANT`. */
export interface RedemptionRequest {
  readonly code: string;
  readonly siteName: string;
  readonly siteId: string;
  /** Ed25519 public key, 32 bytes. */
  readonly sitePublicKey: Buffer;
  /** Signature over `redemptionProof`, 64 bytes. */
  readonly signature: Buffer;
  /** PKCS #10 PEM. */
  readonly csr: string;
}

export interface RedemptionAnswer extends LinkOffer {
  readonly cert: string;
  readonly ca: string;
}

/** JSON body of a refusal. `code` is a `TrustCode`. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/**
 * Text that the site's Ed25519 key signs: the site, its request and the grant. No field can contain a zero byte, so different requests have
 * different texts.
 */
export function redemptionProof(grant: string, { siteId, siteName, csr }: Pick<RedemptionRequest, 'siteId' | 'siteName' | 'csr'>): Buffer {
  return Buffer.from(['earshot-redeem/1', grant, siteId, siteName, csr].join('\0'), 'utf8');
}

export function encodeRedemption(
  grant: string,
  requested: { code: string; siteId: string; siteName: string; csr: string },
  key: SiteKey,
): string {
  return JSON.stringify({
    ...requested,
    sitePublicKey: key.publicKey.toString('base64'),
    signature: key.sign(redemptionProof(grant, requested)).toString('base64'),
  });
}

/** @throws TrustError `request-malformed` that names the field, never its value */
export function decodeRedemption(body: Uint8Array): RedemptionRequest {
  const fields = objectOf(Buffer.from(body).toString('utf8'));
  const request = {
    code: textOf(fields, 'code', 1_024),
    siteName: textOf(fields, 'siteName', 64),
    siteId: textOf(fields, 'siteId', 36),
    sitePublicKey: bytesOf(fields, 'sitePublicKey', 32),
    signature: bytesOf(fields, 'signature', 64),
    csr: textOf(fields, 'csr', 8_192),
  };
  if (!isSiteName(request.siteName)) throw malformed('siteName must be a DNS name in lower case of at most 64 characters');
  if (!isUuid(request.siteId)) throw malformed('siteId must be a UUID in lower case');
  if (request.csr.includes('\0')) throw malformed('csr must be PEM');
  return request;
}

/** Checks that the site has the key from which its ID is derived. @throws TrustError `request-malformed` */
export function checkProof(grant: string, request: RedemptionRequest): void {
  if (siteIdOf(request.sitePublicKey) !== request.siteId) throw malformed('siteId does not match sitePublicKey');
  if (!verifySignature(request.sitePublicKey, redemptionProof(grant, request), request.signature)) {
    throw malformed('signature is not valid for sitePublicKey and this request');
  }
}

type Fields = Readonly<Record<string, unknown>>;

function objectOf(text: string): Fields {
  const value = parseJson(text);
  if (!isRecord(value)) throw malformed('the body must be a JSON object');
  return value;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textOf(fields: Fields, name: string, most: number): string {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (typeof value !== 'string' || value === '' || value.length > most) {
    throw malformed(`${name} must be a text of 1 to ${most} characters`);
  }
  return value;
}

function bytesOf(fields: Fields, name: string, length: number): Buffer {
  const text = textOf(fields, name, length * 2);
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length !== length || bytes.toString('base64') !== text) throw malformed(`${name} must be ${length} bytes in base64`);
  return bytes;
}

const malformed = (why: string): TrustError => new TrustError('request-malformed', `the redemption is malformed: ${why}`);

const MAX_ENDPOINTS = limitTable.announcedEndpoints.value;

/** @throws TrustError `server-failed` that names the field */
export function decodeAnswer(text: string): RedemptionAnswer {
  const failed = (why: string): TrustError =>
    new TrustError(
      'server-failed',
      `the grant server's answer is malformed: ${why}. Check that it is an Earshot site of a compatible version`,
    );
  const value = parseJson(text);
  if (!isRecord(value)) throw failed('it must be a JSON object');
  const string = (name: string): string => {
    const field = value[name];
    if (typeof field !== 'string' || field === '' || field.length > 65_536) throw failed(`${name} must be a text`);
    return field;
  };
  const list = value['endpoints'];
  if (!Array.isArray(list) || list.length === 0 || list.length > MAX_ENDPOINTS) {
    throw failed(`endpoints must be a list of 1 to ${MAX_ENDPOINTS}`);
  }
  const siteId = string('siteId');
  const siteName = string('siteName');
  if (!isUuid(siteId)) throw failed('siteId must be a UUID in lower case');
  if (siteName.length > 253 || !/^[\x21-\x7e]+$/.test(siteName)) throw failed('siteName must be a name');
  return { cert: string('cert'), ca: string('ca'), siteId, siteName, endpoints: list.map((one: unknown) => endpointOf(one, failed)) };
}

function endpointOf(value: unknown, failed: (why: string) => TrustError): OfferedEndpoint {
  const { name, host, port, group } = isRecord(value) ? value : ({} as Fields);
  if (typeof name !== 'string' || !/^[a-z][-a-z]{0,30}$/.test(name)) throw failed('an endpoint has no name');
  if (typeof host !== 'string' || !isHost(host) || host.includes('%')) throw failed(`endpoint ${name} has no host`);
  if (typeof port !== 'string' || !/^[1-9]\d{0,4}$/.test(port) || Number(port) > 65_535) throw failed(`endpoint ${name} has no port`);
  if (group !== undefined && (typeof group !== 'string' || !/^[-a-zA-Z0-9_.]{1,253}$/.test(group))) {
    throw failed(`endpoint ${name} has an invalid group`);
  }
  return { name, host, port, ...(group === undefined ? {} : { group }) };
}
