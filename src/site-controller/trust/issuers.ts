import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { TlsBundle } from '../../identity/tls-bundle.ts';
import { authorityOf } from '../../trust/authority.ts';
import type { Authority, Clock } from '../../trust/contract.ts';
import { TrustError } from '../../trust/errors.ts';
import { buildRoot, renewRoot } from '../../trust/issue.ts';
import type { Bundles } from '../../trust/stores.ts';
import { isResourceName } from '../../text/names.ts';
import { printable } from '../../text/printable.ts';
import { writePem } from '../../x509/pem.ts';
import { createKey } from '../../x509/request.ts';

/** CAs of a namespace: those of signing Certificates, and those of users. Each version is opened once. */
export class Issuers {
  readonly #bundles: Bundles;
  readonly #clock: Clock;
  readonly #opened = new WeakMap<TlsBundle, Authority>();

  readonly #refuse: (authority: Authority) => void;

  /** @param refuse throws for a CA that must not sign */
  constructor(bundles: Bundles, clock: Clock, refuse: (authority: Authority) => void = () => {}) {
    this.#bundles = bundles;
    this.#clock = clock;
    this.#refuse = refuse;
  }

  /** @throws TrustError */
  async find(name: string): Promise<Authority> {
    const bundle = isResourceName(name) ? await this.#bundles.get(name) : undefined;
    if (bundle?.cert === undefined && bundle?.key === undefined) throw this.#missing(name);
    const opened = this.#opened.get(bundle) ?? authorityOf(bundle, name, this.#clock);
    this.#opened.set(bundle, opened);
    this.#refuse(opened);
    return opened;
  }

  /**
   * Finds the CA among the named ones that signed a certificate.
   * @param between called before each of them, since there may be many
   * @throws TrustError
   */
  async signerOf(certificate: X509Certificate, names: Iterable<string>, between: () => Promise<void> = async () => {}): Promise<Authority> {
    for (const name of names) {
      await between();
      const authority = await this.find(name).catch((error: unknown) => {
        if (error instanceof TrustError) return undefined;
        throw error;
      });
      // The names alone prove nothing: any CA could bear them.
      const isSigned = (by: X509Certificate): boolean => certificate.checkIssued(by) && certificate.verify(by.publicKey);
      if (authority !== undefined && isSigned(authority.certificate)) return authority;
    }
    throw new TrustError(
      'authority-missing',
      `the certificate ${certificate.serialNumber} is not signed by a certificate authority of this site`,
    );
  }

  #missing(name: string): TrustError {
    const shown = isResourceName(name) ? this.#bundles.locationOf(name).replace(/^Secret /, '') : printable(name, 100);
    // Begins like the message of Skupper's controller, so that a search finds it.
    return new TrustError('authority-missing', `CA "${shown}" not found: create a Secret of that name with tls.crt and tls.key`);
  }
}

/** Creates a self-signed CA. */
export function makeRoot(name: string, subject: string, days: number, now: number): TlsBundle {
  const key = createKey();
  return rootBundle(name, key, buildRoot(subject, createPrivateKey(key), days, now));
}

/** @param bundle of a self-signed CA */
export function renewedRoot({ name, cert = '', key = '' }: TlsBundle, days: number, now: number): TlsBundle {
  return rootBundle(name, key, renewRoot(new X509Certificate(cert), createPrivateKey(key), days, now));
}

function rootBundle(name: string, key: string, der: Buffer): TlsBundle {
  const cert = writePem('CERTIFICATE', der);
  return { name, key, cert, ca: cert };
}
