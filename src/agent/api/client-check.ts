/**
 * Authorization of clients of the router API in a cluster (pure). TLS has already checked that the site's local CA issued the certificate
 * and that it is in date.
 */
import type { X509Certificate } from 'node:crypto';
import { isApiPurpose, purposeOf, type CertificatePurpose } from '../../identity/certificate-purpose.ts';
import type { Revocations } from '../../identity/issued.ts';
import { revokedOf, revokedSets } from '../../identity/revocation.ts';
import { weaknessOf } from '../../x509/parts.ts';
import { failure, type ApiAnswer } from './router-api.ts';

/** Returns the response for a client without permission; undefined if the client is permitted. Only `api-control` may end connections. */
export function refusalOfClient(certificate: X509Certificate | undefined, method: string, revoked: Revocations): ApiAnswer | undefined {
  if (certificate === undefined) return refusal('tls-no-cert', 'the client presented no certificate');
  const purpose = purposeOf(certificate);
  if (!isApiPurpose(purpose)) return refusal('tls-wrong-purpose', `this certificate ${OTHERWISE[purpose ?? 'none']}`);
  if (method === 'DELETE' && purpose !== 'api-control')
    return refusal('tls-wrong-purpose', 'this certificate may not end connections', 'api-control');
  const weakness = weaknessOf(certificate.publicKey);
  if (weakness !== undefined) return refusal('tls-weak', `this certificate has ${weakness}`);
  const shown = { serials: [certificate.serialNumber], sites: [] };
  if (revokedOf({ certificate: shown }, revokedSets(revoked)) !== undefined) return refusal('revoked', 'this certificate is revoked');
  return undefined;
}

const OTHERWISE: Readonly<Record<Exclude<CertificatePurpose, 'api' | 'api-control'> | 'none', string>> = {
  link: 'is for links, and for routers',
  application: 'is for applications',
  none: 'names no purpose',
};

function refusal(code: Parameters<typeof failure>[1], message: string, purpose: CertificatePurpose = 'api'): ApiAnswer {
  return failure(403, code, message, `Present the certificate of a Certificate with settings.purpose: ${purpose}.`);
}
