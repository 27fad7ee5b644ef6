/** Which kinds of Earshot the API server knows. */
import { listenerClasses, listeners, podListeners } from '../../api/listeners/index.ts';
import { skupperResources } from '../../api/skupper/index.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isNotFound } from '../../kube/errors.ts';
import type { Resource } from '../../kube/resource.ts';

export const exposureDefinitions: readonly Resource[] = [listenerClasses, listeners, podListeners];

/** Kinds of both halves. */
export const definitions: readonly Resource[] = [...exposureDefinitions, ...Object.values(skupperResources)];

/** Those kinds whose definitions are installed. */
export async function findServed(
  client: Pick<KubeClient, 'page'>,
  namespace: string,
  kinds: readonly Resource[],
): Promise<readonly Resource[]> {
  const served = await Promise.all(kinds.map(async (of) => ((await isServed(client, namespace, of)) ? [of] : [])));
  return served.flat();
}

/** The API server answers 404 for a kind without a definition. Whatever else it answers, there is one. */
async function isServed(client: Pick<KubeClient, 'page'>, namespace: string, of: Resource): Promise<boolean> {
  try {
    await client.page(of, of.namespaced ? { namespace } : {}, { limit: 1 });
    return true;
  } catch (error) {
    return !isNotFound(error);
  }
}
