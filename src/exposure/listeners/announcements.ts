/** Kubernetes events about a Listener: trouble, and addresses that its clients knew and that are others now. */
import { listeners, type Listener, type ListenerStatus } from '../../api/listeners/index.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';
import type { EventRecorder } from '../../kube/contract.ts';
import type { ObjectReference } from '../../kube/objects.ts';
import { apiVersionOf } from '../../kube/resource.ts';
import { hadAddresses, reachableText } from './listener-status.ts';

/** Reasons that somebody has to act on; the others are stages on the way. */
const troubles: ReadonlySet<string> = new Set<ConditionReason>([
  'NoClass',
  'ClassNotFound',
  'UnsupportedServiceType',
  'InvalidName',
  'NoPorts',
  'RepeatedPort',
  'ServiceRejected',
  'ServiceNotOwned',
  'AcceptedWithNotes',
  'NodeMissing',
  'SomeNodesMissing',
  'NodeHasNoAddress',
]);

/** A class that is applied together with its Listener is there a moment later. In milliseconds. */
const CLASS_PATIENCE = 2_000;

export class Announcements {
  readonly #events: EventRecorder;
  /** Milliseconds, monotonic. */
  readonly #clock: () => number;
  /** By uid, Listeners whose class was missed first at that time, and nobody was told. Forgotten once it is there, or told of. */
  readonly #missed = new Map<string | undefined, number>();

  constructor(events: EventRecorder, clock: () => number) {
    this.#events = events;
    this.#clock = clock;
  }

  /** The status was written over that of `listener`. Told is what changed. */
  wrote(listener: Listener, status: ListenerStatus): void {
    const before = listener.status ?? {};
    const was = reachableText(before);
    const is = reachableText(status);
    // The first addresses are what everybody waits for, and stand in the status.
    if (was !== is && (was !== '' || hadAddresses(before))) {
      const note = is === '' ? 'No address leads to this Listener any more.' : `Reachable at ${is}.`;
      this.#tell(listener, 'Normal', is === '' ? 'AddressesLost' : 'AddressesAssigned', note);
    }
    const known = new Set((before.conditions ?? []).map(({ reason, message }) => `${reason} ${message}`));
    const fresh = (status.conditions ?? []).filter(({ reason, message }) => troubles.has(reason) && !known.has(`${reason} ${message}`));
    for (const { reason, message } of fresh) {
      if (reason === 'ClassNotFound') this.#missed.set(listener.metadata.uid, this.#clock());
      else this.#tell(listener, 'Warning', reason, message);
    }
  }

  /** Tells of trouble that has lasted. In how many milliseconds to ask again, where it has not yet. */
  remind(listener: Listener, status: ListenerStatus): number | undefined {
    const { uid } = listener.metadata;
    const since = this.#missed.get(uid);
    if (since === undefined) return undefined;
    const missing = status.conditions?.find(({ reason }) => reason === 'ClassNotFound');
    const left = since + CLASS_PATIENCE - this.#clock();
    if (missing !== undefined && left > 0) return left;
    this.#missed.delete(uid);
    if (missing !== undefined) this.#tell(listener, 'Warning', missing.reason, missing.message);
    return undefined;
  }

  forget(listener: Listener): void {
    this.#missed.delete(listener.metadata.uid);
  }

  #tell(listener: Listener, type: 'Normal' | 'Warning', reason: string, note: string): void {
    this.#events.record({ regarding: referenceTo(listener), type, reason, action: 'Expose', note });
  }
}

function referenceTo(listener: Listener): ObjectReference {
  const { name = '', namespace = '', uid = '' } = listener.metadata;
  return { apiVersion: apiVersionOf(listeners), kind: listeners.kind, namespace, name, uid };
}
