import type { KubeClient } from '../kube/contract.ts';
import { isForbidden, isNotFound } from '../kube/errors.ts';
import type { Resource } from '../kube/resource.ts';
import { nameOf } from './caches.ts';
import { keptObjects } from './kept-objects.ts';

/**
 * Which of the optional kinds the cluster serves. It is asked once: an API that is installed later is found at the next start.
 * @returns their names as `nameOf` gives them
 */
export async function servedOptional(
  client: Pick<KubeClient, 'page'>,
  { namespace, signal }: { readonly namespace?: string | undefined; readonly signal: AbortSignal },
): Promise<ReadonlySet<string>> {
  const served = new Set<string>();
  for (const { of, optional = false } of keptObjects) {
    if (optional && (await isServed(client, of, namespace, signal))) served.add(nameOf(of));
  }
  return served;
}

async function isServed(
  client: Pick<KubeClient, 'page'>,
  of: Resource,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await client.page(of, namespace === undefined ? {} : { namespace }, { limit: 1, signal });
    return true;
  } catch (error) {
    // Installed after the controller's rights were written: for it, the cluster does not have it.
    if (isNotFound(error) || isForbidden(error)) return false;
    throw error;
  }
}
