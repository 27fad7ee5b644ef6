import type { X509Certificate } from 'node:crypto';
import { DerError } from '../x509/der-reader.ts';
import { Extension, readAlternativeNames, readCertificateParts, readComment } from '../x509/parts.ts';

/** What a certificate that an authority of a site signs is good for. */
export type CertificatePurpose = 'link' | 'application' | 'api';

/** A URI among the names of a link's certificate, which any authority's tools can write. */
export const LINK_URI = 'earshot:link';

/** The same of a certificate with which routers in a cluster are asked about themselves; it is shown to nobody else. */
export const API_URI = 'earshot:api';

/** The comment in a certificate for applications: programs to which it is shown take a URI for the name of its bearer, and a comment for nothing. */
export const APPLICATION_COMMENT = 'earshot:application';

/** Undefined where no mark says it: of an authority that sets none, or from before there were marks. */
export function purposeOf(certificate: X509Certificate): CertificatePurpose | undefined {
  try {
    const { extensions } = readCertificateParts(certificate.raw);
    if (readComment(extensions.get(Extension.comment)) === APPLICATION_COMMENT) return 'application';
    const { uri } = readAlternativeNames(extensions.get(Extension.subjectAltName));
    return uri.includes(LINK_URI) ? 'link' : uri.includes(API_URI) ? 'api' : undefined;
  } catch (error) {
    // None that a site has marked.
    if (error instanceof DerError) return undefined;
    throw error;
  }
}

/** What it is for instead, where its mark says that it is not for links; without any it may be a link's. */
export function foreignToLinks(certificate: X509Certificate): Exclude<CertificatePurpose, 'link'> | undefined {
  const purpose = purposeOf(certificate);
  return purpose === 'link' ? undefined : purpose;
}
