import { accessEndpoints } from '../../../../src/site-controller/access/access-endpoints.ts';
import { accessObjects } from '../../../../src/site-controller/access/access-objects.ts';
import type { NamespaceView } from '../../../../src/site-controller/namespace-view.ts';
import type { AccessSettings } from '../../../../src/site-controller/settings.ts';
import type { RouterAccess, SecuredAccess, Site } from '../../../../src/api/skupper/index.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import type { Resource } from '../../../../src/kube/resource.ts';
import { settings, viewOf } from '../support/view.ts';

const apiVersion = 'skupper.io/v2alpha1';

export const created = { 'internal.skupper.io/controlled': 'true' };
export const labelled = { 'internal.skupper.io/secured-access': 'true' };
export const marks = { labels: labelled, annotations: created };

export const enabledTypes = ['local', 'loadbalancer', 'nodeport', 'route', 'ingress', 'ingress-nginx', 'contour-http-proxy', 'gateway'];

export function aSite(spec: Site['spec'] = {}): Site {
  return { apiVersion, kind: 'Site', metadata: { name: 'west', uid: 'site' }, spec };
}

export function aRouterAccess(spec: Partial<RouterAccess['spec']> = {}, name = 'skupper-router'): RouterAccess {
  return {
    apiVersion,
    kind: 'RouterAccess',
    metadata: { name, uid: `ra-${name}` },
    spec: {
      roles: [
        { name: 'inter-router', port: 55_671 },
        { name: 'edge', port: 45_671 },
      ],
      tlsCredentials: 'skupper-site-server',
      generateTlsCredentials: true,
      ...spec,
    },
  };
}

export function anAccess(accessType: string | undefined, spec: Partial<SecuredAccess['spec']> = {}, name = 'a'): SecuredAccess {
  return {
    apiVersion,
    kind: 'SecuredAccess',
    metadata: { name, uid: `sa-${name}` },
    spec: {
      ports: [
        { name: 'inter-router', port: 55_671 },
        { name: 'edge', port: 45_671 },
      ],
      selector: { app: 'router' },
      ...(accessType === undefined ? {} : { accessType }),
      ...spec,
    },
  };
}

export interface Given {
  readonly there?: readonly KubeObject[];
  readonly access?: Partial<AccessSettings>;
  readonly unserved?: readonly Resource[];
  readonly elsewhere?: readonly KubeObject[];
}

export function seen(objects: readonly KubeObject[], { there = [], access = {}, ...given }: Given = {}): NamespaceView {
  return viewOf([...objects, ...there], { settings: { access: { ...settings.access, enabledTypes, ...access } }, ...given });
}

/** `Service a`, as they are wanted. */
export function desired(view: NamespaceView): readonly string[] {
  return accessObjects(view).objects.map(({ of, object }) => `${of.kind} ${object.metadata.name}`);
}

export function obsolete(view: NamespaceView): readonly string[] {
  return accessObjects(view).obsolete.map(({ of, object }) => `${of.kind} ${object.metadata.name}`);
}

export function desiredObject(view: NamespaceView, kind: string, name?: string): KubeObject & { readonly spec?: unknown } {
  const found = accessObjects(view).objects.find(
    ({ of, object }) => of.kind === kind && (name === undefined || object.metadata.name === name),
  );
  if (found === undefined) throw new Error(`no ${kind} ${name ?? ''} is desired`);
  return found.object;
}

/** `inter-router host:port`, with its group in front where it has one. */
export function told(
  view: NamespaceView,
  resource: 'SecuredAccess/a' | 'RouterAccess/skupper-router' = 'SecuredAccess/a',
): readonly string[] {
  const endpoints = accessEndpoints(view).get(resource) ?? [];
  return endpoints.map(({ group, name, host, port }) => `${group === undefined ? '' : `${group} `}${name} ${host}:${port}`);
}

export function problems(view: NamespaceView): readonly string[] {
  return accessObjects(view).problems.map(({ resource, code, message }) => `${resource} ${code} ${message}`);
}
