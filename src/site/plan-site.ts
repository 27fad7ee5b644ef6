import type { Site } from '../api/skupper/index.ts';
import type { Platform } from './material.ts';
import type { ResourceProblem } from './problem.ts';
import { keyOf } from './resources.ts';

/** What of a Site has no effect on its platform. */
export function unusedOf(site: Site, platform: Platform): readonly ResourceProblem[] {
  if (platform === 'kubernetes') return [];
  const { ha, serviceAccount } = site.spec;
  const warning = (field: string, message: string): ResourceProblem => ({
    resource: keyOf(site),
    severity: 'warning',
    code: 'not-on-platform',
    field,
    message,
  });
  const second = 'no second router is started by itself here; let `earshot run --router second` run beside the first.';
  const account = 'there are service accounts on Kubernetes only; remove the field.';
  return [
    ...(ha === true ? [warning('spec.ha', second)] : []),
    ...(serviceAccount === undefined || serviceAccount === '' ? [] : [warning('spec.serviceAccount', account)]),
  ];
}
