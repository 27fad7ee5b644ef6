import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ShownCertificate } from '../../identity/revocation.ts';
import { sitesOf } from './tls-errors.ts';
import { printableAscii } from '../../text/printable.ts';

/** What a peer has shown, as far as links need it. */
export interface PeerCertificate extends ShownCertificate {
  /** Of the certificate itself. */
  readonly serial: string;
  /** Its subject; where that is empty, the serial number. */
  readonly name: string;
  /** When it ends, in milliseconds since 1970. */
  readonly expires: number;
  readonly der: Buffer;
}

/**
 * To whom all counts that is done with a certificate: the sites that it names, or else its own name. Never the site that a peer says it is
 * where the certificate names none: of those, anybody can make any number.
 */
export function ownerOf({ sites, name }: PeerCertificate): string {
  return sites.length > 0 ? `site ${sites.toSorted().join(' ')}` : `certificate ${printableAscii(name, 300)}`;
}

/**
 * Undefined where there is none, as between routers of one site.
 * @param trusted authorities that a certificate may come from without the peer showing them
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

/** What was shown, and all among the trusted that it may come from. */
function chainOf(certificate: X509Certificate, trusted: readonly X509Certificate[]): ReadonlySet<X509Certificate> {
  const chain = new Set<X509Certificate>();
  for (let one: X509Certificate | undefined = certificate; one !== undefined; one = one.issuerCertificate) chain.add(one);
  // What is added to a set is come to as well.
  for (const one of chain) for (const issuer of trusted) if (one.checkIssued(issuer)) chain.add(issuer);
  return chain;
}

function nameOf({ subject, serialNumber }: X509Certificate): string {
  // Node.js leaves an empty name out, whatever its types say.
  const name: string | undefined = subject;
  return name === undefined || name === '' ? serialNumber : name;
}
