/** Keys and certificates of all worlds of a process, made once. Loaded after the surroundings are replaced. */
import { createHash } from 'node:crypto';
import { siteIdOf } from '../../src/identity/site-id.ts';
import type { SiteKey } from '../../src/identity/site-key.ts';
import type { IssuedBundle } from '../../src/identity/tls-bundle.ts';
import { authorityOf } from '../../src/trust/authority.ts';
import { buildRoot, issueBundle } from '../../src/trust/issue.ts';
import { writePem } from '../../src/x509/pem.ts';
import { createPrivateKey } from 'node:crypto';
import { EPOCH, outsideOf } from './current.ts';
import { signatureOf } from './node/crypto.ts';

export interface TestSite {
  readonly id: string;
  readonly key: SiteKey;
}

/** A bundle, and what revokes it. */
export type TestBundle = IssuedBundle & { readonly serial: string };

const DAY = 86_400_000;

/** The subject by which routers of one site verify each other. */
const SIBLINGS = 'skupper-router-local';

export const hostOf = (index: number): string => `10.0.0.${index + 1}`;

/** PrivateKeyInfo of Ed25519 (RFC 8410) up to the 32 bytes that are the key. */
const ED25519 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Under the name by which a site keeps its own. What it signs, its key and what is signed decide alone. */
function root(subject: string): IssuedBundle {
  const seed = createHash('sha256').update(subject).digest();
  const privateKey = createPrivateKey({ key: Buffer.concat([ED25519, seed]), format: 'der', type: 'pkcs8' });
  const cert = writePem(
    'CERTIFICATE',
    outsideOf(subject, () => buildRoot(subject, privateKey, 365, EPOCH - DAY)),
  );
  return { name: 'ca', cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), ca: cert };
}

/** The authority of all certificates; and an untrusted one. */
export const authorityBundle = root('simulated');
export const otherAuthority = root('another');

const authority = authorityOf(authorityBundle, 'simulated', () => EPOCH);

const sites: TestSite[] = [];
const bundles = new Map<string, TestBundle>();

/** A site's key signs by a hash, as `verify` of the stand-in expects. */
export function testSite(index: number): TestSite {
  const known = sites[index];
  if (known !== undefined) return known;
  const publicKey = createHash('sha256').update(`site ${index}`).digest();
  const created = { id: siteIdOf(publicKey), key: { publicKey, sign: (message: Uint8Array) => signatureOf(publicKey, message) } };
  sites[index] = created;
  return created;
}

/**
 * @param seconds from the world's begin until it ends; left out, it lasts
 * @param site whose router it is, where the site has two
 */
export function testBundle(index: number, generation: number, seconds?: number, site = index): TestBundle {
  const name = `site-${index}-${generation}-${seconds ?? 'lasts'}${site === index ? '' : `-of-${site}`}`;
  const known = bundles.get(name);
  if (known !== undefined) return known;
  const order = { subject: name, hosts: [hostOf(index), SIBLINGS], siteId: testSite(site).id, client: true, server: true };
  const days = seconds === undefined ? 90 : (seconds * 1_000) / DAY;
  // A day old, for those whose clocks are behind.
  const created = outsideOf(name, () => issueBundle(authority, name, { ...order, days: days + 1 }, () => EPOCH - DAY));
  bundles.set(name, created);
  return created;
}

/**
 * As another site gives one for a link.
 * @param lifetime seconds for which it is issued. @param ends seconds from the world's begin until it ends
 */
export function linkBundle(name: string, index: number, site: number, lifetime: number, ends: number): TestBundle {
  const order = { subject: `site-${index}`, hosts: [hostOf(index)], siteId: testSite(site).id, client: true, purpose: 'link' } as const;
  return issueBundle(authority, name, { ...order, days: (lifetime * 1_000) / DAY }, () => EPOCH + (ends - lifetime) * 1_000);
}
