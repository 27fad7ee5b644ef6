import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Problem, TlsBundle } from '../contract.ts';

export type BundleResult =
  | { readonly kind: 'usable'; readonly context: SecureContext }
  | { readonly kind: 'unusable'; readonly problem: Problem };

/** What a listener needs to be a TLS server: a certificate with its key; `ca` is what clients' certificates must come from. */
export function serverContext(bundle: TlsBundle): BundleResult {
  const { name, cert, key } = bundle;
  if (cert === undefined) return unusable('tls-no-cert', `The TLS bundle ${quoted(name)} has no tls.crt. Add the server's certificate.`);
  if (key === undefined) return unusable('tls-no-key', `The TLS bundle ${quoted(name)} has no tls.key. Add the certificate's private key.`);
  return contextOf(bundle);
}

/** What a connector needs to be a TLS client: any of `ca` and a certificate with its key. */
export function clientContext(bundle: TlsBundle): BundleResult {
  const { name, cert, key } = bundle;
  if (cert !== undefined && key === undefined) {
    return unusable('tls-no-key', `The TLS bundle ${quoted(name)} has tls.crt but no tls.key. Add the certificate's private key.`);
  }
  if (cert === undefined && key !== undefined) {
    return unusable('tls-no-cert', `The TLS bundle ${quoted(name)} has tls.key but no tls.crt. Add the certificate of that key.`);
  }
  return contextOf(bundle);
}

function contextOf(bundle: TlsBundle): BundleResult {
  const problem = certificateProblem(bundle) ?? authorityProblem(bundle);
  if (problem !== undefined) return { kind: 'unusable', problem };
  const { cert, key, ca } = bundle;
  try {
    const context = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
      ...(ca === undefined ? {} : { ca }),
    });
    return { kind: 'usable', context };
  } catch (error) {
    return unusable('tls-mangled', `The TLS bundle ${quoted(bundle.name)} cannot be used: ${reasonOf(error)}.`);
  }
}

function certificateProblem({ name, cert, key }: TlsBundle): Problem | undefined {
  if (cert === undefined || key === undefined) return undefined;
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch (error) {
    return { code: 'tls-mangled', message: `tls.crt of the TLS bundle ${quoted(name)} is not a certificate in PEM: ${reasonOf(error)}.` };
  }
  try {
    if (certificate.checkPrivateKey(createPrivateKey(key))) return undefined;
  } catch (error) {
    return { code: 'tls-mangled', message: `tls.key of the TLS bundle ${quoted(name)} is not a private key in PEM: ${reasonOf(error)}.` };
  }
  return {
    code: 'tls-key-mismatch',
    message: `tls.key of the TLS bundle ${quoted(name)} is not the key of the certificate in tls.crt. Put in the key that belongs to it.`,
  };
}

/** OpenSSL passes over a text that holds no certificate, and then trusts nobody. */
function authorityProblem({ name, ca }: TlsBundle): Problem | undefined {
  if (ca === undefined) return undefined;
  try {
    createPublicKey(ca);
    return undefined;
  } catch (error) {
    return { code: 'tls-mangled', message: `ca.crt of the TLS bundle ${quoted(name)} is not a certificate in PEM: ${reasonOf(error)}.` };
  }
}

const unusable = (code: Problem['code'], message: string): BundleResult => ({ kind: 'unusable', problem: { code, message } });
const quoted = (name: string): string => JSON.stringify(name);
/** OpenSSL's errors name no secret; their first line is enough. */
const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? '';
