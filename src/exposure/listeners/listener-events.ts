/** Kubernetes events about a Listener: problems, and changes of addresses that clients already knew. */
import { listeners, type Listener, type ListenerStatus } from '../../api/listeners/index.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';
import type { EventRecorder } from '../../kube/contract.ts';
import type { ObjectReference } from '../../kube/objects.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { hadAddresses, reachableText } from './listener-status.ts';

/** Reasons that require action by a user; reported at once. */
const problemReasons: ReadonlySet<string> = new Set<ConditionReason>([
  'NoClass',
  'Invalid',
  'UnsupportedServiceType',
  'InvalidName',
  'NoPorts',
  'RepeatedPort',
  'ServiceRejected',
  'ServiceNotOwned',
  'AcceptedWithNotes',
]);

/**
 * Reasons that often resolve themselves, and how many milliseconds they must last before an event reports them. A class or a Node
 * may be created shortly after what needs it, and a load balancer takes a while to clean up.
 */
const patience: ReadonlyMap<string, number> = new Map<ConditionReason, number>([
  ['ClassNotFound', 2_000],
  ['NodeMissing', 2_000],
  ['SomeNodesMissing', 2_000],
  ['NodeHasNoAddress', 2_000],
  ['ServiceBeingReplaced', 10_000],
]);

/** Milliseconds for which the first status of a Listener waits for its missing class. */
const FIRST_STATUS = 900;

export class ListenerEvents {
  readonly #events: EventRecorder;
  /** Clock in milliseconds, monotonic. */
  readonly #clock: () => number;
  /** Start of each unreported problem, by UID of the Listener and reason. */
  readonly #unreported = new Map<string | undefined, Map<string, number>>();

  constructor(events: EventRecorder, clock: () => number) {
    this.#events = events;
    this.#clock = clock;
  }

  /** Reports the changes from the status of `listener` to the status that was written. */
  wrote(listener: Listener, status: ListenerStatus): void {
    const before = listener.status ?? {};
    const was = reachableText(before);
    const is = reachableText(status);
    // The first addresses are expected and shown in the status, so they need no event.
    if (was !== is && (was !== '' || hadAddresses(before))) {
      const note = is === '' ? 'This Listener has no address any more.' : `Reachable at ${is}.`;
      this.#notify(listener, 'Normal', is === '' ? 'AddressesLost' : 'AddressesAssigned', note);
    }
    const known = new Set((before.conditions ?? []).map(({ reason, message }) => `${reason} ${message}`));
    const fresh = (status.conditions ?? []).filter(({ reason, message }) => !known.has(`${reason} ${message}`));
    for (const { reason, message } of fresh) {
      if (patience.has(reason)) this.#wait(listener, reason);
      else if (problemReasons.has(reason)) this.#notify(listener, 'Warning', reason, message);
    }
  }

  /**
   * Reports problems that have lasted.
   * @returns milliseconds until the next check, if a problem has not lasted long enough
   */
  remind(listener: Listener, status: ListenerStatus): number | undefined {
    const { uid } = listener.metadata;
    let next: number | undefined;
    for (const [reason, since] of this.#unreported.get(uid) ?? []) {
      const condition = status.conditions?.find((each) => each.reason === reason);
      const left = since + patienceFor(reason) - this.#clock();
      if (condition !== undefined && left > 0) next = Math.min(next ?? left, left);
      else this.#report(listener, reason, condition?.message);
    }
    return next;
  }

  /**
   * Milliseconds until the first status of a Listener may be written. A class is often applied together with it, and then there
   * was no problem.
   */
  hold(listener: Listener, status: ListenerStatus): number {
    const isFirst = (listener.status?.conditions ?? []).length === 0;
    if (!isFirst || status.conditions?.some(({ reason }) => reason === 'ClassNotFound') !== true) return 0;
    const since = this.#wait(listener, 'ClassNotFound');
    return Math.max(0, since + FIRST_STATUS - this.#clock());
  }

  forget(listener: Listener): void {
    this.#unreported.delete(listener.metadata.uid);
  }

  #wait({ metadata: { uid } }: Listener, reason: string): number {
    const waiting = this.#unreported.getOrInsertComputed(uid, () => new Map<string, number>());
    return waiting.getOrInsertComputed(reason, this.#clock);
  }

  #report(listener: Listener, reason: string, message: string | undefined): void {
    const { uid } = listener.metadata;
    this.#unreported.get(uid)?.delete(reason);
    if (this.#unreported.get(uid)?.size === 0) this.#unreported.delete(uid);
    if (message !== undefined) this.#notify(listener, 'Warning', reason, message);
  }

  #notify(listener: Listener, type: 'Normal' | 'Warning', reason: string, note: string): void {
    this.#events.record({ regarding: referenceTo(listener), type, reason, action: 'Expose', note });
  }
}

function patienceFor(reason: string): number {
  return patience.get(reason) ?? 0;
}

function referenceTo(listener: Listener): ObjectReference {
  const { name = '', namespace = '', uid = '' } = listener.metadata;
  return { apiVersion: apiVersionOf(listeners), kind: listeners.kind, namespace, name, uid };
}
