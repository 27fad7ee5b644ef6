import { LEADER_LABEL } from '../../api/skupper/cluster-names.ts';
import type { KubeClient } from '../../kube/contract.ts';
import { isNotFound } from '../../kube/errors.ts';
import { pods } from '../../kube/resource.ts';

/** Labels the leading pod, so that the Service of the grant server selects only that pod. */
export async function labelLeader(
  client: Pick<KubeClient, 'list' | 'patch'>,
  { namespace, pod }: { readonly namespace: string; readonly pod: string },
  signal: AbortSignal,
): Promise<void> {
  const label = async (name: string, value: string | null): Promise<void> => {
    const patch = { metadata: { labels: { [LEADER_LABEL]: value } } };
    try {
      await client.patch(pods, { namespace, name }, patch, { type: 'merge', signal });
    } catch (error) {
      // A deleted pod no longer leads, and this process need not run in a pod.
      if (!isNotFound(error)) throw error;
    }
  };
  let isLabelled = false;
  for await (const { metadata } of client.list(pods, { namespace, labelSelector: LEADER_LABEL }, { signal })) {
    if (metadata.name === pod) isLabelled = metadata.labels?.[LEADER_LABEL] === 'true';
    else if (metadata.name !== undefined) await label(metadata.name, null);
  }
  if (!isLabelled) await label(pod, 'true');
}
