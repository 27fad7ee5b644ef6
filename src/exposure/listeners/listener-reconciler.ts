/** Reconciles one Listener with its class: one write of its Service and one patch of its status, each only if it differs. */
import { listeners, type Listener, type ListenerStatus } from '../../api/listeners/index.ts';
import type { EventRecorder, KeyString, KubeClient } from '../../kube/contract.ts';
import type { ReconcileResult } from '../../work/reconcile.ts';
import { isAlreadyExists, isNamespaceTerminating, isRefusal } from '../../kube/errors.ts';
import { keyOf, parseKey } from '../../kube/key.ts';
import { withRefusalAdvice } from '../../kube/refusal.ts';
import type { Service } from '../../kube/objects.ts';
import { services } from '../../kube/resource.ts';
import { preferenceOf } from './addresses.ts';
import { ListenerEvents } from './listener-events.ts';
import { checkKept } from './definition-outdated.ts';
import type { ClusterCaches } from '../cluster/caches.ts';
import { keepImmutable } from './immutable-fields.ts';
import { RepairDelayed, type DampedWrites } from './damped-writes.ts';
import { comparable, observeListener, sameStatus, type Acceptance, type Surroundings } from './listener-status.ts';
import { pinnedNodesOf } from '../cluster/volumes.ts';
import { isOwnedBy, planService } from './service-plan.ts';
import { differs, patchFor } from './service-patch.ts';
import { obstacleOf } from './standing-service.ts';
import { StatusRate } from './status-rate.ts';
import { volumeNotices } from './volume-notices.ts';

export interface ListenerReconcilerOptions {
  readonly client: KubeClient;
  readonly repairs: DampedWrites;
  readonly caches: ClusterCaches;
  readonly events: EventRecorder;
  readonly clusterDomain: string;
  /** Current time in RFC 3339, for conditions. */
  readonly now: () => string;
  /** Clock in milliseconds, monotonic. */
  readonly clock: () => number;
}

/**
 * Recheck interval in milliseconds when the API server has a Service that no cache shows yet. If it was created and deleted while
 * a watch was interrupted, no event reports it.
 */
const UNSEEN_SERVICE_RECHECK = 15_000;

/** Result of applying the Service. */
interface Outcome {
  readonly acceptance: Acceptance;
  readonly service?: Service | undefined;
  readonly obstacle?: Surroundings['obstacle'];
  /** Whether no watch has reported the obstacle. */
  readonly isUnseen?: boolean;
  /** Why the Service is not as desired, a refusal or a delay. The reconcile rejects with it once the status is written. */
  readonly failure?: unknown;
  /** Milliseconds until the reason of the notices may have ended. */
  readonly recheck?: number;
}

/** `notices`: for the Accepted condition. */
type Ensured = Pick<Outcome, 'service' | 'obstacle' | 'isUnseen' | 'failure'> & { readonly notices: readonly string[] };

export class ListenerReconciler {
  readonly #options: ListenerReconcilerOptions;
  readonly #announcements: ListenerEvents;
  readonly #pace: StatusRate;
  /**
   * UIDs of Listeners whose Service was deleted. Usually the Listener was deleted too, and its watch may report it later.
   * Creating the Service again for a deleted Listener would repeat: it is garbage-collected, created again, and so on.
   */
  readonly #serviceDeleted = new Set<string | undefined>();

  constructor(options: ListenerReconcilerOptions) {
    this.#options = options;
    this.#announcements = new ListenerEvents(options.events, options.clock);
    this.#pace = new StatusRate(options.clock);
    const { listeners: known, services: created } = options.caches;
    known.onChange(({ type, object }) => {
      if (type !== 'deleted') return;
      this.#announcements.forget(object);
      this.#serviceDeleted.delete(object.metadata.uid);
    });
    created.onChange(({ type, object }) => {
      const listener = known.get(keyOf(object));
      if (type === 'deleted' && listener !== undefined && isOwnedBy(object, listener)) this.#serviceDeleted.add(listener.metadata.uid);
    });
  }

  /** A refusal of the Service is first written to the status, then rejected, so that the queue retries with backoff. */
  async reconcile(key: KeyString, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const listener = this.#options.caches.listeners.get(key);
    if (listener === undefined || listener.metadata.deletionTimestamp !== undefined) return undefined;
    const outcome = await this.#applyService(listener, key, signal);
    // The Listener is deleted or about to be, with its namespace. The missing Service needs no report.
    if (outcome === 'ends') return undefined;
    const status = observeListener(listener, outcome.acceptance, this.#surroundings(listener, key, outcome), this.#options.now());
    const isCurrent = sameStatus(listener.status ?? undefined, status);
    const mayWait = !isCurrent && outcome.failure === undefined;
    const wait = mayWait ? Math.max(this.#pace.wait(listener, status), this.#announcements.hold(listener, status)) : 0;
    if (!isCurrent && wait === 0) await this.#writeStatus(listener, key, status, signal);
    if (outcome.failure !== undefined) throw outcome.failure;
    if (wait > 0) return { requeueAfter: wait };
    const next = Math.min(
      outcome.isUnseen === true ? UNSEEN_SERVICE_RECHECK : Number.POSITIVE_INFINITY,
      outcome.recheck ?? Number.POSITIVE_INFINITY,
      this.#announcements.remind(listener, status) ?? Number.POSITIVE_INFINITY,
    );
    return Number.isFinite(next) ? { requeueAfter: next } : undefined;
  }

  async #applyService(listener: Listener, key: KeyString, signal: AbortSignal): Promise<Outcome | 'ends'> {
    const { classes, services: created } = this.#options.caches;
    const live = created.get(key);
    const listenerClass = classes.get(listener.spec.className ?? '');
    const plan = planService(listener, listenerClass, [...classes.values()].map(keyOf));
    if (plan.refused !== undefined) {
      return { acceptance: { accepted: false, ...plan.refused }, service: await this.#ownService(listener, key, signal) };
    }
    if (live === undefined && !(await this.#isThere(listener, key, signal))) return 'ends';
    try {
      const { notices, ...ensured } = await this.#ensureService(plan.service, live, listener, signal);
      const ofVolumes = volumeNotices(listener, listenerClass, this.#options.caches.volumes.by('listener', key));
      const contest = this.#options.repairs.contest({ of: services, key: parseKey(key) });
      const all = [...plan.notices, ...notices, ...ofVolumes, ...(contest === undefined ? [] : [contest.message])];
      return {
        acceptance: { accepted: true, notices: all },
        ...ensured,
        ...(contest === undefined ? {} : { recheck: contest.remaining + 1 }),
      };
    } catch (error) {
      if (isNamespaceTerminating(error)) return 'ends';
      if (!isRefusal(error)) throw error;
      const message = withRefusalAdvice(`The API server refuses the Service: ${error.statusMessage}`, error);
      return {
        acceptance: { accepted: false, reason: 'ServiceRejected', message },
        service: await this.#ownService(listener, key, signal),
        failure: error,
      };
    }
  }

  /** The Listener's current Service when it cannot be reconciled, including one of an earlier system without our label. */
  async #ownService(listener: Listener, key: KeyString, signal: AbortSignal): Promise<Service | undefined> {
    const { client, caches } = this.#options;
    const labelled = caches.services.get(key);
    const standing = labelled ?? caches.otherServices.get(key);
    if (standing === undefined || !isOwnedBy(standing, listener)) return undefined;
    // The cache holds only metadata of Services without the label.
    const whole = labelled ?? (await client.find(services, parseKey(key), { signal }));
    return whole !== undefined && isOwnedBy(whole, listener) ? whole : undefined;
  }

  /** Whether the Listener still exists. If not, the watch is about to report it. */
  async #isThere({ metadata }: Listener, key: KeyString, signal: AbortSignal): Promise<boolean> {
    if (!this.#serviceDeleted.has(metadata.uid)) return true;
    const found = await this.#options.client.find(listeners, parseKey(key), { signal });
    const isThere = found?.metadata.uid === metadata.uid && found?.metadata.deletionTimestamp === undefined;
    if (isThere) this.#serviceDeleted.delete(metadata.uid);
    return isThere;
  }

  /** @param live the Service in the cache */
  async #ensureService(intended: Service, live: Service | undefined, listener: Listener, signal: AbortSignal): Promise<Ensured> {
    const { client, caches, repairs } = this.#options;
    const { namespace = '', name = '' } = intended.metadata;
    const serviceKey = { namespace, name };
    const standing = live ?? caches.otherServices.get(keyOf(intended));
    const obstacle = standing === undefined ? undefined : obstacleOf(standing, listener);
    if (obstacle !== undefined)
      return { obstacle, notices: [], service: live !== undefined && isOwnedBy(live, listener) ? live : undefined };
    // The Listener's own Service without our label, from an earlier system: the cache holds only its metadata.
    if (live === undefined && standing !== undefined) return this.#adopt(intended, listener, signal);
    const { service: desired, notices } = live === undefined ? { service: intended, notices: [] } : keepImmutable(intended, live);
    if (live !== undefined && !differs(desired, live)) return { service: live, notices };
    try {
      const write = { of: services, key: serviceKey, desired: intended, fields: { metadata: metadataOf(desired), spec: desired.spec } };
      // Create instead of apply: a Service newer than the caches must never be taken over.
      const send = (): Promise<Service> =>
        live === undefined
          ? client.create(services, desired, { signal, strict: true })
          : client.patch(services, serviceKey, patchFor(desired, live), { type: 'merge', signal, strict: true });
      const written = await repairs.write(write, send, signal);
      caches.services.wrote(written);
      return { service: written, notices };
    } catch (error) {
      if (error instanceof RepairDelayed) return { service: live, notices, failure: error };
      if (live !== undefined || !isAlreadyExists(error)) throw error;
      return this.#adopt(intended, listener, signal);
    }
  }

  /** Continues with the Service that the API server returns. */
  async #adopt(intended: Service, listener: Listener, signal: AbortSignal): Promise<Ensured> {
    const existing = await this.#options.client.get(services, parseKey(keyOf(intended)), { signal });
    const obstacle = obstacleOf(existing, listener);
    if (obstacle === undefined) return this.#ensureService(intended, existing, listener, signal);
    return { obstacle, notices: [], service: isOwnedBy(existing, listener) ? existing : undefined, isUnseen: true };
  }

  #surroundings(listener: Listener, key: KeyString, { service, obstacle }: Outcome): Surroundings {
    const { caches, clusterDomain } = this.#options;
    return {
      service,
      ...(obstacle === undefined ? {} : { obstacle }),
      preferredAddressType: preferenceOf(listener, caches.classes.get(listener.spec.className ?? '')),
      pinnedNodes: new Set(caches.volumes.by('listener', key).flatMap(pinnedNodesOf)),
      endpointNodes: new Set(caches.endpoints.by('service', key).flatMap(({ nodes }) => nodes)),
      unreadyPods: caches.endpoints.by('service', key).flatMap(({ unreadyPods }) => unreadyPods),
      nodeNamed: (name) => caches.nodes.get(name),
      clusterDomain,
    };
  }

  /** Replaces the whole status, since only the leader writes it. The UID protects a new Listener of the same name. */
  async #writeStatus(listener: Listener, key: KeyString, status: ListenerStatus, signal: AbortSignal): Promise<void> {
    const { client, caches, repairs } = this.#options;
    const patch = [
      { op: 'test', path: '/metadata/uid', value: listener.metadata.uid },
      { op: 'add', path: '/status', value: status },
    ];
    const send = (): Promise<Listener> =>
      caches.listeners.write({ ...listener, status }, () =>
        client.patch(listeners, parseKey(key), patch, { type: 'json', subresource: 'status', signal }),
      );
    const states = { desired: comparable(status), found: comparable(listener.status ?? {}) };
    const write = { of: listeners, key: parseKey(key), uid: listener.metadata.uid, part: 'status', fields: { status }, ...states } as const;
    const written = await repairs.write(write, send, signal);
    this.#pace.wrote(listener);
    // State recorded for a Listener deleted meanwhile would never be removed.
    if (caches.listeners.get(key)?.metadata.uid === listener.metadata.uid) this.#announcements.wrote(listener, status);
    checkKept('Listener', 'status.conditions', written.status?.conditions !== undefined);
  }
}

function metadataOf({ metadata: { labels, annotations, ownerReferences } }: Service): Service['metadata'] {
  return {
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  };
}
