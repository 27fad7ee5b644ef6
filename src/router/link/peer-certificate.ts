import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ShownCertificate } from '../../identity/revocation.ts';
import { sitesOf } from './tls-errors.ts';
import { printableAscii } from '../../text/printable.ts';

/** Certificate of a peer, as far as links need it. */
export interface PeerCertificate extends ShownCertificate {
  /** Serial number of the certificate itself. */
  readonly serial: string;
  /** Subject, or the serial number if the subject is empty. */
  readonly name: string;
  /** Expiry in milliseconds since 1970. */
  readonly expires: number;
  readonly der: Buffer;
}

/**
 * Owner of all resources used with a certificate: the sites that it names, or else its own name. The site that a peer claims does not count
 * if its certificate names none, since it could claim any number of sites.
 */
export function ownerOf({ sites, name }: PeerCertificate): string {
  return sites.length > 0 ? `site ${sites.toSorted().join(' ')}` : `certificate ${printableAscii(name, 300)}`;
}

/**
 * @param trusted authorities that may have signed the certificate without the peer sending them
 * @returns undefined without a certificate, as between routers of one site
 */
export function certificateOf(socket: Socket, trusted: readonly X509Certificate[] = []): PeerCertificate | undefined {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined) return undefined;
  return {
    serial: certificate.serialNumber,
    name: nameOf(certificate),
    serials: [...chainOf(certificate, trusted)].map(({ serialNumber }) => serialNumber),
    sites: sitesOf(certificate.subjectAltName ?? ''),
    expires: certificate.validToDate.getTime(),
    der: certificate.raw,
  };
}

/** The certificates sent by the peer, and all trusted ones that may have signed them. */
function chainOf(certificate: X509Certificate, trusted: readonly X509Certificate[]): ReadonlySet<X509Certificate> {
  const chain = new Set<X509Certificate>();
  for (let one: X509Certificate | undefined = certificate; one !== undefined; one = one.issuerCertificate) chain.add(one);
  // Iteration also visits certificates that are added meanwhile.
  for (const one of chain) for (const issuer of trusted) if (one.checkIssued(issuer)) chain.add(issuer);
  return chain;
}

function nameOf({ subject, serialNumber }: X509Certificate): string {
  // Node.js omits an empty name, despite its type.
  const name: string | undefined = subject;
  return name === undefined || name === '' ? serialNumber : name;
}
