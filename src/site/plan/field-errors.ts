/** Problems of a resource by itself, for commands: the planner's own rules, applied to that resource alone. */
import type { Site } from '../../api/skupper/index.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import type { Platform } from '../capabilities.ts';
import type { ResourceProblem } from '../problem.ts';
import { keyOf, sortResources, type SiteObject } from '../resources.ts';
import { planSite } from './plan.ts';

/** Other problems depend on what else exists: bundles, pods, other listeners, the Site. */
const OF_FIELDS: ReadonlySet<ResourceProblem['code']> = new Set([
  'host',
  'port',
  'type',
  'routing-key',
  'routing-key-reserved',
  'strategy',
  'selector',
  'cost',
  'not-supported',
]);

const alone: Site = { apiVersion: API_VERSION, kind: 'Site', metadata: { name: 'site' }, spec: {} };

export function fieldErrors(
  object: SiteObject,
  platform: Pick<Platform, 'capabilities' | 'defaults' | 'access'>,
): readonly ResourceProblem[] {
  const resources = sortResources(object.kind === 'Site' ? [object] : [alone, object]);
  const { problems } = planSite(resources, {
    ...platform,
    bundles: new Map(),
    unreadable: new Map(),
    ownHosts: [],
    check: () => [],
    lastValid: () => undefined,
    bundleLocation: (name) => name,
  });
  return problems.filter(({ resource, severity, code }) => resource === keyOf(object) && severity === 'error' && OF_FIELDS.has(code));
}
