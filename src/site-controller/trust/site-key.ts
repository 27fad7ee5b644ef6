import { SITE_KEY, SITE_KEY_FILE } from '../../api/skupper/cluster-names.ts';
import { generateSiteKey, siteKeyFrom, type SiteKey } from '../../identity/site-key.ts';
import { siteIdOf } from '../../identity/site-id.ts';
import { checkSiteId, type Anchor } from '../../trust/anchor.ts';
import { ANCHOR_LOCATION } from './router-anchor.ts';
import type { SiteSecrets } from './site-secrets.ts';

/**
 * Loads the identity of the site. Its key is created only if there has never been one. A damaged or missing key is never replaced: to all
 * other sites, a new key is a new site.
 * @throws TrustError `state-missing`
 */
export async function siteIdentity(secrets: SiteSecrets, anchor: Anchor): Promise<{ readonly id: string; readonly key: SiteKey }> {
  const where = secrets.locationOf(SITE_KEY);
  const texts = await secrets.changeState(SITE_KEY, (there) => {
    if (there !== undefined) return undefined;
    checkSiteId(anchor, undefined, where, ANCHOR_LOCATION);
    return { [SITE_KEY_FILE]: generateSiteKey().pem };
  });
  const key = siteKeyFrom(texts[SITE_KEY_FILE] ?? '');
  const id = siteIdOf(key.publicKey);
  checkSiteId(anchor, id, where, ANCHOR_LOCATION);
  return { id, key };
}
