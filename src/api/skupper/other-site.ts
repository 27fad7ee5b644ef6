import type { KubeObject, Pod } from '../../kube/objects.ts';
import { SITE_UID } from './cluster-names.ts';

/**
 * Whether an object is owned by another Site. That Site may be deleted already, and garbage collection soon deletes the object
 * too. An object without a Site as owner belongs to no other site: it was restored from a backup.
 */
export function isOfAnotherSite({ metadata: { ownerReferences = [] } }: KubeObject, uid: string | undefined): boolean {
  const sites = ownerReferences.filter(({ kind }) => kind === 'Site');
  return sites.length > 0 && !sites.some((site) => site.uid === uid);
}

/** UID of the Site whose router a pod runs. Pods of an earlier controller have none. */
export function siteUidOf({ spec }: Pod): string | undefined {
  return spec?.containers.flatMap(({ env = [] }) => env.find(({ name }) => name === SITE_UID)?.value ?? [])[0];
}
