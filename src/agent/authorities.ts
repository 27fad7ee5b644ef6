/** The certificate authorities of a site: its own, the user's in `input/issuers/`, and signing Certificates. */
import { X509Certificate } from 'node:crypto';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { Site } from '../api/skupper/index.ts';
import { readAuthority, siteAuthority } from '../trust/authority.ts';
import { DirectoryBundles } from '../trust/disk/bundles.ts';
import { TrustError } from '../trust/errors.ts';
import type { Authority } from '../trust/contract.ts';
import { SITE_ISSUERS } from '../site/plan/certificates.ts';
import { nameOf } from '../site/resources.ts';
import { isResourceName, type NamespaceLayout } from '../platform/linux/layout.ts';

export interface Authorities {
  /** The site's default, or the one of that name. @throws TrustError */
  find(name: string | undefined, site: Site): Promise<Authority>;
  /** Of those in use, the one that signed a certificate. @throws TrustError */
  signerOf(certificate: Buffer, site: Site): Promise<Authority>;
  /** They are read again at the next use: files may have changed. */
  forget(): void;
}

export function createAuthorities(layout: NamespaceLayout): Authorities {
  const known = new Map<string, Promise<Authority>>();

  function open(name: string | undefined, site: Site): Promise<Authority> {
    if (name === undefined || SITE_ISSUERS.has(name))
      return siteAuthority(new DirectoryBundles(layout.internal.site), 'ca', { siteName: nameOf(site) });
    return openNamed(name);
  }

  async function openNamed(name: string): Promise<Authority> {
    if (!isResourceName(name))
      throw new TrustError('authority-missing', `${JSON.stringify(name.slice(0, 80))} cannot be the name of a certificate authority`);
    for (const folder of [layout.input.issuers, layout.internal.certs, layout.input.certs]) {
      const directory = join(folder, name);
      const isThere = await access(directory).then(
        () => true,
        () => false,
      );
      if (isThere) return readAuthority(new DirectoryBundles(folder), name);
    }
    throw new TrustError(
      'authority-missing',
      `there is no certificate authority named ${name}; put its tls.crt and tls.key into ${join(layout.input.issuers, name)}/`,
    );
  }

  async function find(name: string | undefined, site: Site): Promise<Authority> {
    const wanted = name ?? (site.spec.defaultIssuer === '' ? undefined : site.spec.defaultIssuer);
    const key = wanted ?? '';
    const opened = known.getOrInsertComputed(key, () => open(wanted, site));
    try {
      return await opened;
    } catch (error) {
      // What failed may work the next time.
      if (known.get(key) === opened) known.delete(key);
      throw error;
    }
  }

  return {
    find,
    signerOf: async (certificate, site) => {
      const peer = new X509Certificate(certificate);
      const candidates = [find(undefined, site), ...known.values()];
      for (const candidate of await Promise.allSettled(candidates)) {
        if (candidate.status === 'fulfilled' && peer.checkIssued(candidate.value.certificate)) return candidate.value;
      }
      throw new TrustError('authority-missing', `no certificate authority of this site has signed the certificate ${peer.serialNumber}`);
    },
    forget: () => known.clear(),
  };
}
