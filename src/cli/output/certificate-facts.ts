import { X509Certificate } from 'node:crypto';

/** The fields of a certificate that `debug dump` shows, or why it cannot be parsed. */
export function certificateFacts(pem: string): object {
  try {
    const { subject, issuer, validFrom, validTo, serialNumber, subjectAltName, ca } = new X509Certificate(pem);
    return { subject, issuer, validFrom, validTo, serialNumber, subjectAltName, ca };
  } catch {
    return { problem: 'it cannot be read as a certificate' };
  }
}
