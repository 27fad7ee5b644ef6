import { basename, dirname } from 'node:path';
import { siteAuthority, type SiteAuthorityOptions } from '../../../../src/trust/authority.ts';
import { DirectoryBundles } from '../../../../src/trust/disk/bundles.ts';
import type { Disk } from '../../../../src/files/disk.ts';
import { generateKeyPairSync, sign, X509Certificate, createPrivateKey } from 'node:crypto';
import type { SiteKey } from '../../../../src/identity/site-key.ts';
import type { Authority, Clock } from '../../../../src/trust/contract.ts';
import { buildRoot } from '../../../../src/trust/issue.ts';
import { writePem } from '../../../../src/x509/pem.ts';
import { createKey } from '../../../../src/x509/request.ts';
import { siteIdOf } from '../../../../src/identity/site-id.ts';

export const DAY = 86_400_000;

/** An authority without files. */
export function makeAuthority(
  options: { readonly name?: string; readonly days?: number; readonly clock?: Clock; readonly key?: string } = {},
): Authority {
  const name = options.name ?? 'west';
  const key = createPrivateKey(options.key ?? createKey());
  const der = buildRoot(`earshot site ${name}`, key, options.days ?? 3_650, (options.clock ?? Date.now)());
  return { name, certificate: new X509Certificate(der), key, chain: '', ca: writePem('CERTIFICATE', der) };
}

export interface TestSite {
  readonly siteName: string;
  readonly siteId: string;
  readonly siteKey: SiteKey;
}

/** A site with a key of its own. */
export function makeSite(siteName = 'east'): TestSite {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  return { siteName, siteId: siteIdOf(raw), siteKey: { publicKey: raw, sign: (message) => sign(null, message, privateKey) } };
}

/** The site's own authority in that directory. */
export const openSiteAuthority = (directory: string, options: SiteAuthorityOptions, disk?: Disk): Promise<Authority> =>
  siteAuthority(new DirectoryBundles(dirname(directory), disk), basename(directory), options);

/** A clock that is moved by hand. */
export function makeClock(start = Date.UTC(2027, 0, 1)): Clock & { advance(milliseconds: number): void } {
  let now = start;
  return Object.assign(() => now, {
    advance: (milliseconds: number) => {
      now += milliseconds;
    },
  });
}
