import { ROUTER_SELECTOR } from '../../api/skupper/cluster-names.ts';
import { siteUidOf } from '../../api/skupper/other-site.ts';
import type { KubeObject, Pod } from '../../kube/objects.ts';
import type { SelectablePod } from '../../site/material.ts';
import { selectablePod } from '../../site/selectable-pod.ts';

/** Cached part of a pod in the site's namespace. */
export interface WatchedPod extends KubeObject {
  readonly pod: SelectablePod;
  /** Whether it runs one of the site's routers, even while it terminates. */
  readonly isRouter: boolean;
  /** UID of the Site whose router it runs, if known. */
  readonly site?: string;
}

/** Container in Skupper's router pods. They speak another protocol and are about to be replaced, so no link to them is expected. */
const ADAPTOR = 'kube-adaptor';

export function watchedPod(object: Pod): WatchedPod {
  const { metadata, spec, status } = object;
  const { name = '', namespace, uid, resourceVersion, labels = {} } = metadata;
  const isRunning = status?.phase === 'Running';
  const isRouter = isRunning && Object.entries(ROUTER_SELECTOR).every(([key, value]) => labels[key] === value);
  const site = isRouter ? siteUidOf(object) : undefined;
  const isOfSkupper = spec?.containers?.some((container) => container.name === ADAPTOR) === true;
  return {
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
    pod: selectablePod(object),
    isRouter: isRouter && !isOfSkupper,
    ...(site === undefined ? {} : { site }),
  };
}
