/** Ports on which the router accepts links of other sites. */
import { DEFAULT_PORTS, EDGE, INTER_ROUTER } from '../../api/skupper/names.ts';
import { annotation } from '../../api/skupper/cluster-names.ts';
import type { RouterAccess, Site } from '../../api/skupper/index.ts';
import type { AccessConfig } from '../../router/contract.ts';
import type { AccessRules } from '../capabilities.ts';
import { findBundle } from '../find-bundle.ts';
import type { Material } from '../material.ts';
import { errorIn, hasErrors, warningIn, type Planned, type ResourceProblem } from '../problem.ts';
import { keyOf, nameOf, type ResourceKey, type SiteResources } from '../resources.ts';
import { isGiven, isWildcard } from './fields.ts';
import { quoted } from '../../text/printable.ts';
import { INTER_NETWORK, narrowingProblems, refusedWithSite } from './narrowing.ts';
import { SETTING, settingOf } from '../settings.ts';
import { priorRevisionsOf } from './prior-revisions.ts';

export type Role = AccessConfig['role'];

/** A RouterAccess, or the access that `Site.spec.linkAccess` requests. */
export interface Access {
  readonly resource: ResourceKey;
  /** Used in the names of links and files. */
  readonly name: string;
  readonly roles: readonly { readonly role: Role; readonly port: number }[];
  readonly bindHost?: string;
  /** Hosts that the resource names. */
  readonly hosts: readonly string[];
  /** Bundle that the router presents. */
  readonly bundle: string;
  /** Whether the site issues that bundle itself, unless the user has given one. */
  readonly issued: boolean;
  readonly issuer?: string;
}

export interface AccessList {
  readonly accesses: readonly Access[];
  readonly problems: readonly ResourceProblem[];
}

/** Resources of a site that let other sites in. */
type AccessSources = Pick<SiteResources, 'RouterAccess'>;

/** Whether other sites can link to this one. */
export function acceptsLinks(resources: AccessSources, site: Site, rules: AccessRules = onMachines): boolean {
  // The RouterAccess for `linkAccess` may not exist yet.
  const awaited = rules.impliedBundle === undefined && site.spec.edge !== true && letsIn(site);
  return awaited || listAccesses(resources, site, rules).accesses.length > 0;
}

/** Name of the bundle for `linkAccess`. A user's bundle of this name takes its place. */
export const SITE_SERVER_BUNDLE = 'earshot-site-server';

const onMachines: AccessRules = { impliedBundle: SITE_SERVER_BUNDLE, freePorts: true, issuesBundles: true };

/** Caches the lists, which are requested repeatedly for one set of resources. */
const known = new WeakMap<AccessSources, { readonly site: Site; readonly rules: AccessRules; readonly list: AccessList }[]>();

export function listAccesses(resources: AccessSources, site: Site, rules: AccessRules = onMachines): AccessList {
  const lists = known.getOrInsert(resources, []);
  const found = lists.find((each) => each.site === site && each.rules === rules);
  if (found !== undefined) return found.list;
  const list = accessesIn(resources, site, rules);
  lists.push({ site, rules, list });
  return list;
}

function accessesIn(resources: AccessSources, site: Site, rules: AccessRules): AccessList {
  if (site.spec.edge === true) return { accesses: [], problems: refusedAtEdge(resources, site) };
  const problems: ResourceProblem[] = [];
  const accesses = [...impliedAccess(site, resources, rules)];
  for (const routerAccess of resources.RouterAccess.toSorted(byAge)) {
    const resource = keyOf(routerAccess);
    const { spec } = routerAccess;
    problems.push(...narrowingProblems(routerAccess));
    const roles: Access['roles'][number][] = [];
    for (const [index, { name, port }] of spec.roles.entries()) {
      if (name === INTER_NETWORK) continue;
      if (name === NORMAL) {
        const message = 'it is for local programs that speak AMQP, which this router does not, so no port is opened for it; remove it.';
        problems.push(warningIn(resource, `spec.roles[${index}].name`, 'role', message));
        continue;
      }
      if (name !== INTER_ROUTER && name !== EDGE) {
        const message = `${quoted(name)} is not a role, so it is ignored; use inter-router or edge.`;
        problems.push(warningIn(resource, `spec.roles[${index}].name`, 'role', message));
        continue;
      }
      const number = port === undefined || (port === 0 && !rules.freePorts) ? DEFAULT_PORTS[name] : port;
      const holder =
        rules.reserved === undefined ? undefined : holderOf(number, spec.bindHost, [...accesses, { name: '', roles }], rules.reserved);
      if (holder !== undefined) {
        problems.push(
          errorIn(resource, `spec.roles[${index}].port`, 'port-taken-twice', `${holder} has port ${number}; choose another port.`),
        );
        continue;
      }
      roles.push({ role: name, port: number });
    }
    if (isForLocalProgramsOnly(routerAccess)) continue;
    if (roles.length === 0 && hasErrors(problems.filter((problem) => problem.resource === resource))) continue;
    if (roles.length === 0) {
      const message = 'they contain neither inter-router nor edge, so no site can link here; add one.';
      problems.push(errorIn(resource, 'spec.roles', 'no-role', message));
      continue;
    }
    accesses.push({
      resource,
      name: nameOf(routerAccess),
      roles,
      ...(isWildcard(spec.bindHost) ? {} : { bindHost: spec.bindHost }),
      hosts: spec.subjectAlternativeNames ?? [],
      bundle: isGiven(spec.tlsCredentials) ? spec.tlsCredentials : nameOf(routerAccess),
      issued: rules.issuesBundles === true || spec.generateTlsCredentials === true,
      ...(isGiven(spec.issuer) ? { issuer: spec.issuer } : {}),
    });
  }
  return { accesses, problems };
}

/** Role for local clients of another router's protocol. Published manifests contain it. */
const NORMAL = 'normal';

/** Whether no port is opened for it, and none is missing. */
export function isForLocalProgramsOnly({ spec: { roles } }: RouterAccess): boolean {
  return roles.length > 0 && roles.every(({ name }) => name === NORMAL);
}

/** The oldest keeps its port, because links use it. The Site's own access comes first: it had its ports before others asked for them. */
function byAge(one: RouterAccess, other: RouterAccess): number {
  const [ours, theirs] = [one, other].map(({ metadata }) => metadata.annotations?.[annotation.controlled] === 'true');
  if (ours !== theirs) return ours === true ? -1 : 1;
  const [age, others] = [one, other].map(({ metadata }) => metadata.creationTimestamp ?? '');
  return age === others ? 0 : (age ?? '') < (others ?? '') ? -1 : 1;
}

/** An edge site forwards nothing between other sites, so it does not accept their links. */
function refusedAtEdge({ RouterAccess }: AccessSources, site: Site): readonly ResourceProblem[] {
  const message = 'an edge site does not accept links, so no port is opened for links';
  return [
    ...(letsIn(site) ? [errorIn(keyOf(site), 'spec.linkAccess', 'edge-access', `${message}; use none, or remove edge.`)] : []),
    ...RouterAccess.filter((access) => !isForLocalProgramsOnly(access)).map((access) =>
      errorIn(keyOf(access), 'spec.roles', 'edge-access', `${message}; delete this resource, or remove edge from the Site.`),
    ),
  ];
}

export function letsIn({ spec: { linkAccess } }: Pick<Site, 'spec'>): boolean {
  return isGiven(linkAccess) && linkAccess !== 'none';
}

function impliedAccess(site: Site, resources: AccessSources, { impliedBundle: bundle }: AccessRules): readonly Access[] {
  if (!letsIn(site) || bundle === undefined) return [];
  // A RouterAccess with these ports takes precedence.
  const taken = new Set(resources.RouterAccess.flatMap(({ spec }) => spec.roles.map(({ name, port }) => port ?? defaultPort(name))));
  const roles = ([INTER_ROUTER, EDGE] as const).map((role) => ({ role, port: DEFAULT_PORTS[role] })).filter(({ port }) => !taken.has(port));
  if (roles.length === 0) return [];
  return [{ resource: keyOf(site), name: nameOf(site), roles, hosts: [], bundle, issued: true }];
}

/** Holder of a port, for a message; undefined if the port is free. */
function holderOf(
  port: number,
  bindHost: string | undefined,
  others: readonly Pick<Access, 'name' | 'roles' | 'bindHost'>[],
  reserved: ReadonlySet<number>,
): string | undefined {
  if (reserved.has(port)) return 'the router itself';
  const meets = (other: string | undefined): boolean => isWildcard(other) || isWildcard(bindHost) || other === bindHost;
  const holder = others.find((other) => meets(other.bindHost) && other.roles.some((role) => role.port === port));
  if (holder === undefined) return undefined;
  return holder.name === '' ? 'another of its roles' : `RouterAccess ${quoted(holder.name)}`;
}

function defaultPort(role: string): number | undefined {
  return role === INTER_ROUTER || role === EDGE ? DEFAULT_PORTS[role] : undefined;
}

export function planAccesses(resources: SiteResources, site: Site, material: Material): Planned<AccessConfig> {
  const { accesses, problems: listed } = listAccesses(resources, site, material.access);
  const configs: AccessConfig[] = [];
  const problems = [
    ...listed,
    ...(accesses.length === 0 && !acceptsLinks(resources, site, material.access) ? uselessGrants(resources, site) : []),
  ];
  const ofSite = refusedWithSite(site, resources.RouterAccess);
  problems.push(...ofSite);
  // Only the ports stay closed: what a cluster created for them keeps its addresses.
  const refused = new Set([...listed.filter(({ code }) => code === 'not-supported'), ...ofSite].map(({ resource }) => resource));
  for (const access of accesses) {
    if (refused.has(access.resource)) continue;
    const { bundle, problems: found } = findBundle(material, access.bundle, 'server', access.resource);
    problems.push(...found);
    if (bundle === undefined) continue;
    const ca = [bundle.ca, material.siteAuthority].filter((pem) => pem !== undefined).join('\n');
    const { priorRevisions = priorRevisionsOf(site) } = bundle;
    for (const { role, port } of access.roles) {
      configs.push({
        name: accessName(access, role),
        ...(access.bindHost === undefined ? {} : { host: access.bindHost }),
        port,
        tls: ca === '' ? bundle : { ...bundle, ca },
        role,
        ...(priorRevisions === undefined ? {} : { priorRevisions }),
        ...(settingOf(site, SETTING.unmarked) === 'refuse' ? { unmarked: 'refused' } : {}),
      });
    }
  }
  return { configs, problems };
}

/** Problems of grants whose site accepts no links. */
export function uselessGrants({ AccessGrant }: Pick<SiteResources, 'AccessGrant'>, site: Site): readonly ResourceProblem[] {
  const remedy =
    site.spec.edge === true
      ? 'this is an edge site, which does not accept links.'
      : 'set spec.linkAccess: default in the Site, or create a RouterAccess.';
  const message = `its tokens would be useless, because no other site can link to this one; ${remedy}`;
  return AccessGrant.map((grant) => ({ resource: keyOf(grant), severity: 'error', code: 'no-access', message }));
}

export function accessName(access: Access, role: Role): string {
  return `${access.resource}/${role}`;
}
