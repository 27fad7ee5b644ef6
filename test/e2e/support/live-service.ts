import assert from 'node:assert/strict';
import type { Service } from '../../../src/kube/objects.ts';
import { conditionOf, type Namespace } from './namespace.ts';

/** The fields of a live Service that the manifests of src/ have no need of. */
export interface LiveService extends Service {
  readonly spec: NonNullable<Service['spec']> & { readonly sessionAffinity?: string; readonly sessionAffinityConfig?: unknown };
}

/** The Service of a Listener that has been accepted: one that is seen before its class is looked at twice. */
export async function liveService(namespace: Namespace, name: string): Promise<LiveService> {
  await namespace.untilListener(name, 'to be accepted', (listener) => {
    const accepted = conditionOf(listener, 'Accepted');
    return accepted?.status === 'True' && accepted.observedGeneration === listener.metadata.generation;
  });
  // As the API server answers: LiveService names more of the same fields.
  return (await namespace.service(name)) as LiveService;
}

/** Every field of `part` is in `whole`; `undefined` says that a field must not be there; lists are compared whole. */
export function assertContains(whole: unknown, part: unknown, path = 'Service'): void {
  if (part === null || typeof part !== 'object' || Array.isArray(part)) {
    assert.deepEqual(whole, part, path);
    return;
  }
  const fields = new Map(Object.entries(whole ?? {}));
  for (const [key, value] of Object.entries(part)) assertContains(fields.get(key), value, `${path}.${key}`);
}
