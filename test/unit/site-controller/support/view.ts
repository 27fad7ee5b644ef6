import { keptObjects } from '../../../../src/site-controller/kept-objects.ts';
import type { NamespaceView } from '../../../../src/site-controller/namespace-view.ts';
import type { ControllerSettings } from '../../../../src/site-controller/settings.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import { apiVersionOf, type Resource } from '../../../../src/kube/resource.ts';
import { sortResources, type SiteObject } from '../../../../src/site/resources.ts';

export const settings: ControllerSettings = {
  name: 'skupper-controller',
  namespace: 'skupper',
  version: '1.0.0',
  requireExplicitControl: false,
  routerImage: 'localhost/earshot:1.0.0',
  routerImagePullPolicy: 'IfNotPresent',
  imagePullSecrets: [],
  disableSecurityContext: false,
  access: {
    enabledTypes: ['local', 'loadbalancer', 'route'],
    defaultType: '',
    clusterHost: '',
    ingressDomain: '',
    ingressClassName: '',
    httpProxyDomain: '',
    gatewayDomain: '',
    gatewayClass: '',
    gatewayPort: 8443,
  },
  grants: { enabled: true, autoconfigure: true, baseUrl: '', port: 9090, tlsCredentials: 'skupper-grant-server', podName: '' },
};

function projectionOf(of: Resource): (object: KubeObject) => KubeObject | undefined {
  const project = keptObjects.find((kept) => kept.of.plural === of.plural && kept.of.group === of.group)?.project;
  return project ?? ((object) => object);
}

/** One namespace that holds these, whose first Site by name runs. */
export function viewOf(
  objects: readonly KubeObject[],
  {
    namespace = 'west',
    settings: changed = {},
    elsewhere = [],
    unserved = [],
    unreadable = [],
  }: {
    readonly namespace?: string;
    readonly settings?: Partial<ControllerSettings>;
    readonly elsewhere?: readonly KubeObject[];
    readonly unserved?: readonly Resource[];
    readonly unreadable?: readonly SiteObject[];
  } = {},
): NamespaceView {
  const resources = sortResources(
    objects.filter(({ apiVersion }) => apiVersion === 'skupper.io/v2alpha1') as unknown as readonly SiteObject[],
  );
  // Objects found for a kind are of that kind.
  const of = <T extends KubeObject>(kind: Resource<T>, all: readonly KubeObject[]): readonly T[] =>
    all
      .filter((object) => object.kind === kind.kind && (object.apiVersion ?? apiVersionOf(kind)) === apiVersionOf(kind))
      // Rules see what the caches keep.
      .flatMap((object) => projectionOf(kind)(object) ?? []) as unknown as readonly T[];
  return {
    namespace,
    resources,
    unreadable,
    isUnreadable: () => false,
    site: resources.Site[0],
    settings: { ...settings, ...changed },
    anchor: undefined,
    revoked: { sites: [], serials: [] },
    list: (kind) => of(kind, objects),
    find: (kind, name) => of(kind, objects).find(({ metadata }) => metadata.name === name),
    elsewhere: (kind, other) => of(kind, elsewhere).filter((object) => object.metadata.namespace === other),
    podsOf: () => [],
    serves: (kind) => !unserved.includes(kind),
  };
}
