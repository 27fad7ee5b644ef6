import type { Site } from '../../api/skupper/index.ts';
import { annotation, label, ROUTER, ROUTER_PORTS, ROUTER_SELECTOR, SITE_UID } from '../../api/skupper/cluster-names.ts';
import { DEFAULT_PORTS, EDGE, INTER_ROUTER } from '../../api/skupper/names.ts';
import type { Deployment } from '../../kube/objects.ts';
import { ownerOf } from '../namespace-view.ts';
import type { ControllerSettings } from '../settings.ts';
import { configDigest, logLevelOf } from './site-spec.ts';
import type { ContainerResources } from './size.ts';

/** Labels of every object of a router and of its pods. */
export const ROUTER_LABELS = { 'app.kubernetes.io/name': ROUTER, 'app.kubernetes.io/part-of': 'skupper', ...ROUTER_SELECTOR } as const;

const NON_ROOT = 65_532;
/** Seconds in which a router's connections may end after it was asked to stop. */
const GRACE_SECONDS = 30;

export interface RouterPods {
  /** Name of the Deployment: the group of its routers. */
  readonly group: string;
  readonly serviceAccount: string;
  readonly resources: ContainerResources;
  /** Whether it prefers nodes and zones without the site's other router. */
  readonly spread: boolean;
}

export function routerDeployment(site: Site, settings: ControllerSettings, pods: RouterPods): Deployment {
  const labels = { ...ROUTER_LABELS, [label.type]: 'site' };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: pods.group, labels, ownerReferences: [ownerOf(site)] },
    spec: {
      replicas: 1,
      // Does not select by group: selectors are immutable, and Deployments of an earlier controller do not have it.
      selector: { matchLabels: { [label.component]: 'router' } },
      // The new router is ready before the old one stops.
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: {
          labels: { ...labels, [label.group]: pods.group },
          annotations: {
            'prometheus.io/port': String(ROUTER_PORTS.http),
            'prometheus.io/scrape': 'true',
            [annotation.configDigest]: configDigest(site),
          },
        },
        spec: podSpec(site, settings, pods),
      },
    },
  };
}

function podSpec(site: Site, settings: ControllerSettings, { serviceAccount, spread, ...pods }: RouterPods): unknown {
  const { imagePullSecrets, disableSecurityContext } = settings;
  return {
    serviceAccountName: serviceAccount,
    // Otherwise the environment has several variables for each Service of the namespace, and there may be thousands.
    enableServiceLinks: false,
    // The router must not be PID 1: the kernel drops signals that PID 1 does not handle. A router that is stopped while it starts would
    // then run for the full grace period.
    shareProcessNamespace: true,
    terminationGracePeriodSeconds: GRACE_SECONDS,
    ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    // Set for a single router too: adding a second one must not change the pod of the first.
    ...(spread ? { affinity: { podAntiAffinity: apartFrom(pods.group) } } : {}),
    ...(disableSecurityContext ? {} : { securityContext: { ...asNobody, seccompProfile: { type: 'RuntimeDefault' } } }),
    containers: [container(site, settings, pods)],
    volumes: [{ name: 'tmp', emptyDir: {} }],
  };
}

const asNobody = { runAsNonRoot: true, runAsUser: NON_ROOT, runAsGroup: NON_ROOT } as const;

/** Pods of the same group are excluded: during an update, the new router may run on the node of the old one. */
function apartFrom(group: string): unknown {
  const matchExpressions = [{ key: label.group, operator: 'NotIn', values: [group] }];
  const labelSelector = { matchLabels: ROUTER_SELECTOR, matchExpressions };
  return {
    preferredDuringSchedulingIgnoredDuringExecution: [
      { weight: 100, podAffinityTerm: { labelSelector, topologyKey: 'kubernetes.io/hostname' } },
      { weight: 50, podAffinityTerm: { labelSelector, topologyKey: 'topology.kubernetes.io/zone' } },
    ],
  };
}

function container(
  site: Site,
  { routerImage, routerImagePullPolicy, disableSecurityContext }: ControllerSettings,
  { group, resources }: Pick<RouterPods, 'group' | 'resources'>,
): unknown {
  const level = logLevelOf(site);
  return {
    name: 'router',
    image: routerImage,
    imagePullPolicy: routerImagePullPolicy,
    args: ['router', ...(level === undefined ? [] : [`--log-level=${level}`])],
    env: [
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
      { name: 'ROUTER_GROUP', value: group },
      { name: SITE_UID, value: site.metadata.uid ?? '' },
      { name: 'SITE_NAME', value: site.metadata.name ?? '' },
    ],
    ports: [
      { name: 'amqps', containerPort: ROUTER_PORTS.siblings, protocol: 'TCP' },
      { name: 'http', containerPort: ROUTER_PORTS.http, protocol: 'TCP' },
      { name: 'inter-router', containerPort: DEFAULT_PORTS[INTER_ROUTER], protocol: 'TCP' },
      { name: 'edge', containerPort: DEFAULT_PORTS[EDGE], protocol: 'TCP' },
      { name: 'metrics', containerPort: ROUTER_PORTS.metrics, protocol: 'TCP' },
    ],
    livenessProbe: { ...probe('/livez'), initialDelaySeconds: 10, periodSeconds: 10, timeoutSeconds: 5, failureThreshold: 6 },
    // Clients that wait for the site wait for this probe, so it runs every second.
    readinessProbe: { ...probe('/readyz'), periodSeconds: 1, timeoutSeconds: 5, failureThreshold: 3 },
    resources,
    ...(disableSecurityContext ? {} : { securityContext: locked }),
    volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
  };
}

const locked = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } };

function probe(path: string): { readonly httpGet: { readonly path: string; readonly port: number } } {
  return { httpGet: { path, port: ROUTER_PORTS.http } };
}
