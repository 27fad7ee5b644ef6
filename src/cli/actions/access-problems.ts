/** Problems of names in certificates and of access types, which otherwise show only after files are applied. */
import { covers } from '../../explain/connection/site.ts';
import { problemOf } from '../../errors/problem.ts';
import type { TlsBundle } from '../../identity/tls-bundle.ts';
import type { Platform } from '../../site/capabilities.ts';
import { isWildcard } from '../../site/plan/fields.ts';
import { errorIn, warningIn, type ResourceProblem } from '../../site/problem.ts';
import { keyOf, nameOf, type SiteObject } from '../../site/resources.ts';
import { listeners } from '../../api/listeners/index.ts';
import type { Resource } from '../../kube/resource.ts';
import { gateways, httpProxies, ingresses, routes } from '../../site-controller/access/kinds.ts';
import { ACCESS_TYPES, accessTypeOf } from '../../site-controller/access/access-type.ts';
import { quoted } from '../../text/printable.ts';
import { alternativeNames, namesAll } from '../../x509/alternative-names.ts';
import { certificateFacts } from '../../x509/facts.ts';

/** @param bundles those that come with the objects, by name */
export function accessProblems(
  objects: readonly SiteObject[],
  bundles: ReadonlyMap<string, TlsBundle>,
  platform: Pick<Platform, 'capabilities'>,
): readonly ResourceProblem[] {
  const named = certificateNames(objects, bundles);
  return objects.flatMap((object) => [...hostProblems(object), ...missingNames(object, named), ...typeProblems(object, platform)]);
}

/** A host must fit into a certificate, also that of an access whose certificate the site issues. */
function hostProblems(object: SiteObject): readonly ResourceProblem[] {
  if (object.kind === 'Certificate') return invalidHosts(object, 'spec.hosts', object.spec.hosts);
  if (object.kind === 'RouterAccess') return invalidHosts(object, 'spec.subjectAlternativeNames', object.spec.subjectAlternativeNames);
  return [];
}

function invalidHosts(object: SiteObject, field: string, hosts: readonly string[] = []): readonly ResourceProblem[] {
  return hosts.flatMap((host) => {
    try {
      alternativeNames([host], []);
      return [];
    } catch (error) {
      const { code, message } = problemOf(error);
      return [errorIn(keyOf(object), field, code, `${message}; correct it.`)];
    }
  });
}

/** Host names of the certificates that files contain, by the name of their bundle. */
function certificateNames(objects: readonly SiteObject[], bundles: ReadonlyMap<string, TlsBundle>): ReadonlyMap<string, readonly string[]> {
  const given = [...bundles].flatMap(([name, { cert }]) => {
    try {
      return cert === undefined ? [] : [[name, certificateFacts(cert, name).hosts] as const];
    } catch {
      // The check of the bundle reports it.
      return [];
    }
  });
  const ordered = objects.flatMap((object) => (object.kind === 'Certificate' ? [[nameOf(object), object.spec.hosts ?? []] as const] : []));
  return new Map([...ordered, ...given]);
}

/** Other sites check the announced hosts against the certificate. A certificate that the system creates for the access has them. */
function missingNames(object: SiteObject, named: ReadonlyMap<string, readonly string[]>): readonly ResourceProblem[] {
  if (object.kind !== 'RouterAccess' || object.spec.generateTlsCredentials === true) return [];
  const { tlsCredentials = '', bindHost, subjectAlternativeNames = [] } = object.spec;
  const names = named.get(tlsCredentials);
  if (names === undefined) return [];
  const announced = subjectAlternativeNames.length === 0 && !isWildcard(bindHost) ? [bindHost] : subjectAlternativeNames;
  return announced
    .filter((host) => !names.some((name) => covers(name, host)) && !namesAll(names, [host]))
    .map((host) => {
      const message = `the access announces ${quoted(host)}, which the certificate ${quoted(tlsCredentials)} does not contain; add it there.`;
      return errorIn(keyOf(object), 'spec.tlsCredentials', 'tls-host-mismatch', message);
    });
}

/** The controller of the cluster decides which types it enables. */
const anyType = { enabledTypes: ACCESS_TYPES, defaultType: '' };

function typeProblems(object: SiteObject, { capabilities }: Pick<Platform, 'capabilities'>): readonly ResourceProblem[] {
  const found = accessTypeIn(object);
  if (found === undefined) return [];
  const { field, type } = found;
  if (!capabilities.has('services')) {
    const message = `${quoted(type)} exists on Kubernetes only, and means default here; write default.`;
    return [warningIn(keyOf(object), field, 'not-on-platform', message)];
  }
  // The rules of a Site's spec include its access.
  if (object.kind === 'Site') return [];
  const known = accessTypeOf(type, anyType, true);
  return typeof known === 'string' ? [errorIn(keyOf(object), field, 'access-type', known)] : [];
}

/** APIs that a cluster may lack, by the access types that need them. */
const NEEDED_APIS: ReadonlyMap<string, Resource> = new Map<string, Resource>([
  ['route', routes],
  ['ingress', ingresses],
  ['ingress-nginx', ingresses],
  ['contour-http-proxy', httpProxies],
  ['gateway', gateways],
  ['listenerclass', listeners],
]);

/** Access types that need an API that the cluster does not serve. @param findServed returns those of the kinds that it serves */
export async function missingApiProblems(
  objects: readonly SiteObject[],
  findServed: (kinds: readonly Resource[]) => Promise<readonly Resource[]>,
): Promise<readonly ResourceProblem[]> {
  const uses = objects.flatMap((object) => {
    const { field = '', type = '' } = accessTypeIn(object) ?? {};
    const api = NEEDED_APIS.get(type.split(':')[0] ?? '');
    return api === undefined ? [] : [{ resource: keyOf(object), field, type, api }];
  });
  const kinds = [...new Set(uses.map(({ api }) => api))];
  const served = new Set(kinds.length === 0 ? [] : await findServed(kinds));
  return uses
    .filter(({ api }) => !served.has(api))
    .map(({ resource, field, type, api: { kind, group } }) => {
      const message = `${quoted(type)} needs the kind ${kind} of ${group}, which this cluster does not serve; use another type.`;
      return errorIn(resource, field, 'access-type', message);
    });
}

/** The access type that an object names; undefined if the platform chooses, or nothing is opened. */
function accessTypeIn(object: SiteObject): { readonly field: string; readonly type: string } | undefined {
  const isSite = object.kind === 'Site';
  if (!isSite && object.kind !== 'RouterAccess' && object.kind !== 'SecuredAccess') return undefined;
  const { field, type = '' } = isSite
    ? { field: 'spec.linkAccess', type: object.spec.linkAccess }
    : { field: 'spec.accessType', type: object.spec.accessType };
  return ['', 'default', ...(isSite ? ['none'] : [])].includes(type) ? undefined : { field, type };
}
