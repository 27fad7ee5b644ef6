import type { ObjectMeta } from '../../kube/objects.ts';

/** The metadata that identifies an object and its version. */
export function identityOf({ name, namespace, uid, resourceVersion }: ObjectMeta): ObjectMeta {
  return {
    ...(name === undefined ? {} : { name }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}
