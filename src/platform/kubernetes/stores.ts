import type { Identity, RouterStores } from '../../agent/ports.ts';
import { ROUTER, SITE_KEY, SITE_KEY_FILE } from '../../api/skupper/cluster-names.ts';
import { isOfAnotherSite } from '../../api/skupper/other-site.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { siteIdOf } from '../../identity/site-id.ts';
import { siteKeyFrom } from '../../identity/site-key.ts';
import type { Secret } from '../../kube/objects.ts';
import { messageOf } from '../../telemetry/log.ts';
import type { PendingKeys } from '../../trust/stores.ts';
import { createKey } from '../../x509/request.ts';
import { textIn } from './secret-bundle.ts';
import type { RouterSecretBundles } from './router-secret-bundles.ts';
import type { WatchedSecrets } from './watched-secrets.ts';

export interface ClusterStoresOptions {
  readonly secrets: Pick<WatchedSecrets, 'get'>;
  readonly bundles: RouterSecretBundles;
  readonly renewalRequests: RouterStores['renewalRequests'];
  /** Returns the UID of this router's Site, once it is known. */
  readonly site: () => string | undefined;
  /** Returns the site ID from the site's controller. */
  readonly siteId?: () => string | undefined;
}

/** Creates nothing: the site's controller creates the key and the Secrets. */
export function clusterStores({ secrets, bundles, renewalRequests, site, siteId }: ClusterStoresOptions): RouterStores {
  return {
    identity: async () => identityOf(secrets.get(SITE_KEY), site(), siteId?.()),
    bundles,
    pendingKeys: pendingKeys(),
    renewalRequests,
  };
}

/** A router never changes its identity. While the key of an earlier Site still exists, it waits for the key of its own Site. */
function identityOf(secret: Secret | undefined, site: string | undefined, siteId: string | undefined): Identity | undefined {
  if (secret === undefined || isOfAnotherSite(secret, site)) return undefined;
  const identity = identityIn(secret);
  if (siteId === undefined || siteId === identity.id) return identity;
  throw new EarshotError('state-missing', `the Secret ${SITE_KEY} has the key of another site: see the status of the Site`);
}

function identityIn(secret: Secret): Identity {
  try {
    const key = siteKeyFrom(textIn(secret, SITE_KEY_FILE) ?? '');
    return { id: siteIdOf(key.publicKey), key };
  } catch (error) {
    const words = `the Secret ${SITE_KEY} is damaged: ${messageOf(error)} To create a new identity, delete it and the ConfigMap ${ROUTER}; the links of the site then need new tokens.`;
    throw new EarshotError('state-damaged', words, error);
  }
}

/** Kept in memory. After a restart there is a new key, and the certificate for the lost key is requested again. */
function pendingKeys(): PendingKeys {
  const keys = new Map<string, string>();
  return { keyFor: async (name) => keys.getOrInsertComputed(name, createKey), drop: async (name) => void keys.delete(name) };
}
