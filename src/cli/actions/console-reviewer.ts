/** Asks the API server whose token it is (TokenReview), and what that user may do (SubjectAccessReview). */
import { LEDGER } from '../../api/skupper/cluster-names.ts';
import { listenerClasses, listeners, podListeners } from '../../api/listeners/index.ts';
import { sites, skupperKinds, skupperResources } from '../../api/skupper/index.ts';
import type { Reviewer } from '../../console/reviewed-access.ts';
import type { ReviewedUser } from '../../console/reviewed-user.ts';
import { events } from '../../explain/gather/gather-exposure.ts';
import type { KubeClient } from '../../kube/contract.ts';
import type { KubeObject } from '../../kube/objects.ts';
import { endpointSlices, persistentVolumeClaims, pods, resource, secrets, services, type Resource } from '../../kube/resource.ts';

interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string };
  readonly status?: { readonly authenticated?: boolean; readonly user?: Partial<ReviewedUser> };
}

interface AccessReview extends KubeObject {
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: { readonly allowed?: boolean };
}

/** Narrows a right to a part of a kind. */
interface Part {
  readonly subresource?: string;
  readonly name?: string;
}

const tokenReviews = resource<TokenReview>('authentication.k8s.io/v1', 'TokenReview', 'tokenreviews', 'cluster');
const accessReviews = resource<AccessReview>('authorization.k8s.io/v1', 'SubjectAccessReview', 'subjectaccessreviews', 'cluster');

/** Kinds of the namespace whose objects the Exposure view shows. */
const exposed: readonly Resource[] = [listeners, podListeners, pods, services, endpointSlices, persistentVolumeClaims, events];

export function clusterReviewer(client: Pick<KubeClient, 'create'>, namespace: string): Reviewer {
  return {
    async authenticate(token) {
      const { status } = await client.create(tokenReviews, { metadata: {}, spec: { token } });
      const { username, ...rest } = status?.user ?? {};
      return status?.authenticated === true && username !== undefined ? { username, ...rest } : undefined;
    },
    async permissionsOf({ username: user, groups, uid, extra }) {
      const may = async (verb: string, { group, plural, namespaced }: Resource, part: Part = {}): Promise<boolean> => {
        const resourceAttributes = { verb, group, resource: plural, ...(namespaced ? { namespace } : {}), ...part };
        const review = { metadata: {}, spec: { user, groups, uid, extra, resourceAttributes } };
        return (await client.create(accessReviews, review)).status?.allowed === true;
      };
      const [connections, revocations, probe, classes, lists, ...got] = await Promise.all([
        may('get', sites, { subresource: 'connections' }),
        // The record of revocations.
        may('get', secrets, { name: LEDGER }),
        may('create', sites, { subresource: 'probe' }),
        may('list', listenerClasses),
        Promise.all(exposed.map((kind) => may('list', kind))),
        ...skupperKinds.map((kind) => may('get', skupperResources[kind])),
      ]);
      const kinds = new Set(skupperKinds.filter((_, index) => got[index] === true));
      return { kinds, connections, revocations, exposure: lists.every(Boolean), classes, probe };
    },
  };
}
