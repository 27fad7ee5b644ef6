import { ApiError, TransportError } from '../../../src/kube/errors.ts';
import type { Discovery, KubeClient, Selection } from '../../../src/kube/contract.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import type { Resource } from '../../../src/kube/resource.ts';

/** An object as it is stored. */
export type Stored = KubeObject & Readonly<Record<string, unknown>>;

export interface ClusterContent {
  /** Objects by plural. */
  readonly objects: Readonly<Record<string, readonly Stored[]>>;
  /** Plurals that the user may not read. */
  readonly denied?: readonly string[];
  /** Plurals that the user may get by name, and not list. */
  readonly unlisted?: readonly string[];
  /** Plurals whose reads fail at the moment. */
  readonly failing?: readonly string[];
  /** Plurals without a definition. */
  readonly undefinedKinds?: readonly string[];
}

/** Reads of a cluster with this content. It ignores selectors, except for the namespace. */
export function clusterOf({
  objects,
  denied = [],
  unlisted = [],
  failing = [],
  undefinedKinds = [],
}: ClusterContent): Pick<KubeClient, 'find' | 'list' | 'page' | 'create'> & Discovery {
  const read = <T extends KubeObject>({ plural }: Resource<T>, namespace: string | undefined, refused = denied): readonly T[] => {
    if (refused.includes(plural)) throw new ApiError('GET', { status: 403, reason: 'Forbidden', message: `${plural} is forbidden` });
    if (failing.includes(plural)) throw new TransportError('kube-timeout', `GET ${plural}: no answer within 5 s`, { sent: true });
    if (undefinedKinds.includes(plural)) throw new ApiError('GET', { status: 404, reason: '', message: 'page not found' });
    // The tests store objects of the right kind.
    const all = (objects[plural] ?? []) as readonly T[];
    return all.filter(({ metadata }) => namespace === undefined || metadata.namespace === undefined || metadata.namespace === namespace);
  };
  return {
    find: async (of, { namespace, name }) => read(of, namespace).find(({ metadata }) => metadata.name === name),
    list: async function* (of, { namespace }: Selection = {}) {
      yield* read(of, namespace, [...denied, ...unlisted]);
    },
    page: async (of, { namespace }) => ({ items: read(of, namespace, [...denied, ...unlisted]), resourceVersion: '1' }),
    serves: async ({ plural }) => !undefinedKinds.includes(plural),
    create: async (_of, object) => {
      const { spec } = object as Stored & { readonly spec?: { readonly resourceAttributes?: { readonly resource: string } } };
      return { ...object, status: { allowed: !denied.includes(spec?.resourceAttributes?.resource ?? '') } };
    },
  };
}
