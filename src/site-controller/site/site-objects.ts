import type { Site } from '../../api/skupper/index.ts';
import {
  label,
  LOCAL_CA,
  LOCAL_SERVER,
  NETWORK_STATUS,
  RENEWALS,
  ROUTER,
  ROUTER_DATA,
  ROUTER_LOCAL,
  ROUTER_PORTS,
  ROUTER_SELECTOR,
  SECOND_ROUTER,
  SITE_CA,
} from '../../api/skupper/cluster-names.ts';
import { isOfAnotherSite } from '../../api/skupper/other-site.ts';
import { routerRights } from '../../api/skupper/router-rights.ts';
import type { ConfigMap, KubeObject, PodDisruptionBudget, Service } from '../../kube/objects.ts';
import { configMaps, deployments, podDisruptionBudgets, roleBindings, roles, serviceAccounts, services } from '../../kube/resource.ts';
import { formatAnchor } from '../../trust/anchor.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import { desiredCertificate, type DesiredCertificate } from '../trust/certificate-object.ts';
import { mergeDesiredStates, emptyDesiredState, type DesiredState } from '../desired-state.ts';
import { linkAccessObjects } from './link-access.ts';
import { gone, own } from './own-objects.ts';
import { ROUTER_LABELS, routerDeployment } from './router-deployment.ts';
import { routerSecrets } from './router-secrets.ts';
import { isTwofold, specProblems } from './site-spec.ts';
import { sizeOf } from './size.ts';

/** Objects that the site itself needs in its namespace: routers, their accounts and permissions, configuration, CAs. */
export function siteObjects(view: NamespaceView): DesiredState {
  const { site, settings } = view;
  if (site === undefined) return emptyDesiredState;
  return mergeDesiredStates([
    { ...emptyDesiredState, problems: specProblems(site, settings.access) },
    accounts(view, site),
    configs(view, site),
    certificates(view, site),
    own(view, services, localService(site), keyOf(site)),
    linkAccessObjects(view, site),
    routers(view, site),
  ]);
}

function routers(view: NamespaceView, site: Site): DesiredState {
  const { settings } = view;
  const twofold = isTwofold(site);
  const pods = {
    serviceAccount: accountOf(site) ?? ROUTER,
    resources: sizeOf(site, view.elsewhere(configMaps, settings.namespace)),
    spread: site.spec.settings?.['disable-anti-affinity'] !== 'true',
  };
  const desired = (group: string): DesiredState =>
    own(view, deployments, routerDeployment(site, settings, { group, ...pods }), keyOf(site));
  return mergeDesiredStates([
    desired(ROUTER),
    twofold ? desired(SECOND_ROUTER) : gone(view, deployments, SECOND_ROUTER),
    twofold ? own(view, podDisruptionBudgets, disruptionBudget(site), keyOf(site)) : gone(view, podDisruptionBudgets, ROUTER),
  ]);
}

/** A drain evicts a router only while the other one is ready. An unready router may always be evicted. */
function disruptionBudget(site: Site): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: ROUTER, labels: ROUTER_LABELS, ownerReferences: [ownerOf(site)] },
    spec: { minAvailable: 1, selector: { matchLabels: ROUTER_SELECTOR }, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
  };
}

/** A user's own ServiceAccount. Its user grants the permissions. */
function accountOf({ spec: { serviceAccount } }: Site): string | undefined {
  return serviceAccount === '' ? undefined : serviceAccount;
}

function accounts(view: NamespaceView, site: Site): DesiredState {
  if (accountOf(site) !== undefined) {
    return mergeDesiredStates([roleBindings, roles, serviceAccounts].map((of) => gone(view, of, ROUTER)));
  }
  const metadata = { name: ROUTER, ownerReferences: [ownerOf(site)] };
  const rbac = 'rbac.authorization.k8s.io';
  const { read, renew, problems } = routerSecrets(view, site);
  const desired = <T extends KubeObject>(of: Parameters<typeof own<T>>[1], object: T): DesiredState => own(view, of, object, keyOf(site));
  return mergeDesiredStates([
    { ...emptyDesiredState, problems },
    desired(serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata }),
    desired(roles, { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: routerRights(read, renew) }),
    desired(roleBindings, {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: ROUTER },
      subjects: [{ kind: 'ServiceAccount', name: ROUTER }],
    }),
  ]);
}

function configs(view: NamespaceView, site: Site): DesiredState {
  const labels = { [label.routerConfig]: '' };
  // The anchor of a former Site names its key, which is deleted with that Site. This Site would wait for it without end.
  const before = view.find(configMaps, ROUTER);
  const routerData = before === undefined || isOfAnotherSite(before, site.metadata.uid) ? undefined : before.data;
  const revoked = view.revoked === undefined ? routerData?.[ROUTER_DATA.revoked] : JSON.stringify(view.revoked);
  const anchor = view.anchor === undefined ? routerData?.[ROUTER_DATA.anchor] : formatAnchor(view.anchor);
  const data = {
    [ROUTER_DATA.site]: JSON.stringify({ name: nameOf(site), uid: site.metadata.uid }),
    ...(revoked === undefined ? {} : { [ROUTER_DATA.revoked]: revoked }),
    [ROUTER_JSON]: '[]',
  };
  const desired = (name: string, more: Partial<ConfigMap> = {}): DesiredState => {
    const metadata = { name, ...(more.data === undefined ? {} : { labels }), ownerReferences: [ownerOf(site)] };
    return own(view, configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata, ...more }, keyOf(site));
  };
  return mergeDesiredStates([
    desired(ROUTER, { data: { ...data, ...(anchor === undefined ? {} : { [ROUTER_DATA.anchor]: anchor }) } }),
    isTwofold(site) ? desired(SECOND_ROUTER, { data }) : gone(view, configMaps, SECOND_ROUTER),
    // The routers write the content of these two.
    desired(NETWORK_STATUS),
    desired(RENEWALS),
  ]);
}

/** Tools of Skupper look for the configuration of its router under this key. This router has no such configuration. */
const ROUTER_JSON = 'skrouterd.json';

/** CAs of a site, and the certificate that its routers use between each other. */
function certificates(view: NamespaceView, site: Site): DesiredState {
  const name = nameOf(site);
  const service = `${ROUTER_LOCAL}.${view.namespace}`;
  const local = [ROUTER_LOCAL, service, `${service}.svc.cluster.local`];
  const desired = (
    hosts: readonly string[],
    what: Pick<DesiredCertificate, 'name' | 'ca' | 'subject' | 'signing' | 'server'>,
  ): DesiredState => desiredCertificate(view, { ...what, owners: [{ owner: site, hosts }], for: keyOf(site) });
  return mergeDesiredStates([
    desired([], { name: SITE_CA, ca: '', subject: `${name} site CA`, signing: true }),
    desired([], { name: LOCAL_CA, ca: '', subject: `${name} local CA`, signing: true }),
    desired(local, { name: LOCAL_SERVER, ca: LOCAL_CA, subject: ROUTER_LOCAL, server: true }),
  ]);
}

function localService(site: Site): Service {
  const port = { name: 'amqps', port: ROUTER_PORTS.siblings, protocol: 'TCP', targetPort: ROUTER_PORTS.siblings };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: ROUTER_LOCAL, ownerReferences: [ownerOf(site)] },
    spec: { ipFamilyPolicy: 'PreferDualStack', selector: ROUTER_LABELS, ports: [port] },
  };
}
