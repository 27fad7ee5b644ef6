import { ROUTER_SELECTOR } from '../../api/skupper/cluster-names.ts';
import type { KubeObject, Pod } from '../../kube/objects.ts';
import type { SelectablePod } from '../../site/material.ts';
import { selectablePod } from '../../site/selectable-pod.ts';

/** What is kept of a pod of the site's namespace. */
export interface WatchedPod extends KubeObject {
  readonly pod: SelectablePod;
  /** It runs one of the site's routers, also one that is about to end. */
  readonly isRouter: boolean;
}

/** Beside the router in pods of Skupper's, which speak another protocol and are about to be replaced: nobody waits for a link to them. */
const ADAPTOR = 'kube-adaptor';

export function watchedPod(object: Pod): WatchedPod {
  const { metadata, spec, status } = object;
  const { name = '', namespace, uid, resourceVersion, labels = {} } = metadata;
  const isRunning = status?.phase === 'Running';
  const isOfSkupper = spec?.containers?.some((container) => container.name === ADAPTOR) === true;
  return {
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    pod: selectablePod(object),
    isRouter: isRunning && !isOfSkupper && Object.entries(ROUTER_SELECTOR).every(([key, value]) => labels[key] === value),
  };
}
