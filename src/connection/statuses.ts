import { skupperResources } from '../api/skupper/index.ts';
import type { KubeClient } from '../kube/contract.ts';
import type { Resource } from '../kube/resource.ts';
import { writeStatus as write, type StatusView } from '../kube/write-status.ts';
import type { AnyStatus } from '../site/observe/observe.ts';
import type { SiteObject } from '../site/resources.ts';

export interface StatusViews {
  view(kind: SiteObject['kind']): StatusView<SiteObject>;
}

/** @returns whether it was written: what stands already is left alone */
export async function writeStatus(
  object: SiteObject,
  status: AnyStatus,
  { client, views, signal }: { readonly client: KubeClient; readonly views: StatusViews; readonly signal: AbortSignal },
): Promise<boolean> {
  return write(skupperResources[object.kind] as Resource<SiteObject>, object, status, { client, view: views.view(object.kind), signal });
}
