/** Problems of resources without a site, for commands: the planner's own rules. */
import type { Site } from '../../api/skupper/index.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import type { Platform } from '../capabilities.ts';
import type { Material } from '../material.ts';
import type { ResourceProblem } from '../problem.ts';
import { keyOf, sortResources, type SiteObject, type SiteResources } from '../resources.ts';
import { SETTING, settingOf } from '../settings.ts';
import { acceptsLinks, uselessGrants } from './access.ts';
import { planSite } from './plan.ts';

type PlanPlatform = Pick<Platform, 'capabilities' | 'defaults' | 'access'>;

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

/** Errors of a resource by itself. */
export function fieldErrors(object: SiteObject, platform: PlanPlatform): readonly ResourceProblem[] {
  const { problems } = planSite(withSite([object]), materialOf(platform));
  return problems.filter(({ resource, severity, code }) => resource === keyOf(object) && severity === 'error' && OF_FIELDS.has(code));
}

/** Problems that depend on bundles and Services, which may exist where the resources are applied. */
const AWAITED: ReadonlySet<ResourceProblem['code']> = new Set(['secret-awaited', 'service-awaited']);

/**
 * Problems of resources that are to be one site. Without a Site among them, nothing is known about it.
 * @param objects one for each name
 * @param given bundles and proxies that come with the resources; all others may exist
 */
export function problemsTogether(
  objects: readonly SiteObject[],
  platform: PlanPlatform,
  given: Pick<Material, 'bundles' | 'proxies' | 'check'>,
): readonly ResourceProblem[] {
  const resources = withSite(objects);
  const { problems, site } = planSite(resources, { ...materialOf(platform), ...given, awaitedSecrets: { has: () => true } });
  const own = new Set(objects.map(keyOf));
  // Only the controller of a cluster reports grants of a site without access.
  const isReported = platform.capabilities.has('services') && site !== undefined && own.has(keyOf(site));
  const ofGrants = isReported && !acceptsLinks(resources, site, platform.access) ? uselessGrants(resources, site) : [];
  return [...problems, ...ofGrants].filter(({ resource, code }) => own.has(resource) && !AWAITED.has(code));
}

/** Adds a Site with a router in each container network, if the objects have no Site. */
function withSite(objects: readonly SiteObject[]): SiteResources {
  if (objects.some(({ kind }) => kind === 'Site')) return sortResources(objects);
  const networks = objects.flatMap((object) => settingOf(object, SETTING.network) ?? []).join(',');
  const settings = networks === '' ? {} : { settings: { [SETTING.networks]: networks } };
  const alone: Site = { apiVersion: API_VERSION, kind: 'Site', metadata: { name: 'site' }, spec: settings };
  return sortResources([alone, ...objects]);
}

function materialOf(platform: PlanPlatform): Material {
  return {
    ...platform,
    bundles: new Map(),
    unreadable: new Map(),
    ownHosts: [],
    check: () => [],
    lastValid: () => undefined,
    bundleLocation: (name) => name,
  };
}
