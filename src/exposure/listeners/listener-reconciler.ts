/** Brings one Listener to what its class asks: one write of its Service, one patch of its status, each only if it differs. */
import { listeners, type Listener, type ListenerStatus } from '../../api/listeners/index.ts';
import type { EventRecorder, KeyString, KubeClient } from '../../kube/contract.ts';
import type { ReconcileResult } from '../../work/reconcile.ts';
import { isAlreadyExists, isNamespaceTerminating, isRefusal } from '../../kube/errors.ts';
import { keyOf, parseKey } from '../../kube/key.ts';
import { refusalAdvice } from '../../kube/refusal.ts';
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
  /** RFC 3339, for conditions. */
  readonly now: () => string;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** The API server has a Service that no cache shows yet. Only if it came and went while a watch was cut does none ever tell of it. */
const UNSEEN_SERVICE_RECHECK = 15_000;

/** How it went with the Service. */
interface Outcome {
  readonly acceptance: Acceptance;
  readonly service?: Service | undefined;
  readonly obstacle?: Surroundings['obstacle'];
  /** No watch has told of the obstacle. */
  readonly isUnseen?: boolean;
  /** Why the Service is not as it should be, a refusal or a delay: the reconcile rejects with it once the status says so. */
  readonly failure?: unknown;
  /** In how many milliseconds what the notices say may be over. */
  readonly recheck?: number;
}

/** `notices`: for the Accepted condition. */
type Ensured = Pick<Outcome, 'service' | 'obstacle' | 'isUnseen' | 'failure'> & { readonly notices: readonly string[] };

export class ListenerReconciler {
  readonly #options: ListenerReconcilerOptions;
  readonly #announcements: ListenerEvents;
  readonly #pace: StatusRate;
  /**
   * Uids of Listeners whose Service was seen to go. It goes with its Listener as a rule, and the watch of Listeners may tell later: a Service
   * that is made again for a Listener of the past is taken away, made again, and so on.
   */
  readonly #serviceDeleted = new Set<string | undefined>();

  constructor(options: ListenerReconcilerOptions) {
    this.#options = options;
    this.#announcements = new ListenerEvents(options.events, options.clock);
    this.#pace = new StatusRate(options.clock);
    const { listeners: known, services: made } = options.caches;
    known.onChange(({ type, object }) => {
      if (type !== 'deleted') return;
      this.#announcements.forget(object);
      this.#serviceDeleted.delete(object.metadata.uid);
    });
    made.onChange(({ type, object }) => {
      const listener = known.get(keyOf(object));
      if (type === 'deleted' && listener !== undefined && isOwnedBy(object, listener)) this.#serviceDeleted.add(listener.metadata.uid);
    });
  }

  /**
   * A Service that the API server refuses is told of in the status, and only then rejects: that is how a reconcile asks
   * the queue to be tried again later and later.
   */
  async reconcile(key: KeyString, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const listener = this.#options.caches.listeners.get(key);
    if (listener === undefined || listener.metadata.deletionTimestamp !== undefined) return undefined;
    const outcome = await this.#applyService(listener, key, signal);
    // Gone, or about to go with its namespace; that its Service went first is no news to anybody.
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
    const { classes, services: made } = this.#options.caches;
    const live = made.get(key);
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
      const message = `The API server refuses the Service: ${error.statusMessage}${refusalAdvice(error)}`;
      return {
        acceptance: { accepted: false, reason: 'ServiceRejected', message },
        service: await this.#ownService(listener, key, signal),
        failure: error,
      };
    }
  }

  /** As it stands, where it cannot be what it should: also one of ours without our label, as an earlier system's. */
  async #ownService(listener: Listener, key: KeyString, signal: AbortSignal): Promise<Service | undefined> {
    const { client, caches } = this.#options;
    const labelled = caches.services.get(key);
    const standing = labelled ?? caches.otherServices.get(key);
    if (standing === undefined || !isOwnedBy(standing, listener)) return undefined;
    // Of those without the label no cache has more than metadata.
    const whole = labelled ?? (await client.find(services, parseKey(key), { signal }));
    return whole !== undefined && isOwnedBy(whole, listener) ? whole : undefined;
  }

  /** Of one that is not, the watch is about to tell. */
  async #isThere({ metadata }: Listener, key: KeyString, signal: AbortSignal): Promise<boolean> {
    if (!this.#serviceDeleted.has(metadata.uid)) return true;
    const found = await this.#options.client.find(listeners, parseKey(key), { signal });
    const isThere = found?.metadata.uid === metadata.uid && found?.metadata.deletionTimestamp === undefined;
    if (isThere) this.#serviceDeleted.delete(metadata.uid);
    return isThere;
  }

  /** `live`: as far as the caches know. */
  async #ensureService(intended: Service, live: Service | undefined, listener: Listener, signal: AbortSignal): Promise<Ensured> {
    const { client, caches, repairs } = this.#options;
    const { namespace = '', name = '' } = intended.metadata;
    const serviceKey = { namespace, name };
    const standing = live ?? caches.otherServices.get(keyOf(intended));
    const obstacle = standing === undefined ? undefined : obstacleOf(standing, listener);
    if (obstacle !== undefined)
      return { obstacle, notices: [], service: live !== undefined && isOwnedBy(live, listener) ? live : undefined };
    // Ours without our label, as an earlier system's: the cache does not have it whole.
    if (live === undefined && standing !== undefined) return this.#adopt(intended, listener, signal);
    const { service: desired, notices } = live === undefined ? { service: intended, notices: [] } : keepImmutable(intended, live);
    if (live !== undefined && !differs(desired, live)) return { service: live, notices };
    try {
      const write = { of: services, key: serviceKey, desired: intended, wanted: { metadata: metadataOf(desired), spec: desired.spec } };
      // Create and not apply: a Service that no cache shows, because it is newer than they are, must never be taken over.
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

  /** Goes on with the Service as the API server has it. */
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

  /** Nothing writes this status but the leader, so it is replaced whole; the uid keeps it off a successor. */
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
    const write = { of: listeners, key: parseKey(key), uid: listener.metadata.uid, part: 'status', wanted: { status }, ...states } as const;
    const written = await repairs.write(write, send, signal);
    this.#pace.wrote(listener);
    // Of one that went meanwhile nothing would be forgotten any more.
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
