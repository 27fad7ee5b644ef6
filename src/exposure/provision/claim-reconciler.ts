/**
 * Creates the volume of a claim and binds the two, as a provisioner and kube-controller-manager do together. Each step depends
 * only on the observed state, so another leader or an external-provisioner can continue from any point.
 */
import type { EventRecorder, KeyString, KubeClient } from '../../kube/contract.ts';
import { isAlreadyExists, isRefusal } from '../../kube/errors.ts';
import { keyOf, parseKey } from '../../kube/key.ts';
import { withRefusalAdvice } from '../../kube/refusal.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim, StorageClass } from '../../kube/objects.ts';
import { isResourceName } from '../../text/names.ts';
import { printable, shownValue } from '../../text/printable.ts';
import { apiVersionOf, nodes, persistentVolumeClaims, persistentVolumes, pods } from '../../kube/resource.ts';
import type { ReconcileResult } from '../../work/reconcile.ts';
import type { ClusterCaches, ProvisionCaches } from '../cluster/caches.ts';
import {
  annotationWithoutEffect,
  BIND_COMPLETED,
  BOUND_BY_CONTROLLER,
  isBound,
  provisionerOf,
  SELECTED_NODE,
  selectedNodeOf,
  storageClassOf,
  volumeNameFor,
} from '../cluster/claims.ts';
import { runsDriver } from '../cluster/volumes.ts';
import { nextStep, spreadNode } from './claim-step.ts';
import { planVolume, whyUnsupported } from './volume-plan.ts';
import { isPinned, requestOf, type Selection } from './volume-request.ts';

export interface ClaimReconcilerOptions {
  readonly client: KubeClient;
  readonly caches: ClusterCaches & ProvisionCaches;
  readonly events: EventRecorder;
  /** Clock in milliseconds, monotonic. */
  readonly clock: () => number;
}

/**
 * A refused claim is retried when anything changes that it was refused for. This interval in milliseconds repeats its event,
 * which Kubernetes deletes after an hour and counts as the same one for six minutes.
 */
const REMINDER = 5 * 60_000;

/**
 * Milliseconds for which kube-controller-manager may write its annotation. With many claims it takes longer, and saves that write
 * if the volume's name is already set.
 */
const LONGEST_WAIT = 150;

/** Maximum length of a Node's name in a message. */
const LONGEST_NAME = 253;

type EventReason = 'ProvisioningFailed' | 'AnnotationWithoutEffect';

/** Decision for a claim that can be provisioned. */
interface Decision {
  readonly selection: Selection;
  /** Node to which the volume is pinned. */
  readonly node: string | undefined;
}

export class ClaimReconciler {
  readonly #options: ClaimReconcilerOptions;
  /** Time by which the volume's name is written, by UID of the claim. */
  readonly #awaited = new Map<string, number>();

  constructor(options: ClaimReconcilerOptions) {
    this.#options = options;
    options.caches.claims.onChange(({ type, object }) => {
      if (type === 'deleted' || isBound(object)) this.#awaited.delete(object.metadata.uid ?? '');
    });
  }

  async reconcile(key: KeyString, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const { claims, storageClasses, volumes, startingPods } = this.#options.caches;
    const claim = claims.get(key);
    if (claim === undefined) return undefined;
    if (isBound(claim)) {
      this.#checkAnnotations(claim);
      return undefined;
    }
    const storageClass = storageClasses.get(storageClassOf(claim));
    const step = nextStep(claim, { storageClass, volume: volumes.get(volumeNameFor(claim)), pods: startingPods.by('claim', key) });
    if (step.do === 'provision') return this.#provision(claim, key, step, signal);
    if (step.do === 'nothing') return undefined;
    if (step.do === 'name') return this.#nameInTime(claim, key, step.volume, signal);
    await this.#name(claim, key, step.volume, signal);
    await this.#bind(claim, key, step.volume, signal);
    return undefined;
  }

  /**
   * Writes the name after a delay: kube-controller-manager reports ProvisioningFailed if its own write of the claim conflicts
   * with this one.
   */
  async #nameInTime(
    claim: PersistentVolumeClaim,
    key: KeyString,
    volume: PersistentVolume,
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const isAwaited = selectedNodeOf(claim) !== undefined && provisionerOf(claim) === undefined;
    const left = isAwaited ? this.#timeLeft(claim) : 0;
    if (left > 0) return { requeueAfter: left };
    await this.#name(claim, key, volume, signal);
    return undefined;
  }

  #timeLeft({ metadata: { uid = '' } }: PersistentVolumeClaim): number {
    const now = this.#options.clock();
    const end = this.#awaited.get(uid) ?? now + LONGEST_WAIT;
    this.#awaited.set(uid, end);
    return end - now;
  }

  /** Reports changed annotations of a bound claim: they have no effect, and nothing else would report it. */
  #checkAnnotations(claim: PersistentVolumeClaim): void {
    const volume = this.#options.caches.volumes.get(claim.spec?.volumeName ?? '');
    const changed = volume && annotationWithoutEffect(claim, volume);
    if (volume === undefined || changed === undefined) return;
    const what = `The annotation ${changed.annotation} ${shownValue(changed.value)} has no effect`;
    const why = `PersistentVolume ${volume.metadata.name} was created for ${shownValue(changed.inForce)}, and decides`;
    this.#warn(claim, `${what}: ${why}. Delete this claim and its pod, and give the new claim the annotation.`, 'AnnotationWithoutEffect');
  }

  async #provision(
    claim: PersistentVolumeClaim,
    key: KeyString,
    { storageClass, node: selected }: { readonly storageClass: StorageClass; readonly node: string | undefined },
    signal: AbortSignal,
  ): Promise<ReconcileResult | undefined> {
    const node = selected === undefined ? undefined : await this.#nodeNamed(selected, signal);
    if (selected !== undefined && node === undefined) {
      this.#warn(
        claim,
        `Node ${printable(selected, LONGEST_NAME)}, which was selected for the pod, no longer exists. Another Node is requested.`,
      );
      await this.#askForAnotherNode(claim, key, signal);
      return undefined;
    }
    const decision = this.#decide(claim, storageClass, node);
    if (typeof decision === 'string') {
      this.#warn(claim, decision);
      return { requeueAfter: REMINDER };
    }
    const volume = await this.#create(claim, planVolume(claim, { storageClass, ...decision }), signal);
    const current = this.#options.caches.claims.get(key);
    if (volume === undefined || current === undefined || current.metadata.uid !== claim.metadata.uid) return undefined;
    return this.#nameInTime(current, key, volume, signal);
  }

  /** The decision, or the reason against it in words for the claim's author. */
  #decide(claim: PersistentVolumeClaim, storageClass: StorageClass, node: Node | undefined): Decision | string {
    const { caches } = this.#options;
    const unsupported = whyUnsupported(claim);
    if (unsupported !== undefined) return unsupported;
    const request = requestOf(claim, caches);
    if (!request.ok) return request.message;
    if (node !== undefined && !runsDriver(node)) {
      return `The driver of listener volumes is not running on Node ${node.metadata.name}, which was selected for the pod. The claim waits for it.`;
    }
    const { selection } = request;
    if (!isPinned(request.listenerClass)) return { selection, node: undefined };
    const pinned = node?.metadata.name ?? spreadNode(claim.metadata.name ?? '', storageClass, caches.nodes.values());
    return pinned === undefined
      ? 'The driver of listener volumes does not run on any Node that the StorageClass allows.'
      : { selection, node: pinned };
  }

  /** Undefined if the volume exists already: the watch is about to report it. */
  async #create(claim: PersistentVolumeClaim, planned: PersistentVolume, signal: AbortSignal): Promise<PersistentVolume | undefined> {
    try {
      const volume = await this.#options.client.create(persistentVolumes, planned, { signal });
      this.#options.caches.volumes.wrote(volume);
      return volume;
    } catch (error) {
      if (isAlreadyExists(error)) return undefined;
      if (isRefusal(error))
        this.#warn(claim, withRefusalAdvice(`The API server refuses the PersistentVolume: ${error.statusMessage}`, error));
      throw error;
    }
  }

  /** The UID protects a new claim of the same name from this write and the following ones. */
  async #name(claim: PersistentVolumeClaim, key: KeyString, { metadata }: PersistentVolume, signal: AbortSignal): Promise<void> {
    if (claim.spec?.volumeName === metadata.name) return;
    const patch = {
      metadata: { uid: claim.metadata.uid, annotations: { [BOUND_BY_CONTROLLER]: 'yes' } },
      spec: { volumeName: metadata.name },
    };
    const { client, caches } = this.#options;
    caches.claims.wrote(await client.patch(persistentVolumeClaims, parseKey(key), patch, { type: 'merge', signal }));
  }

  /**
   * The kubelet waits for the phase, the scheduler for the annotation. A status write also accepts annotations, so one write sets
   * both at the same time.
   */
  async #bind(claim: PersistentVolumeClaim, key: KeyString, { spec }: PersistentVolume, signal: AbortSignal): Promise<void> {
    const status = { phase: 'Bound', accessModes: spec?.accessModes, capacity: spec?.capacity };
    const patch = { metadata: { uid: claim.metadata.uid, annotations: { [BIND_COMPLETED]: 'yes' } }, status };
    const { client, caches } = this.#options;
    const options = { type: 'merge', subresource: 'status', signal } as const;
    caches.claims.wrote(await client.patch(persistentVolumeClaims, parseKey(key), patch, options));
  }

  /**
   * The scheduler may know a node before the cache does. The name is checked, because users who can edit the claim can write any
   * text there.
   */
  async #nodeNamed(name: string, signal: AbortSignal): Promise<Node | undefined> {
    if (!isResourceName(name)) return undefined;
    return this.#options.caches.nodes.get(name) ?? (await this.#options.client.find(nodes, { name }, { signal }));
  }

  /**
   * Without the annotation the scheduler restarts with the pod. The resource version protects a node that was selected meanwhile.
   */
  async #askForAnotherNode({ metadata }: PersistentVolumeClaim, key: KeyString, signal: AbortSignal): Promise<void> {
    const { client, caches } = this.#options;
    const { uid, resourceVersion } = metadata;
    const patch = { metadata: { uid, resourceVersion, annotations: { [SELECTED_NODE]: null } } };
    caches.claims.wrote(await client.patch(persistentVolumeClaims, parseKey(key), patch, { type: 'merge', signal }));
  }

  /** Records the event on the claim and on waiting pods: a pod's own events say only that its claims are not bound. */
  #warn(claim: PersistentVolumeClaim, note: string, reason: EventReason = 'ProvisioningFailed'): void {
    const { events, caches } = this.#options;
    const about = [{ of: persistentVolumeClaims, metadata: claim.metadata }];
    const waiting = caches.startingPods.by('claim', keyOf(claim)).map(({ metadata }) => ({ of: pods, metadata }));
    for (const { of, metadata } of [...about, ...waiting]) {
      const { namespace = '', name = '', uid = '' } = metadata;
      const regarding = { apiVersion: apiVersionOf(of), kind: of.kind, namespace, name, uid };
      events.record({ regarding, type: 'Warning', reason, action: 'Provision', note });
    }
  }
}
