import { routerAccesses, type RouterAccess, type Site } from '../../api/skupper/index.ts';
import { annotation, ROUTER, SITE_SERVER } from '../../api/skupper/cluster-names.ts';
import { API_VERSION, DEFAULT_PORTS, EDGE, INTER_ROUTER } from '../../api/skupper/names.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import { noWishes, type Wishes } from '../wishes.ts';
import { gone } from './own-objects.ts';
import { defaultIssuerOf, linkAccessOf } from './site-spec.ts';

/** The RouterAccess that `Site.spec.linkAccess` stands for. */
export function linkAccessObjects(view: NamespaceView, site: Site): Wishes {
  const access = linkAccessOf(site, view.settings.access);
  // What is written wrong leaves alone what has worked.
  if (access.kind === 'unsupported') return noWishes;
  const others = view.resources.RouterAccess.filter((each) => nameOf(each) !== ROUTER);
  const own = view.resources.RouterAccess.find((each) => nameOf(each) === ROUTER);
  // A person's own of this name says it better; so does another one with these ports.
  if (own !== undefined && own.metadata.annotations?.[annotation.controlled] !== 'true') return noWishes;
  const taken = new Set(others.flatMap(({ spec }) => spec.roles.map(({ name, port }) => port ?? (name === EDGE ? EDGE_PORT : LINK_PORT))));
  const roles = [INTER_ROUTER, EDGE]
    .map((name) => ({ name, port: name === EDGE ? EDGE_PORT : LINK_PORT }))
    .filter(({ port }) => !taken.has(port));
  if (access.kind !== 'by' || roles.length === 0) return gone(view, routerAccesses, ROUTER);
  return { ...noWishes, objects: [{ of: routerAccesses, object: routerAccess(site, access.accessType, roles), for: keyOf(site) }] };
}

const LINK_PORT = DEFAULT_PORTS[INTER_ROUTER];
const EDGE_PORT = DEFAULT_PORTS[EDGE];

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
