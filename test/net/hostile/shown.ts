import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { Random } from '../../../bench/routing/random.ts';
import type { Authority } from '../../../src/trust/contract.ts';
import { issueBundle } from '../../../src/trust/issue.ts';
import { writePem } from '../../../src/x509/pem.ts';
import { mutate } from '../../fuzz/mutate.ts';
import { oddCertificate } from '../../fuzz/odd-certificates.ts';

/** Credentials of an attacker: a link's certificate and key, the site's authority, and its key, if the attacker has that as well. */
export class Keyring {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  readonly #der: Buffer;
  readonly #authority: Authority | undefined;

  /** @param directory with tls.crt, tls.key, ca.crt and, for what only its authority could sign, ca.key */
  constructor(directory: string) {
    const read = (name: string): string => readFileSync(`${directory}/${name}`, 'utf8');
    this.cert = read('tls.crt');
    this.key = read('tls.key');
    this.ca = read('ca.crt');
    this.#der = new X509Certificate(this.cert).raw;
    if (existsSync(`${directory}/ca.key`)) {
      const certificate = new X509Certificate(this.ca);
      this.#authority = { name: 'site', certificate, key: createPrivateKey(read('ca.key')), chain: '', ca: this.ca };
    }
  }

  /** One in order, for a server of this address. Only who has the authority's key can make it. */
  server(host: string): { readonly cert: string; readonly key: string } {
    if (this.#authority === undefined) throw new TypeError('the key of the authority is missing: ca.key');
    const { cert = '', key = '' } = issueBundle(this.#authority, 'answers', {
      subject: 'answers',
      hosts: [host],
      server: true,
      client: true,
    });
    return { cert, key };
  }

  /** An unusual certificate: changed in its bytes, or written oddly and signed by itself or by the authority. */
  odd(random: Random): { readonly cert: string; readonly key: string } {
    switch (random.below(4)) {
      case 0:
      case 1:
        return { cert: writePem('CERTIFICATE', mutate(random, this.#der)), key: this.key };
      case 2:
        return oddCertificate(random, this.#authority);
      default:
        return oddCertificate(random, undefined);
    }
  }
}
