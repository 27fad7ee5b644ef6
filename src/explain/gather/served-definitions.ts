/** Which kinds of Earshot the API server knows. */
import { listenerClasses, listeners, podListeners } from '../../api/listeners/index.ts';
import { skupperResources } from '../../api/skupper/index.ts';
import type { Discovery, KubeClient } from '../../kube/contract.ts';
import { isForbidden, isNotFound } from '../../kube/errors.ts';
import type { Resource } from '../../kube/resource.ts';

export const exposureDefinitions: readonly Resource[] = [listenerClasses, listeners, podListeners];

/** Kinds of both halves. */
export const definitions: readonly Resource[] = [...exposureDefinitions, ...Object.values(skupperResources)];

type Asked = Pick<KubeClient, 'page'> & Partial<Discovery>;

/** Those kinds whose definitions are installed. */
export async function findServed(client: Asked, namespace: string, kinds: readonly Resource[]): Promise<readonly Resource[]> {
  const served = await Promise.all(kinds.map(async (of) => ((await isServed(client, namespace, of)) ? [of] : [])));
  return served.flat();
}

/** The API server answers 404 for a kind without a definition, but only to users with the right to list it. */
async function isServed(client: Asked, namespace: string, of: Resource): Promise<boolean> {
  try {
    await client.page(of, of.namespaced ? { namespace } : {}, { limit: 1 });
    return true;
  } catch (error) {
    if (!isForbidden(error)) return !isNotFound(error);
    return client.serves?.(of).catch(() => true) ?? true;
  }
}
