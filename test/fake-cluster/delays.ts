/** How long pods take to start once their address is known, and to end, in worlds in which some wait for an address. */
import { keyOf } from '../../src/kube/key.ts';
import type { KubeObject, Pod } from '../../src/kube/objects.ts';
import type { Loop } from '../simulate/loop.ts';
import type { Store } from './store.ts';

/** Milliseconds that a pod may take because of another one that waits. */
const ALLOWED = 3_000;
/** Steps of Kubernetes' own controllers and kubelets from a change to its effect, each at its slowest. */
const STEPS = 16;

export class Delays {
  readonly #loop: Loop;
  readonly #most: number;
  /** Since when a pod is to end, by UID. */
  readonly #ending = new Map<string, number>();
  /** Since when a pod has what it needs to start, by UID. */
  readonly #starting = new Map<string, number>();
  /** Whether load balancers give no addresses. */
  #isHeld = false;

  constructor({
    loop,
    store,
    others,
    faults,
  }: {
    readonly loop: Loop;
    readonly store: Store;
    readonly others: number;
    readonly faults: string[];
  }) {
    this.#loop = loop;
    this.#most = ALLOWED + STEPS * others;
    store.onChange(({ plural, type, object }) => {
      if (plural === 'pods') faults.push(...this.#onPod(type, object));
    });
  }

  /** Addresses are given again, or no longer. */
  setHeld(isHeld: boolean): void {
    this.#isHeld = isHeld;
    for (const uid of this.#starting.keys()) this.#starting.set(uid, this.#loop.now);
  }

  /** Pods that have not started or ended although it is time. */
  get late(): readonly string[] {
    const { now } = this.#loop;
    const isLate = (since: number): boolean => now - since > this.#most;
    const starting = this.#isHeld ? [] : [...this.#starting].filter(([, since]) => isLate(since));
    return [
      ...starting.map(([uid, since]) => `pod ${uid} has not started ${Math.round(now - since)} ms after its address was given`),
      ...[...this.#ending]
        .filter(([, since]) => isLate(since))
        .map(([uid, since]) => `pod ${uid} has not ended after ${Math.round(now - since)} ms`),
    ];
  }

  #onPod(type: string, object: KubeObject): readonly string[] {
    const { uid = '', deletionTimestamp } = object.metadata;
    const { now } = this.#loop;
    const isEnding = deletionTimestamp !== undefined;
    if (type === 'DELETED') {
      const took = now - (this.#ending.get(uid) ?? now);
      this.#ending.delete(uid);
      this.#starting.delete(uid);
      return took > this.#most ? [`pod ${keyOf(object)} took ${Math.round(took)} ms to end`] : [];
    }
    if (isEnding) {
      this.#starting.delete(uid);
      if (!this.#ending.has(uid)) this.#ending.set(uid, now);
      return [];
    }
    if ((object as Pod).status?.phase !== 'Running') {
      if (!this.#starting.has(uid)) this.#starting.set(uid, now);
      return [];
    }
    const took = now - (this.#starting.get(uid) ?? now);
    this.#starting.delete(uid);
    return !this.#isHeld && took > this.#most ? [`pod ${keyOf(object)} took ${Math.round(took)} ms to start`] : [];
  }
}
