/** Secrets that are cached without their data, since few of them are used. */
import type { KubeClient } from '../kube/contract.ts';
import type { Secret } from '../kube/objects.ts';
import { secrets } from '../kube/resource.ts';

/** Each with its data, once a rule has read that: as long as the cache has this version. */
const loaded = new WeakMap<Secret, Promise<Secret | undefined> | undefined>();

export function withoutData({ data: _data, ...secret }: Secret): Secret {
  loaded.set(secret, undefined);
  return secret;
}

/** @returns the Secret with its data; undefined: it was deleted meanwhile */
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
