/** Manifests of the tests, as a person would write them: pure, and as short as the API allows. */
import type { Listener, ListenerClass, ListenerClassSpec, ListenerSpec } from '../../../src/api/listeners/index.ts';
import type { ContainerPort, KubeObject } from '../../../src/kube/objects.ts';
import { BUSYBOX_IMAGE } from '../../harness/index.ts';
import { mountPath } from './tree.ts';

export const API = 'listeners.stackable.tech/v1alpha1';
export const STORAGE_CLASS = 'listeners.stackable.tech';

/** An object of any kind. */
export interface Manifest extends KubeObject {
  readonly spec?: unknown;
}

export function listenerClass(name: string, spec: ListenerClassSpec): ListenerClass {
  return { apiVersion: API, kind: 'ListenerClass', metadata: { name }, spec };
}

export function listener(name: string, spec: ListenerSpec, metadata: object = {}): Listener {
  return { apiVersion: API, kind: 'Listener', metadata: { name, ...metadata }, spec };
}

/** Purpose of a claim: annotations, so that tests can write wrong ones too. */
export type ClaimAnnotations = Readonly<Record<string, string>>;

export function byClass(name: string): ClaimAnnotations {
  return { 'listeners.stackable.tech/listener-class': name };
}

export function byListener(name: string): ClaimAnnotations {
  return { 'listeners.stackable.tech/listener-name': name };
}

export type AccessMode = 'ReadWriteOnce' | 'ReadWriteMany' | 'ReadOnlyMany' | 'ReadWriteOncePod';

interface ClaimOptions {
  readonly accessMode?: AccessMode;
  readonly labels?: Readonly<Record<string, string>>;
  readonly volumeMode?: 'Block' | 'Filesystem';
  /** Earshot's by default. */
  readonly storageClass?: string;
}

export function claim(name: string, annotations: ClaimAnnotations, options: ClaimOptions = {}): Manifest {
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claimTemplate(annotations, options, name) };
}

export function claimTemplate(
  annotations: ClaimAnnotations,
  options: ClaimOptions = {},
  name?: string,
): { readonly metadata: object; readonly spec: object } {
  const { accessMode = 'ReadWriteMany', labels, volumeMode, storageClass = STORAGE_CLASS } = options;
  return {
    metadata: { ...(name === undefined ? {} : { name }), annotations, ...(labels === undefined ? {} : { labels }) },
    spec: {
      storageClassName: storageClass,
      accessModes: [accessMode],
      resources: { requests: { storage: '1' } },
      ...(volumeMode === undefined ? {} : { volumeMode }),
    },
  };
}

/** A pod's volume: the claim of this name, or one that is made for the pod. */
export type VolumeSource = string | ClaimAnnotations;

export interface PodOptions {
  /** Volume name → what it is; mounted at /listeners/NAME. */
  readonly volumes?: Readonly<Record<string, VolumeSource>>;
  readonly ports?: readonly ContainerPort[];
  readonly labels?: Readonly<Record<string, string>>;
  /** A shell script; sleeps forever by default. */
  readonly script?: string;
  /** Runs here; elsewhere the scheduler decides. */
  readonly node?: string;
  readonly readOnly?: boolean;
  readonly image?: string;
  readonly command?: readonly string[];
  /** Further fields of the pod's spec. */
  readonly spec?: object;
  /** Further fields of the container. */
  readonly container?: object;
}

export const SLEEP = 'exec sleep 2147483647';

/** Answers any HTTP request on the port with the pod's name. */
export function webServer(port: number): string {
  return `mkdir -p /tmp/www; hostname > /tmp/www/index.html; exec httpd -f -p ${port} -h /tmp/www`;
}

export function pod(name: string, options: PodOptions = {}): Manifest {
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels: options.labels ?? {} }, spec: podSpec(options) };
}

export function podSpec(options: PodOptions): object {
  const { volumes = {}, node, spec = {} } = options;
  return {
    terminationGracePeriodSeconds: 0,
    automountServiceAccountToken: false,
    // A label, not nodeName: a claim is bound only for a pod that the scheduler placed.
    ...(node === undefined ? {} : { nodeSelector: { 'kubernetes.io/hostname': node } }),
    containers: [container('main', options)],
    volumes: Object.entries(volumes).map(([volume, source]) => ({
      name: volume,
      ...(typeof source === 'string'
        ? { persistentVolumeClaim: { claimName: source } }
        : { ephemeral: { volumeClaimTemplate: claimTemplate(source, { accessMode: 'ReadWriteOnce' }) } }),
    })),
    ...spec,
  };
}

export function container(name: string, options: PodOptions): object {
  const { volumes = {}, ports = [], script = SLEEP, readOnly = false, image = BUSYBOX_IMAGE, command = ['sh', '-c', script] } = options;
  return {
    name,
    image,
    imagePullPolicy: 'IfNotPresent',
    command,
    ports,
    volumeMounts: Object.keys(volumes).map((volume) => ({ name: volume, mountPath: mountPath(volume), readOnly })),
    ...options.container,
  };
}

/** Replicas, each with a claim of its own from every template, mounted at /listeners/TEMPLATE. */
export function statefulSet(
  name: string,
  replicas: number,
  templates: Readonly<Record<string, ClaimAnnotations>>,
  options: PodOptions & Pick<ClaimOptions, 'storageClass'> = {},
): Manifest {
  const { storageClass = STORAGE_CLASS } = options;
  const labels = { app: name, ...options.labels };
  const mounts = Object.keys(templates).map((volume) => ({ name: volume, mountPath: mountPath(volume) }));
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name },
    spec: {
      replicas,
      serviceName: name,
      podManagementPolicy: 'Parallel',
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels }, spec: podSpec({ ...options, container: { volumeMounts: mounts, ...options.container } }) },
      volumeClaimTemplates: Object.entries(templates).map(([volume, annotations]) =>
        claimTemplate(annotations, { accessMode: 'ReadWriteOnce', storageClass }, volume),
      ),
    },
  };
}
