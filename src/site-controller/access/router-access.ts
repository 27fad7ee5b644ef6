/** SecuredAccesses that each RouterAccess of the active Site requests: one for each group of routers. */
import { annotation, label, ROUTER, SECOND_ROUTER, SITE_CA } from '../../api/skupper/cluster-names.ts';
import { skupperResources, type RouterAccess, type SecuredAccess, type Site } from '../../api/skupper/index.ts';
import { API_VERSION } from '../../api/skupper/names.ts';
import { secrets, services, type Resource } from '../../kube/resource.ts';
import { kubernetes } from '../../site/cluster-platform.ts';
import { foreignController } from '../../site/foreign-controller.ts';
import { listAccesses, type Access } from '../../site/plan/access.ts';
import { errorIn, hasErrors, type ResourceProblem } from '../../site/problem.ts';
import { findNamed, keyOf, nameOf, type ResourceKey, type SiteObject } from '../../site/resources.ts';
import { quoted } from '../../text/printable.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import type { DesiredObject } from '../desired-state.ts';

export interface Asked {
  readonly item: DesiredObject<SecuredAccess>;
  readonly by: ResourceKey;
  /** Group of routers: the name of their Deployment. */
  readonly group: string;
}

export function askedByRouters(view: NamespaceView): { readonly asked: readonly Asked[]; readonly problems: readonly ResourceProblem[] } {
  const { resources, site } = view;
  if (site === undefined) return { asked: [], problems: [] };
  const { accesses, problems: listed } = listAccesses(resources, site, kubernetes.access);
  const asked: Asked[] = [];
  const problems = [...listed];
  const names = new Set(accesses.map(({ name }) => name));
  const held = accesses.length === 0 ? new Map<unknown, string>() : heldByListeners(view);
  for (const access of accesses) {
    const routerAccess = findNamed(resources.RouterAccess, access.name);
    if (routerAccess === undefined || keyOf(routerAccess) !== access.resource) continue;
    const found = [...portTaken(access, held), ...bundleMissing(access, view)];
    problems.push(...found);
    if (hasErrors(found.filter(({ code }) => code === 'port-taken-twice'))) continue;
    for (const [group, name] of groupsOf(site, access.name)) {
      const taken = isTaken(name, routerAccess, view) || (name !== access.name && names.has(name));
      if (taken) problems.push(nameTaken(access.resource, name));
      else asked.push({ item: securedAccess(name, group, routerAccess, access, site), by: access.resource, group });
    }
  }
  return { asked, problems };
}

function groupsOf({ spec: { ha } }: Site, name: string): readonly (readonly [group: string, name: string])[] {
  return ha === true
    ? [
        [ROUTER, name],
        [SECOND_ROUTER, `${name}-2`],
      ]
    : [[ROUTER, name]];
}

function securedAccess(
  name: string,
  group: string,
  { metadata, spec, ...rest }: RouterAccess,
  access: Access,
  site: Site,
): DesiredObject<SecuredAccess> {
  const { accessType = '', settings = {} } = spec;
  const { defaultIssuer = '' } = site.spec;
  return {
    of: skupperResources.SecuredAccess as Resource<SecuredAccess>,
    object: {
      apiVersion: API_VERSION,
      kind: 'SecuredAccess',
      metadata: {
        name,
        annotations: { [annotation.controlled]: 'true', [annotation.routerAccess]: access.name },
        ownerReferences: [ownerOf({ ...rest, metadata })],
      },
      spec: {
        ports: access.roles.map(({ role, port }) => ({ name: role, port, targetPort: port, protocol: 'TCP' })),
        selector: { [label.component]: 'router', [label.group]: group },
        ...(accessType === '' || accessType === 'default' ? {} : { accessType }),
        ...(access.issued ? { certificate: access.bundle, issuer: access.issuer ?? (defaultIssuer === '' ? SITE_CA : defaultIssuer) } : {}),
        ...(Object.keys(settings).length === 0 ? {} : { settings }),
      },
    },
    for: access.resource,
  };
}

/** Router ports that Listeners use, each with the name of the Listener's Service. */
function heldByListeners(view: NamespaceView): ReadonlyMap<unknown, string | undefined> {
  const ofListeners = view.list(services).filter(({ metadata }) => metadata.labels?.[label.listener] !== undefined);
  return new Map(
    ofListeners.flatMap(({ metadata, spec }) => (spec?.ports ?? []).map(({ targetPort }) => [targetPort, metadata.name] as const)),
  );
}

/** A port that a Listener already uses stays with the Listener, which may have open connections. */
function portTaken({ resource, roles }: Access, held: ReadonlyMap<unknown, string | undefined>): readonly ResourceProblem[] {
  return roles.flatMap(({ port }) => {
    const name = held.get(port);
    if (name === undefined) return [];
    const message = `the router listens on port ${port} for Service ${quoted(name)}; choose another one.`;
    return [errorIn(resource, 'spec.roles', 'port-taken-twice', message)];
  });
}

function bundleMissing({ resource, bundle, issued }: Access, view: NamespaceView): readonly ResourceProblem[] {
  if (issued || view.find(secrets, bundle) !== undefined) return [];
  const message = `TLS credentials secret ${quoted(bundle)} not found; create it, or set spec.generateTlsCredentials.`;
  return [errorIn(resource, 'spec.tlsCredentials', 'tls-missing', message)];
}

/** Whether a user owns a SecuredAccess of that name. */
function isTaken(name: string, { metadata }: RouterAccess, { resources, unreadable }: NamespaceView): boolean {
  const found = [...resources.SecuredAccess, ...unreadable.filter(isSecuredAccess)].find((each) => nameOf(each) === name);
  return found !== undefined && !isOfRouter(found) && !(found.metadata.ownerReferences ?? []).some(({ uid }) => uid === metadata.uid);
}

function isSecuredAccess(object: SiteObject): object is SecuredAccess & SiteObject {
  return object.kind === 'SecuredAccess';
}

export function isOfRouter({ metadata }: SecuredAccess): boolean {
  const { annotations = {} } = metadata;
  return (
    annotations[annotation.controlled] === 'true' &&
    annotations[annotation.routerAccess] !== undefined &&
    foreignController(metadata) === undefined
  );
}

function nameTaken(resource: ResourceKey, name: string): ResourceProblem {
  const message = `SecuredAccess ${quoted(name)} already exists in namespace, and does not belong to this RouterAccess; rename one of the two.`;
  return errorIn(resource, 'metadata.name', 'object-foreign', message);
}
