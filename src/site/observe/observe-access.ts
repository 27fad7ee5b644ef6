import { isIP } from 'node:net';
import type {
  Endpoint,
  RouterAccess,
  RouterAccessStatus,
  SecuredAccess,
  SecuredAccessStatus,
  Site,
  SiteStatus,
} from '../../api/skupper/index.ts';
import { acceptsLinks, accessName, isForLocalProgramsOnly, listAccesses, type Access } from '../plan/access.ts';
import { endpointsOf } from '../site-endpoints.ts';
import { keyOf } from '../resources.ts';
import { listIncomingLinks } from './incoming-links.ts';
import { missingRouters } from './network-part.ts';
import { networkOf } from './network.ts';
import type { RouterFacts } from './router-facts.ts';
import { configured, done, firstOf, inRouter, stateOf, statusOf, waiting } from './status.ts';
import type { View } from './view.ts';
import type { Progress } from './message-format.ts';
import { quoted } from '../../text/printable.ts';

export function observeSiteObject(site: Site, view: View): SiteStatus {
  const { plan, trust, controller } = view;
  const accesses = plan.site === site ? listAccesses(view.resources, site, view.access).accesses : [];
  const own = accesses.filter(({ resource }) => resource === keyOf(site));
  const { running, network, sitesInNetwork, incomingLinks } = plan.site === site ? routersOf(view) : notRunning;
  const endpoints = endpointsFor(accesses, view);
  const missing = plan.site === site && view.router !== undefined ? missingRouters(view) : [];
  const conditions = {
    Configured: firstOf(configured(view), ...own.map((access) => opened(access, view))),
    Running: running,
    Resolved: plan.site === site && acceptsLinks(view.resources, site, view.access) ? resolved(endpoints, view) : done,
  };
  return {
    ...statusOf(conditions, view, {
      notes: [...(running.kind === 'done' && running.note !== undefined ? [running.note] : []), ...missing],
    }),
    ...(endpoints.length === 0 ? {} : { endpoints }),
    sitesInNetwork,
    network,
    ...(incomingLinks.length === 0 ? {} : { incomingLinks }),
    ...(trust.defaultIssuer === undefined ? {} : { defaultIssuer: trust.defaultIssuer }),
    controller,
  };
}

const notRunning = { running: waiting('starting', 'no router runs'), network: [], sitesInNetwork: 0, incomingLinks: [] };

function routersOf({ router, routers }: View): Pick<RouterFacts, 'running' | 'network' | 'sitesInNetwork' | 'incomingLinks'> {
  if (routers !== undefined) return routers;
  if (router === undefined) return notRunning;
  const network = networkOf(router.network);
  return { running: done, network, sitesInNetwork: network.length, incomingLinks: listIncomingLinks(router) };
}

export function observeRouterAccess(routerAccess: RouterAccess, view: View): RouterAccessStatus {
  const { site } = view.plan;
  const key = keyOf(routerAccess);
  const accesses =
    site === undefined ? [] : listAccesses(view.resources, site, view.access).accesses.filter(({ resource }) => resource === key);
  const endpoints = endpointsFor(accesses, view);
  const conditions = {
    Configured: firstOf(configured(view), ...accesses.map((access) => opened(access, view))),
    Resolved: isForLocalProgramsOnly(routerAccess) ? done : resolved(endpoints, view),
  };
  return { ...statusOf(conditions, view), ...(endpoints.length === 0 ? {} : { endpoints }) };
}

/** Describes what stands in front of pods; without a cluster, only its configuration is reported. */
export function observeSecuredAccess(access: SecuredAccess, view: View): SecuredAccessStatus {
  const { routers } = view;
  if (routers === undefined) return statusOf({ Configured: configured(view) }, view);
  const endpoints = routers.endpoints.get(keyOf(access)) ?? [];
  return {
    ...statusOf({ Configured: configured(view), Resolved: resolved(endpoints, view) }, view),
    ...(endpoints.length === 0 ? {} : { endpoints }),
  };
}

/** Does not wait for routers that run in other processes. */
function opened(access: Access, { router, routers }: View): Progress {
  if (routers !== undefined) return done;
  return firstOf(
    ...access.roles.map(({ role }) => {
      const state = stateOf(router?.accesses, accessName(access, role));
      return state?.listening === false ? firstOf(inRouter(state), opening(access)) : inRouter(state);
    }),
  );
}

function opening({ bindHost }: Access): Progress {
  const what = bindHost === undefined || isIP(bindHost) !== 0 ? '' : `; the name ${quoted(bindHost)} must be resolved first`;
  return waiting('opening', `its port is being opened${what}`);
}

function resolved(endpoints: readonly Endpoint[], { routers }: View): Progress {
  if (endpoints.length > 0) return done;
  return waiting(
    'no-endpoints',
    routers === undefined ? 'the site does not listen for links yet' : 'its addresses for other sites are not known yet',
  );
}

function endpointsFor(accesses: readonly Access[], { router, routers, reach }: View): readonly Endpoint[] {
  if (routers !== undefined) return accesses.flatMap(({ resource }) => routers.endpoints.get(resource) ?? []);
  return router === undefined ? [] : accesses.flatMap((access) => endpointsOf(access, reach, router.accesses));
}
