import type { Site } from '../../api/skupper/index.ts';
import { SITE_CA } from '../../api/skupper/cluster-names.ts';

/** The Secret of the authority that signs where nothing else is named. */
export function defaultIssuerOf({ spec }: Site): string {
  return spec.defaultIssuer || SITE_CA;
}
