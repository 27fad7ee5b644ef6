import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ShownCertificate } from '../../identity/revocation.ts';
import { sitesOf } from './tls-errors.ts';

/** What a peer has shown, as far as links need it. */
export interface PeerCertificate extends ShownCertificate {
  /** Of the certificate itself. */
  readonly serial: string;
  /** When it ends, in milliseconds since 1970. */
  readonly expires: number;
  readonly der: Buffer;
}

/** Undefined where there is none, as between routers of one site. */
export function certificateOf(socket: Socket): PeerCertificate | undefined {
  const certificate = socket instanceof TLSSocket ? socket.getPeerX509Certificate() : undefined;
  if (certificate === undefined) return undefined;
  const serials: string[] = [];
  for (let one: X509Certificate | undefined = certificate; one !== undefined; one = one.issuerCertificate) serials.push(one.serialNumber);
  return {
    serial: certificate.serialNumber,
    serials,
    sites: sitesOf(certificate.subjectAltName ?? ''),
    expires: certificate.validToDate.getTime(),
    der: certificate.raw,
  };
}
