import type { Endpoint, RouterAccess, RouterAccessStatus, Site, SiteRecord, SiteStatus } from '../../api/skupper/index.ts';
import type { RouterRecord } from '../../router/contract.ts';
import { accessName, listAccesses, type Access } from '../plan/access.ts';
import { endpointsOf } from '../reach.ts';
import type { View } from './observe.ts';
import { firstOf, inRouter, stateOf } from './observe-traffic.ts';
import { keyOf } from '../resources.ts';
import { configured, done, verdict, waiting, warningsOf, type StepState } from './status.ts';

export function observeSiteObject(site: Site, view: View): SiteStatus {
  const { router, plan, trust, controller, own, moment } = view;
  const runs = plan.site === site;
  const accesses = runs ? listAccesses(view.resources, site).accesses : [];
  const planned = firstOf(
    configured(own),
    ...accesses.filter(({ resource }) => resource === keyOf(site)).map((access) => accessStep(access, view)),
  );
  const running = router === undefined || !runs ? waiting('starting', 'no router runs') : done;
  const endpoints = endpointsFor(accesses, view);
  const resolved = accesses.length === 0 || endpoints.length > 0 ? done : waiting('no-endpoints', 'nothing listens for links yet');
  const steps = [
    { type: 'Configured', state: planned },
    { type: 'Running', state: running },
    { type: 'Resolved', state: resolved },
  ];
  const network = runs && router !== undefined ? networkOf(router.network) : [];
  return {
    ...verdict(steps, warningsOf(own), moment),
    ...(endpoints.length === 0 ? {} : { endpoints }),
    sitesInNetwork: network.length,
    network,
    ...(trust.defaultIssuer === undefined ? {} : { defaultIssuer: trust.defaultIssuer }),
    controller,
  };
}

export function observeRouterAccess(routerAccess: RouterAccess, view: View): RouterAccessStatus {
  const { plan, own, moment } = view;
  const key = keyOf(routerAccess);
  const accesses =
    plan.site === undefined ? [] : listAccesses(view.resources, plan.site).accesses.filter(({ resource }) => resource === key);
  const endpoints = endpointsFor(accesses, view);
  const steps = [
    { type: 'Configured', state: firstOf(configured(own), ...accesses.map((access) => accessStep(access, view))) },
    { type: 'Resolved', state: endpoints.length > 0 ? done : waiting('no-endpoints', 'nothing listens for links yet') },
  ];
  return { ...verdict(steps, warningsOf(own), moment), ...(endpoints.length === 0 ? {} : { endpoints }) };
}

function accessStep(access: Access, { router }: View): StepState {
  return firstOf(...access.roles.map(({ role }) => inRouter(stateOf(router?.accesses, accessName(access, role)))));
}

function endpointsFor(accesses: readonly Access[], { router, reach }: View): readonly Endpoint[] {
  return router === undefined ? [] : accesses.flatMap((access) => endpointsOf(access, reach, router.accesses));
}

/** Routers of one site are one entry, in the order in which sites are met. */
export function networkOf(routers: readonly RouterRecord[]): readonly SiteRecord[] {
  const bySite = Map.groupBy(routers, ({ site }) => site.id);
  return [...bySite.values()].map((own) => siteRecord(own));
}

function siteRecord(routers: readonly RouterRecord[]): SiteRecord {
  const [first] = routers;
  if (first === undefined) return {};
  const { id, name, namespace, platform, version } = first.site;
  const links = routers.flatMap((record) =>
    // Routers of one site are linked with each other too, which is nobody's concern.
    record.links
      .filter((link) => link.siteId !== id)
      .map((link) => ({
        name: link.name,
        remoteSiteId: link.siteId,
        remoteSiteName: link.siteName,
        // A router tells only of links that are up.
        operational: true,
      })),
  );
  const services = new Map<string, { readonly connectors: string[]; readonly listeners: string[] }>();
  for (const { router, keys } of routers) {
    for (const { routingKey, connectors, listeners } of keys) {
      const service = services.getOrInsertComputed(routingKey, () => ({ connectors: [], listeners: [] }));
      service.connectors.push(...places(router, connectors));
      service.listeners.push(...places(router, listeners));
    }
  }
  return {
    id,
    name,
    namespace,
    platform,
    version,
    links,
    services: [...services].map(([routingKey, found]) => ({ routingKey, ...found })),
  };
}

/** Routers tell how many they have, not what they are called: one entry for each, `router/1`, `router/2`. A peer's number is not to be trusted. */
function places(router: string, count: number): readonly string[] {
  return Array.from({ length: Math.min(count, 16) }, (_, index) => `${router}/${index + 1}`);
}
