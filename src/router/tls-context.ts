import { constants, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureVersion } from 'node:tls';
import { checkBundle, type Purpose, type TlsCode } from '../identity/bundle-check.ts';
import type { TlsBundle } from '../identity/tls-bundle.ts';

export type ContextResult =
  | { readonly kind: 'usable'; readonly context: SecureContext }
  | { readonly kind: 'unusable'; readonly problem: { readonly code: TlsCode; readonly message: string } };

/**
 * Creates what `node:tls` needs of a bundle, or describes the first fault of the bundle for this purpose. Renegotiation is disabled: before
 * TLS 1.3 a peer may start handshakes without limit, and each verifies its certificates again.
 */
export function secureContextOf(bundle: TlsBundle, purpose: Purpose, minVersion: SecureVersion): ContextResult {
  const check = checkBundle(bundle, purpose);
  if (!check.ok) {
    const [{ code, message }] = check.problems;
    return unusable(code, `The TLS ${message}.`);
  }
  const { name, cert, key, ca } = bundle;
  try {
    const context = createSecureContext({ minVersion, cert, key, ca, secureOptions: constants.SSL_OP_NO_RENEGOTIATION });
    return { kind: 'usable', context };
  } catch (error) {
    // Messages of OpenSSL contain no secrets; the first line is enough.
    const [why = ''] = (error instanceof Error ? error.message : String(error)).split('\n', 1);
    return unusable('tls-mangled', `The TLS bundle ${name} cannot be used: ${why}.`);
  }
}

const unusable = (code: TlsCode, message: string): ContextResult => ({ kind: 'unusable', problem: { code, message } });

/** Days until a bundle's certificate expires; undefined if it cannot be read. */
export function daysLeft(bundle: TlsBundle, now: number): number | undefined {
  if (bundle.cert === undefined) return undefined;
  try {
    return (new X509Certificate(bundle.cert).validToDate.getTime() - now) / 86_400_000;
  } catch {
    return undefined;
  }
}
