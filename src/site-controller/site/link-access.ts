import { routerAccesses, type RouterAccess, type Site } from '../../api/skupper/index.ts';
import { annotation, ROUTER, SITE_SERVER } from '../../api/skupper/cluster-names.ts';
import { API_VERSION, DEFAULT_PORTS, EDGE, INTER_ROUTER } from '../../api/skupper/names.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import { emptyDesiredState, type DesiredState } from '../desired-state.ts';
import { gone } from './own-objects.ts';
import { defaultIssuerOf, linkAccessOf } from './site-spec.ts';

/** The RouterAccess that `Site.spec.linkAccess` requests. */
export function linkAccessObjects(view: NamespaceView, site: Site): DesiredState {
  const access = linkAccessOf(site, view.settings.access);
  // An invalid value leaves an existing RouterAccess unchanged.
  if (access.kind === 'unsupported') return emptyDesiredState;
  const others = view.resources.RouterAccess.filter((each) => nameOf(each) !== ROUTER);
  const own = view.resources.RouterAccess.find((each) => nameOf(each) === ROUTER);
  const unreadable = view.unreadable.find((each) => keyOf(each) === `RouterAccess/${ROUTER}`);
  // A user's RouterAccess of this name takes precedence. So does another RouterAccess that used these ports first.
  if ([own, unreadable].some((each) => each !== undefined && each.metadata.annotations?.[annotation.controlled] !== 'true'))
    return emptyDesiredState;
  const taken = new Set(others.flatMap(({ spec }) => spec.roles.map(portOf)));
  const held = new Set(own?.spec.roles.map(portOf));
  const roles = [INTER_ROUTER, EDGE]
    .map((name) => ({ name, port: portOf({ name }) }))
    .filter(({ port }) => held.has(port) || !taken.has(port));
  if (access.kind !== 'by' || roles.length === 0) return gone(view, routerAccesses, ROUTER);
  return {
    ...emptyDesiredState,
    objects: [{ of: routerAccesses, object: routerAccess(site, access.accessType, roles), for: keyOf(site) }],
  };
}

function portOf({ name, port = 0 }: RouterAccess['spec']['roles'][number]): number {
  return port === 0 ? DEFAULT_PORTS[name === EDGE ? EDGE : INTER_ROUTER] : port;
}

function routerAccess(site: Site, accessType: string, roles: RouterAccess['spec']['roles']): RouterAccess {
  const { ingressClassName = '' } = site.spec.settings ?? {};
  return {
    apiVersion: API_VERSION,
    kind: 'RouterAccess',
    metadata: { name: ROUTER, annotations: { [annotation.controlled]: 'true' }, ownerReferences: [ownerOf(site)] },
    spec: {
      ...(accessType === '' ? {} : { accessType }),
      roles,
      tlsCredentials: SITE_SERVER,
      generateTlsCredentials: true,
      issuer: defaultIssuerOf(site),
      ...(ingressClassName === '' ? {} : { settings: { ingressClassName } }),
    },
  };
}
