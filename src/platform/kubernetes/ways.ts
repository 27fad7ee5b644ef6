import { kubernetes } from '../../site/cluster-platform.ts';
import type { PlatformConventions } from '../resources.ts';

export const ways: PlatformConventions = {
  platform: kubernetes,
  // The name of a Service.
  listenerHost: (name) => name,
  server: (name) => ({ selector: `app=${name}` }),
  redeemsAtSite: false,
  namespacesCount: true,
  // Pods, Secrets and Sites come in any order.
  believeAfter: Number.POSITIVE_INFINITY,
  siteReadyWithin: 180_000,
};
