import { kubernetes } from '../../site/cluster-platform.ts';
import type { PlatformConventions } from '../resources.ts';

export const conventions: PlatformConventions = {
  platform: kubernetes,
  // Name of a Service.
  listenerHost: (name) => name,
  server: (name) => ({ selector: `app=${name}` }),
  redeemsAtSite: false,
  namespacesCount: true,
  // Pods, Secrets and Sites may appear in any order, so no error is final.
  believeAfter: Number.POSITIVE_INFINITY,
  siteReadyWithin: 180_000,
};
