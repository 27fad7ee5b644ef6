/** Components that bring a pod and its volumes to a node: ephemeral controller, scheduler, external-provisioner, volume binder. */
import { DRIVER_NAME, TOPOLOGY_KEY } from '../../../src/api/listeners/names.ts';
import { keyOf } from '../../../src/kube/key.ts';
import type { PersistentVolume, PersistentVolumeClaim, Pod, PodVolume } from '../../../src/kube/objects.ts';
import type { Loop } from '../../simulate/loop.ts';
import type { Random } from '../../simulate/random.ts';
import { callService } from '../call.ts';
import { Looks } from '../looks.ts';
import type { Network } from '../network.ts';
import type { Process } from '../process.ts';
import type { Resources } from '../resources.ts';
import type { Store } from '../store.ts';

export const SELECTED_NODE = 'volume.kubernetes.io/selected-node';
/** Milliseconds between tries of external-provisioner after failures. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 60_000;
const BIND_COMPLETED = 'pv.kubernetes.io/bind-completed';

export interface VolumeParts {
  readonly loop: Loop;
  readonly network: Network;
  readonly random: Random;
  readonly store: Store;
  readonly resources: Resources;
  readonly delay: () => number;
  /** Whether volumes are made and bound here. */
  readonly sidecar: boolean;
  /** A process that answers CreateVolume. */
  readonly controller: () => Process | undefined;
}

export interface EphemeralVolume extends PodVolume {
  readonly ephemeral?: { readonly annotations: Readonly<Record<string, string>> };
}

export const claimNameOf = (pod: Pod, volume: PodVolume): string =>
  volume.persistentVolumeClaim?.claimName ?? `${pod.metadata.name}-${volume.name}`;

export function playVolumes(parts: VolumeParts): void {
  const { loop, store, resources, delay, sidecar } = parts;
  const pods = new Looks(loop, delay, (key) => schedule(parts, key));
  const failures = new Map<string, number>();
  const claims = new Looks(loop, delay, (key) =>
    provision(parts, key, (failed) => {
      const count = failed ? (failures.get(key) ?? 0) + 1 : 0;
      failures.set(key, count);
      if (failed) claims.ask(key, Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** count));
    }),
  );
  const bindings = new Looks(loop, delay, (name) => bind(parts, name));
  const ends = new Looks(loop, delay, (key) => finish(parts, key));
  const podsOf = (claim: string): readonly Pod[] =>
    store.all<Pod>('pods').filter((pod) => pod.spec?.nodeName === undefined && usesClaim(pod, claim));
  store.onChange(({ plural, type, object }) => {
    const key = keyOf(object);
    if (plural === 'pods') {
      if (type !== 'DELETED' && (object as Pod).spec?.nodeName === undefined) pods.ask(key);
      else if (type === 'DELETED') for (const claim of claimsOf(object as Pod)) ends.ask(claim);
    }
    if (plural === 'nodes' && type === 'ADDED')
      for (const pod of store.all<Pod>('pods')) if (pod.spec?.nodeName === undefined) pods.ask(keyOf(pod));
    if (plural === 'persistentvolumeclaims') {
      for (const pod of podsOf(key)) pods.ask(keyOf(pod));
      if (type !== 'DELETED' && object.metadata.deletionTimestamp !== undefined) ends.ask(key);
      else if (sidecar && type === 'DELETED') bindings.ask(`pvc-${object.metadata.uid}`);
      else if (sidecar) claims.ask(key);
    }
    if (sidecar && plural === 'persistentvolumes' && type !== 'DELETED') bindings.ask(key);
  });
  resources.isHeld = (plural, object) => {
    if (plural === 'pods') return (object as Pod).spec?.nodeName !== undefined;
    return plural === 'persistentvolumeclaims' && isInUse(store, keyOf(object));
  };
}

function claimsOf(pod: Pod): readonly string[] {
  return (pod.spec?.volumes ?? []).map((volume) => `${pod.metadata.namespace}/${claimNameOf(pod, volume)}`);
}

const usesClaim = (pod: Pod, claim: string): boolean => claimsOf(pod).includes(claim);

/** A pod without a node uses nothing yet (pvc-protection-controller). */
function isInUse(store: Store, claim: string): boolean {
  return store.all<Pod>('pods').some((pod) => pod.spec?.nodeName !== undefined && usesClaim(pod, claim));
}

/** A claim's protection ends with its last pod. */
function finish({ store }: VolumeParts, key: string): void {
  const claim = store.get('persistentvolumeclaims', key);
  if (claim?.metadata.deletionTimestamp === undefined || isInUse(store, key)) return;
  store.remove('persistentvolumeclaims', key);
}

function schedule({ store, resources, random }: VolumeParts, key: string): void {
  const pod = store.get<Pod>('pods', key);
  if (pod === undefined || pod.spec?.nodeName !== undefined || pod.metadata.deletionTimestamp !== undefined) return;
  for (const volume of (pod.spec?.volumes ?? []) as readonly EphemeralVolume[]) {
    if (volume.ephemeral !== undefined) makeEphemeral(resources, store, pod, volume);
  }
  const claims = claimsOf(pod).map((name) => store.get<PersistentVolumeClaim>('persistentvolumeclaims', name));
  if (claims.some((claim) => claim === undefined || claim.metadata.deletionTimestamp !== undefined || isOfAnother(claim, pod))) return;
  const node = nodeFor(store, random, claims);
  if (node === undefined) return;
  const isBound = (claim: PersistentVolumeClaim | undefined): boolean => claim?.metadata.annotations?.[BIND_COMPLETED] !== undefined;
  if (claims.every(isBound)) {
    resources.change<Pod>('pods', key, (before) => ({ ...before, spec: { containers: [], ...before.spec, nodeName: node } }));
    return;
  }
  for (const claim of claims) {
    if (claim === undefined || isBound(claim) || claim.metadata.annotations?.[SELECTED_NODE] !== undefined) continue;
    annotate(resources, keyOf(claim), { [SELECTED_NODE]: node });
  }
}

/** A generic ephemeral claim that was made for an earlier pod of the name (`ephemeral.VolumeIsForPod`). */
function isOfAnother({ metadata: { ownerReferences = [] } }: PersistentVolumeClaim, pod: Pod): boolean {
  return ownerReferences.some(({ kind, uid }) => kind === 'Pod' && uid !== pod.metadata.uid);
}

function annotate(resources: Resources, claim: string, annotations: Readonly<Record<string, string>>): void {
  resources.change<PersistentVolumeClaim>('persistentvolumeclaims', claim, (before) => ({
    ...before,
    metadata: { ...before.metadata, annotations: { ...before.metadata.annotations, ...annotations } },
  }));
}

/** Node of all volumes, or of the pinned one; any node, if none is pinned. Undefined if it does not exist. */
function nodeFor(store: Store, random: Random, claims: readonly (PersistentVolumeClaim | undefined)[]): string | undefined {
  const chosen = claims.flatMap((claim) => {
    const volume = store.get<PersistentVolume>('persistentvolumes', claim?.spec?.volumeName ?? '');
    const terms = volume?.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    const pinned = terms.flatMap(({ matchExpressions = [] }) => matchExpressions.flatMap(({ values = [] }) => values));
    const selected = volume === undefined ? claim?.metadata.annotations?.[SELECTED_NODE] : undefined;
    return [...pinned, ...(selected === undefined ? [] : [selected])];
  });
  const nodes = store.all('nodes').map(({ metadata }) => metadata.name ?? '');
  if (chosen.length === 0) return random.pick(nodes);
  return nodes.find((name) => chosen.every((each) => each === name));
}

function makeEphemeral(resources: Resources, store: Store, pod: Pod, volume: EphemeralVolume): void {
  const { namespace = '', name = '', uid = '' } = pod.metadata;
  const claim = claimNameOf(pod, volume);
  if (store.get('persistentvolumeclaims', `${namespace}/${claim}`) !== undefined) return;
  resources.create<PersistentVolumeClaim>('persistentvolumeclaims', {
    metadata: {
      namespace,
      name: claim,
      annotations: { ...volume.ephemeral?.annotations },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }],
    },
    spec: { storageClassName: DRIVER_NAME },
  });
}

interface Made {
  readonly volume?: {
    readonly volumeId: string;
    readonly volumeContext: ReadonlyMap<string, string>;
    readonly accessibleTopology: readonly { readonly segments: ReadonlyMap<string, string> }[];
  };
}

/** As external-provisioner asks the driver beside it. */
function provision(parts: VolumeParts, key: string, ended: (failed: boolean) => void): void {
  const { store, resources } = parts;
  const claim = store.get<PersistentVolumeClaim>('persistentvolumeclaims', key);
  const node = claim?.metadata.annotations?.[SELECTED_NODE];
  const { uid = '', name = '', namespace = '' } = claim?.metadata ?? {};
  if (node === undefined || store.get('persistentvolumes', `pvc-${uid}`) !== undefined) return;
  const request = {
    name: `pvc-${uid}`,
    volumeCapabilities: [{ accessType: { $case: 'mount', value: { fsType: '', mountFlags: [] } }, accessMode: { mode: 1 } }],
    parameters: new Map([
      ['csi.storage.k8s.io/pvc/name', name],
      ['csi.storage.k8s.io/pvc/namespace', namespace],
    ]),
    accessibilityRequirements: { preferred: [{ segments: new Map([[TOPOLOGY_KEY, node]]) }], requisite: [] },
  };
  const call = { process: parts.controller(), service: 'csi.v1.Controller', method: 'createVolume' };
  callService(parts, call, { request, limit: 10_000 }, (error, answer) => {
    const created = (answer as Made | undefined)?.volume;
    ended(error !== undefined);
    if (created === undefined) return;
    if (store.get('persistentvolumeclaims', key)?.metadata.uid !== uid || store.get('persistentvolumes', created.volumeId) !== undefined)
      return;
    const [topology] = created.accessibleTopology;
    const matchExpressions = [...(topology?.segments ?? [])].map(([field, value]) => ({ key: field, operator: 'In', values: [value] }));
    const nodeAffinity = topology === undefined ? {} : { nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions }] } } };
    resources.create<PersistentVolume>('persistentvolumes', {
      metadata: { name: created.volumeId },
      spec: {
        csi: { driver: DRIVER_NAME, volumeHandle: created.volumeId, volumeAttributes: Object.fromEntries(created.volumeContext) },
        claimRef: { namespace, name, uid },
        ...nodeAffinity,
      },
    });
  });
}

/** Claim and volume find each other, and end with each other. */
function bind({ store, resources }: VolumeParts, name: string): void {
  const volume = store.get<PersistentVolume>('persistentvolumes', name);
  const { claimRef } = volume?.spec ?? {};
  if (claimRef === undefined) return;
  const key = `${claimRef.namespace}/${claimRef.name}`;
  const claim = store.get<PersistentVolumeClaim>('persistentvolumeclaims', key);
  if (claim?.metadata.uid !== claimRef.uid) {
    if (volume?.spec?.persistentVolumeReclaimPolicy !== 'Retain') store.remove('persistentvolumes', name);
    else
      resources.change<PersistentVolume>('persistentvolumes', name, (before) => ({ ...before, status: { phase: 'Released' } }), 'status');
    return;
  }
  resources.change<PersistentVolume>('persistentvolumes', name, (before) => ({ ...before, status: { phase: 'Bound' } }), 'status');
  resources.change<PersistentVolumeClaim>('persistentvolumeclaims', key, (before) => ({
    ...before,
    spec: { ...before.spec, volumeName: name },
  }));
  resources.change<PersistentVolumeClaim>('persistentvolumeclaims', key, (before) => ({ ...before, status: { phase: 'Bound' } }), 'status');
  annotate(resources, key, { [BIND_COMPLETED]: 'yes' });
}
