/** Asks the API server what the user may do (SelfSubjectAccessReview). */
import type { KubeClient } from '../../kube/contract.ts';
import type { KubeObject } from '../../kube/objects.ts';
import { resource } from '../../kube/resource.ts';
import type { Source } from '../connection/site-facts.ts';
import { readSource } from './read-source.ts';

export interface Right {
  readonly verb: string;
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  /** All namespaces if omitted. */
  readonly namespace?: string;
}

interface AccessReview extends KubeObject {
  readonly spec: { readonly resourceAttributes: Right };
  readonly status?: { readonly allowed?: boolean };
}

const accessReviews = resource<AccessReview>('authorization.k8s.io/v1', 'SelfSubjectAccessReview', 'selfsubjectaccessreviews', 'cluster');

/** Whether the user has the right. */
export async function askRight(client: Pick<KubeClient, 'create'>, right: Right): Promise<Source<boolean>> {
  const review: AccessReview = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    metadata: {},
    spec: { resourceAttributes: right },
  };
  return readSource('the API server', async () => (await client.create(accessReviews, review)).status?.allowed === true);
}
