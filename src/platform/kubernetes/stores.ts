import type { Identity, RouterStores } from '../../agent/ports.ts';
import { SITE_KEY, SITE_KEY_FILE } from '../../api/skupper/cluster-names.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { siteIdOf } from '../../identity/site-id.ts';
import { siteKeyFrom } from '../../identity/site-key.ts';
import { messageOf } from '../../telemetry/log.ts';
import type { PendingKeys } from '../../trust/stores.ts';
import { createKey } from '../../x509/request.ts';
import { textIn } from './secret-bundle.ts';
import type { SecretBundles } from './secret-bundles.ts';
import type { WatchedSecrets } from './watched-secrets.ts';

/** Nothing is made here: the site's controller makes its key and its Secrets. */
export function clusterStores(
  secrets: Pick<WatchedSecrets, 'get'>,
  bundles: SecretBundles,
  renewalRequests: RouterStores['renewalRequests'],
): RouterStores {
  return { identity: async () => identityIn(secrets), bundles, pendingKeys: pendingKeys(), renewalRequests };
}

function identityIn(secrets: Pick<WatchedSecrets, 'get'>): Identity | undefined {
  const secret = secrets.get(SITE_KEY);
  if (secret === undefined) return undefined;
  try {
    const key = siteKeyFrom(textIn(secret, SITE_KEY_FILE) ?? '');
    return { id: siteIdOf(key.publicKey), key };
  } catch (error) {
    const words = `the Secret ${SITE_KEY} is damaged: ${messageOf(error)} To make a new site of it, delete it; its links then need new tokens.`;
    throw new EarshotError('state-damaged', words, error);
  }
}

/** In memory: after a restart there is a new key, and the certificate that the lost one waited for is asked for anew. */
function pendingKeys(): PendingKeys {
  const keys = new Map<string, string>();
  return { keyFor: async (name) => keys.getOrInsertComputed(name, createKey), drop: async (name) => void keys.delete(name) };
}
