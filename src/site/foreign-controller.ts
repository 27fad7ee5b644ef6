/** Whether another controller owns an object, whatever its labels and annotations say: pure. */
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

/** @returns kind and name of the owner that controls the object, where that is not a resource of a site, nor its router */
export function foreignController({ ownerReferences = [] }: Owned): string | undefined {
  const owner = ownerReferences.find(({ controller }) => controller === true);
  if (owner === undefined || owner.apiVersion.startsWith(`${GROUP}/`)) return undefined;
  // Controllers of earlier releases, and Skupper's, let the router's Deployment own what they made.
  if (owner.apiVersion.startsWith('apps/') && owner.kind === 'Deployment' && owner.name.startsWith('skupper-')) return undefined;
  return `${owner.kind} ${owner.name}`;
}
