import type { X509Certificate } from 'node:crypto';
import { DerError } from '../x509/der-reader.ts';
import { Extension, readAlternativeNames, readCertificateParts, readComment } from '../x509/parts.ts';

/** Purposes of certificates that an authority of a site signs. */
export const certificatePurposes = ['link', 'application', 'api', 'api-control'] as const;
export type CertificatePurpose = (typeof certificatePurposes)[number];

/** URI among the subject alternative names of a link's certificate. Tools of any CA can write it. */
export const LINK_URI = 'earshot:link';

/** URI in a certificate for clients of the router API in a cluster. It is presented to routers only. */
export const API_URI = 'earshot:api';

/** URI beside it, in a certificate whose holder may also end connections. Older routers see only the other one. */
export const API_CONTROL_URI = 'earshot:api-control';

/** Comment in a certificate for applications. Peers take a URI for the name of the subject, but ignore a comment. */
export const APPLICATION_COMMENT = 'earshot:application';

/** Undefined if the certificate has no mark, because its CA sets none or because it predates marks. */
export function purposeOf(certificate: X509Certificate): CertificatePurpose | undefined {
  try {
    const { extensions } = readCertificateParts(certificate.raw);
    if (readComment(extensions.get(Extension.comment)) === APPLICATION_COMMENT) return 'application';
    const { uri } = readAlternativeNames(extensions.get(Extension.subjectAltName));
    if (uri.includes(LINK_URI)) return 'link';
    if (!uri.includes(API_URI)) return undefined;
    return uri.includes(API_CONTROL_URI) ? 'api-control' : 'api';
  } catch (error) {
    // Sites mark only well-formed certificates.
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** Returns the purpose of a certificate whose mark excludes links. An unmarked certificate may be a link's. */
export function foreignToLinks(certificate: X509Certificate): Exclude<CertificatePurpose, 'link'> | undefined {
  const purpose = purposeOf(certificate);
  return purpose === 'link' ? undefined : purpose;
}

/** Whether a certificate of the purpose is for clients of the router API. */
export function isApiPurpose(purpose: string | undefined): purpose is 'api' | 'api-control' {
  return purpose === 'api' || purpose === 'api-control';
}
