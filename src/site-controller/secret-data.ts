/** Secrets are cached without their data, because few of them are used. */
import type { KubeClient } from '../kube/contract.ts';
import type { Secret } from '../kube/objects.ts';
import { secrets } from '../kube/resource.ts';

/** Data of each Secret that a rule has read. It lasts as long as this version is in the cache. */
const loaded = new WeakMap<Secret, Promise<Secret | undefined> | undefined>();

export function withoutData({ data: _data, ...secret }: Secret): Secret {
  loaded.set(secret, undefined);
  return secret;
}

/** @returns the Secret with its data; undefined if it was deleted in the meantime */
export async function loadSecret(client: Pick<KubeClient, 'find'>, secret: Secret): Promise<Secret | undefined> {
  if (!loaded.has(secret)) return secret;
  const { namespace, name = '' } = secret.metadata;
  const before = loaded.get(secret);
  if (before !== undefined) return before;
  const loading = client.find(secrets, { ...(namespace === undefined ? {} : { namespace }), name });
  loaded.set(secret, loading);
  try {
    return await loading;
  } catch (error) {
    loaded.set(secret, undefined);
    throw error;
  }
}
