import type { Endpoint, RouterAccess, RouterAccessStatus, Site, SiteStatus } from '../../api/skupper/index.ts';
import { accessName, listAccesses, type Access } from '../plan/access.ts';
import { endpointsOf } from '../reach.ts';
import { keyOf } from '../resources.ts';
import { networkOf } from './network.ts';
import { configured, done, firstOf, inRouter, stateOf, statusOf, waiting } from './status.ts';
import type { View } from './view.ts';
import type { Progress } from './wording.ts';

export function observeSiteObject(site: Site, view: View): SiteStatus {
  const { router, plan, trust, controller } = view;
  const runs = plan.site === site;
  const accesses = runs ? listAccesses(view.resources, site).accesses : [];
  const own = accesses.filter(({ resource }) => resource === keyOf(site));
  const endpoints = endpointsFor(accesses, view);
  const network = runs && router !== undefined ? networkOf(router.network) : [];
  const conditions = {
    Configured: firstOf(configured(view), ...own.map((access) => opened(access, view))),
    Running: router === undefined || !runs ? waiting('starting', 'no router runs') : done,
    Resolved: accesses.length === 0 ? done : resolved(endpoints),
  };
  return {
    ...statusOf(conditions, view),
    ...(endpoints.length === 0 ? {} : { endpoints }),
    sitesInNetwork: network.length,
    network,
    ...(trust.defaultIssuer === undefined ? {} : { defaultIssuer: trust.defaultIssuer }),
    controller,
  };
}

export function observeRouterAccess(routerAccess: RouterAccess, view: View): RouterAccessStatus {
  const { site } = view.plan;
  const key = keyOf(routerAccess);
  const accesses = site === undefined ? [] : listAccesses(view.resources, site).accesses.filter(({ resource }) => resource === key);
  const endpoints = endpointsFor(accesses, view);
  const conditions = {
    Configured: firstOf(configured(view), ...accesses.map((access) => opened(access, view))),
    Resolved: resolved(endpoints),
  };
  return { ...statusOf(conditions, view), ...(endpoints.length === 0 ? {} : { endpoints }) };
}

function opened(access: Access, { router }: View): Progress {
  return firstOf(...access.roles.map(({ role }) => inRouter(stateOf(router?.accesses, accessName(access, role)))));
}

function resolved(endpoints: readonly Endpoint[]): Progress {
  return endpoints.length > 0 ? done : waiting('no-endpoints', 'nothing listens for links yet');
}

function endpointsFor(accesses: readonly Access[], { router, reach }: View): readonly Endpoint[] {
  return router === undefined ? [] : accesses.flatMap((access) => endpointsOf(access, reach, router.accesses));
}
