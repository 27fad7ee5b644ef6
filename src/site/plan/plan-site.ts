import type { Site } from '../../api/skupper/index.ts';
import type { Platform } from '../material.ts';
import type { ResourceProblem } from '../problem.ts';
import { keyOf } from '../resources.ts';

/** What of a Site has no effect on its platform. */
export function unusedOf(site: Site, platform: Platform): readonly ResourceProblem[] {
  if (platform === 'kubernetes') return [];
  const { serviceAccount } = site.spec;
  if (serviceAccount === undefined || serviceAccount === '') return [];
  const message = 'there are service accounts on Kubernetes only; remove the field.';
  return [{ resource: keyOf(site), severity: 'warning', code: 'not-on-platform', field: 'spec.serviceAccount', message }];
}
