/** Whether another controller owns an object, regardless of its labels and annotations (pure). */
import { GROUP } from '../api/skupper/names.ts';

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly controller?: boolean;
}

export interface Owned {
  readonly ownerReferences?: readonly Owner[];
}

/** @returns kind and name of the controlling owner, unless that is a resource of a site or its router */
export function foreignController({ ownerReferences = [] }: Owned): string | undefined {
  const owner = ownerReferences.find(({ controller }) => controller === true);
  if (owner === undefined || owner.apiVersion.startsWith(`${GROUP}/`)) return undefined;
  // Earlier releases and Skupper's controllers let the router's Deployment own their objects.
  if (owner.apiVersion.startsWith('apps/') && owner.kind === 'Deployment' && owner.name.startsWith('skupper-')) return undefined;
  return `${owner.kind} ${owner.name}`;
}
