import { SITE_KEY, SITE_KEY_FILE } from '../../api/skupper/cluster-names.ts';
import { generateSiteKey, siteKeyFrom, type SiteKey } from '../../identity/site-key.ts';
import { siteIdOf } from '../../identity/site-id.ts';
import type { SiteSecrets } from './site-secrets.ts';

/**
 * Who the site is. Its key is made once, where there is no Secret of that name. A damaged one is never replaced, since a new key is a new site
 * to all others.
 */
export async function siteIdentity(secrets: SiteSecrets): Promise<{ readonly id: string; readonly key: SiteKey }> {
  const texts = await secrets.changeState(SITE_KEY, (there) =>
    there === undefined ? { [SITE_KEY_FILE]: generateSiteKey().pem } : undefined,
  );
  const key = siteKeyFrom(texts[SITE_KEY_FILE] ?? '');
  return { id: siteIdOf(key.publicKey), key };
}
