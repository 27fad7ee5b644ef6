/** Objects of a console that a NetworkObserver asks for (pure). */
import { label, LOCAL_CA } from '../../api/skupper/cluster-names.ts';
import { certificates, skupperResources } from '../../api/skupper/index.ts';
import { GROUP } from '../../api/skupper/names.ts';
import type { Deployment, KubeObject, PolicyRule, Secret, Service } from '../../kube/objects.ts';
import { deployments, roleBindings, roles, serviceAccounts, services } from '../../kube/resource.ts';
import { keyOf } from '../../site/resources.ts';
import { emptyDesiredState, mergeDesiredStates, type DesiredState } from '../desired-state.ts';
import { ownerOf, type NamespaceView } from '../namespace-view.ts';
import type { ControllerSettings } from '../settings.ts';
import { gone, isOurs, own } from '../site/own-objects.ts';
import { desiredCertificate } from '../trust/certificate-object.ts';
import { OBSERVER_COMPONENT, PASSWORD_KEY, selectorOfConsole } from './observer-names.ts';
import { nameTaken, refusedFields } from './observer-problems.ts';
import { isOfObserver, readObserverSpec, type ObserverSpec } from './observer-spec.ts';
import { listObservers, ownersOfConsoles, type ListedObserver } from './observers.ts';

const CONSOLE_PORT = 8443;

/** The oldest of several with one name gets the console. */
export function observerObjects(view: NamespaceView): DesiredState {
  const observers = listObservers(view);
  const owners = ownersOfConsoles(observers);
  const all = observers.kept.map((observer): DesiredState => {
    const spec = readObserverSpec(observer);
    const owner = owners.get(spec.name) ?? observer;
    if (owner === observer) return objectsOf(view, observer, spec);
    return { ...emptyDesiredState, problems: [nameTaken(observer, owner)] };
  });
  return mergeDesiredStates(all);
}

function objectsOf(view: NamespaceView, observer: ListedObserver, spec: ObserverSpec): DesiredState {
  const resource = keyOf(observer);
  const refused = refusedFields(observer);
  if (refused.length > 0) return { ...emptyDesiredState, problems: refused };
  const metadata = { name: spec.name, labels: labelsOf(spec), ownerReferences: [ownerOf(observer)] };
  const desired = <T extends KubeObject>(of: Parameters<typeof own<T>>[1], object: T): DesiredState =>
    own(view, of, object, resource, (there) => isOurs(there) && isOfObserver(there));
  const rbac = 'rbac.authorization.k8s.io';
  const all = mergeDesiredStates([
    certificatesOf(view, observer, spec),
    desired(serviceAccounts, { apiVersion: 'v1', kind: 'ServiceAccount', metadata }),
    desired(roles, { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: rightsOf(spec) }),
    desired(roleBindings, {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: spec.name },
      subjects: [{ kind: 'ServiceAccount', name: spec.name }],
    }),
    desired(services, serviceOf(metadata, spec)),
    desired(deployments, deploymentOf(metadata, spec, view.settings)),
  ]);
  // A part of another owner could have more rights than a console.
  return all.problems.length === 0 ? all : { ...emptyDesiredState, problems: all.problems };
}

const labelsOf = (spec: ObserverSpec) => ({
  ...selectorOfConsole(spec.name),
  'app.kubernetes.io/part-of': 'skupper-network-observer',
  [label.component]: OBSERVER_COMPONENT,
});

const clientOf = ({ name }: ObserverSpec): string => `${name}-client`;

/** Kinds whose objects hold codes for links. */
const WITH_CODES: ReadonlySet<string> = new Set(['AccessGrant', 'AccessToken']);

/** Those of the chart's console, and no more than the controller has. */
function rightsOf(spec: ObserverSpec): readonly PolicyRule[] {
  const plurals = Object.values(skupperResources).flatMap(({ kind, plural }) => (WITH_CODES.has(kind) ? [] : [plural]));
  return [
    { apiGroups: [GROUP], resources: plurals, verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list', 'watch'] },
    { apiGroups: [''], resources: ['secrets'], resourceNames: [clientOf(spec)], verbs: ['get'] },
  ];
}

/** Certificates of the console at its Service, and for the API of the routers. */
function certificatesOf(view: NamespaceView, observer: ListedObserver, spec: ObserverSpec): DesiredState {
  const service = `${spec.name}.${view.namespace}`;
  const common = { ca: LOCAL_CA, subject: spec.name, for: keyOf(observer) };
  const server = {
    ...common,
    name: spec.tls.secret,
    server: true,
    owners: [{ owner: observer, hosts: [spec.name, service, `${service}.svc`, `${service}.svc.cluster.local`] }],
  };
  const client = { ...common, name: clientOf(spec), client: true, settings: { purpose: 'api' }, owners: [{ owner: observer, hosts: [] }] };
  return mergeDesiredStates([
    desiredCertificate(view, client),
    spec.tls.issuer === 'site' ? desiredCertificate(view, server) : gone(view, certificates, `${spec.name}-tls`),
  ]);
}

/** OpenShift then writes a certificate for the Service into that Secret. */
const SERVING_CERTIFICATE = 'service.beta.openshift.io/serving-cert-secret-name';

function serviceOf(metadata: KubeObject['metadata'], spec: ObserverSpec): Service {
  const annotations = spec.tls.issuer === 'openshift' ? { annotations: { [SERVING_CERTIFICATE]: spec.tls.secret } } : {};
  const port = { name: 'https', port: spec.service.port, protocol: 'TCP', targetPort: 'https' };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { ...metadata, ...annotations },
    spec: { type: spec.service.type, selector: selectorOfConsole(spec.name), ports: [port] },
  };
}

const FILES = { tls: '/etc/earshot/tls', users: '/etc/earshot/users' } as const;
const USUAL_RESOURCES = { requests: { cpu: '20m', memory: '96Mi' }, limits: { memory: '384Mi' } } as const;

function deploymentOf(metadata: KubeObject['metadata'], spec: ObserverSpec, settings: ControllerSettings): Deployment {
  const { imagePullSecrets, disableSecurityContext } = settings;
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: {
      // History is in the memory of one process.
      replicas: 1,
      strategy: { type: 'Recreate' },
      selector: { matchLabels: selectorOfConsole(spec.name) },
      template: {
        metadata: { labels: labelsOf(spec) },
        spec: {
          serviceAccountName: spec.name,
          enableServiceLinks: false,
          // The kernel drops signals that PID 1 does not handle, such as SIGTERM while the console starts.
          shareProcessNamespace: true,
          ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
          ...(disableSecurityContext ? {} : { securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } } }),
          containers: [containerOf(spec, settings)],
          volumes: [
            { name: 'tls', secret: { secretName: spec.tls.secret, items: ['tls.crt', 'tls.key'].map((key) => ({ key, path: key })) } },
            { name: 'users', secret: { secretName: spec.users.secret, items: [{ key: PASSWORD_KEY, path: PASSWORD_KEY }] } },
          ],
        },
      },
    },
  };
}

function containerOf(spec: ObserverSpec, { routerImage, routerImagePullPolicy, disableSecurityContext }: ControllerSettings): unknown {
  const probe = { httpGet: { path: '/', port: 'https', scheme: 'HTTPS' }, timeoutSeconds: 5 };
  return {
    name: 'console',
    image: routerImage,
    imagePullPolicy: routerImagePullPolicy,
    args: ['console', '--in-cluster', `--port=${CONSOLE_PORT}`, `--tls=${FILES.tls}`, `--users=${FILES.users}/${PASSWORD_KEY}`],
    ports: [{ name: 'https', containerPort: CONSOLE_PORT, protocol: 'TCP' }],
    livenessProbe: { ...probe, initialDelaySeconds: 10, periodSeconds: 10, failureThreshold: 6 },
    readinessProbe: { ...probe, periodSeconds: 5 },
    resources: spec.resources ?? USUAL_RESOURCES,
    ...(disableSecurityContext
      ? {}
      : { securityContext: { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } } }),
    volumeMounts: [
      { name: 'tls', mountPath: FILES.tls, readOnly: true },
      { name: 'users', mountPath: FILES.users, readOnly: true },
    ],
  };
}

/** Secret with the user of Skupper's chart. Users read the password there. */
export function passwordSecret(observer: ListedObserver, name: string, namespace: string, password: string): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels: labelsOf(readObserverSpec(observer)), ownerReferences: [ownerOf(observer)] },
    type: 'Opaque',
    data: { [PASSWORD_KEY]: Buffer.from(`skupper:{PLAIN}${password}`).toString('base64') },
  };
}
