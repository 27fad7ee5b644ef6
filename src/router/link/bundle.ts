import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { TlsBundle } from '../contract.ts';
import { LinkError } from './link-errors.ts';
import { weaknessOf } from './tls-errors.ts';

/** Texts of a bundle that were looked at and can be used on a link. */
export interface LinkBundle {
  readonly name: string;
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  readonly context: SecureContext;
}

/**
 * Makes a bundle ready for links, which need all of its three parts: each side shows a certificate, and looks at the other's.
 * @throws LinkError that names the bundle, its file, and the remedy
 */
export function openBundle(bundle: TlsBundle, now: number): LinkBundle {
  const where = `The TLS bundle ${bundle.name}`;
  const cert = present(bundle.cert, 'tls-no-cert', `${where} lacks tls.crt, the certificate that this side shows. Add it.`);
  const key = present(bundle.key, 'tls-no-key', `${where} lacks tls.key, the key of its certificate. Add it.`);
  const ca = present(
    bundle.ca,
    'tls-no-ca',
    `${where} lacks ca.crt, the authority that the other side's certificate must come from. Add it.`,
  );
  const certificate = parseCertificate(cert, 'tls-mangled', `tls.crt of the TLS bundle ${bundle.name}`);
  parseCertificate(ca, 'tls-mangled', `ca.crt of the TLS bundle ${bundle.name}`);
  checkKey(certificate, key, where);
  checkDates(certificate, where, now);
  const weakness = weaknessOf(certificate);
  if (weakness !== undefined) throw new LinkError('tls-weak', `${where} holds a certificate with ${weakness}. Issue a new one.`);
  try {
    return { name: bundle.name, cert, key, ca, context: createSecureContext({ cert, key, ca, minVersion: 'TLSv1.3' }) };
  } catch (error) {
    throw new LinkError('tls-mangled', `${where} cannot be used: ${error instanceof Error ? error.message : String(error)}.`, error);
  }
}

/** Days until a bundle's certificate ends; undefined where it cannot be read. */
export function daysLeft(bundle: TlsBundle, now: number): number | undefined {
  if (bundle.cert === undefined) return undefined;
  try {
    return (new X509Certificate(bundle.cert).validToDate.getTime() - now) / 86_400_000;
  } catch {
    return undefined;
  }
}

function present(text: string | undefined, code: 'tls-no-cert' | 'tls-no-key' | 'tls-no-ca', message: string): string {
  if (text === undefined || text.trim() === '') throw new LinkError(code, message);
  return text;
}

function parseCertificate(pem: string, code: 'tls-mangled' | 'tls-mangled', what: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new LinkError(code, `${what} is no PEM certificate. Write it anew.`, error);
  }
}

function checkKey(certificate: X509Certificate, pem: string, where: string): void {
  let matches: boolean;
  try {
    matches = certificate.checkPrivateKey(createPrivateKey(pem));
  } catch (error) {
    throw new LinkError('tls-no-key', `${where} holds a tls.key that is no PEM private key. Write it anew.`, error);
  }
  if (!matches) {
    throw new LinkError(
      'tls-key-mismatch',
      `${where} holds a tls.key that is not the key of its tls.crt. Put the two that belong together.`,
    );
  }
}

function checkDates(certificate: X509Certificate, where: string, now: number): void {
  const clock = new Date(now).toISOString();
  if (certificate.validToDate.getTime() < now) {
    throw new LinkError(
      'tls-expired',
      `${where} holds a certificate that ended at ${certificate.validToDate.toISOString()}; the clock here says ${clock}. ` +
        `Renew it, or set the clock.`,
    );
  }
  if (certificate.validFromDate.getTime() > now) {
    throw new LinkError(
      'tls-not-yet-valid',
      `${where} holds a certificate that begins at ${certificate.validFromDate.toISOString()}, ` +
        `by the clock of whoever issued it; the clock here says ${clock}. Set the clock that is wrong.`,
    );
  }
}
