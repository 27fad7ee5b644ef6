/** Writes the state of a pod's mounts: addresses into the spec, the reason for waiting into the status and events. */
import { isDeepStrictEqual } from 'node:util';
import { podListeners, type ListenerIngress, type PodListener, type PodListeners } from '../../api/listeners/index.ts';
import { isEnding } from '../../api/listeners/mount-status.ts';
import type { EventRecorder, KubeClient } from '../../kube/contract.ts';
import { isAlreadyExists } from '../../kube/errors.ts';
import { keyOf, parseKey } from '../../kube/key.ts';
import type { WriteThroughCache } from '../../kube/watch/write-through-cache.ts';
import { checkKept } from '../listeners/definition-outdated.ts';
import { ownerOf, type Waiting } from './mount-plan.ts';
import type { ConditionReason } from '../../errors/condition-reason.ts';

/** State of one volume of the pod. */
export type MountState =
  | { readonly handle: string; readonly entries: Readonly<Record<string, PodListener>> }
  /** `refusal`: error of a refused request. The reconcile rejects with it once everything is written. */
  | { readonly handle: string; readonly waiting: Waiting; readonly refusal?: unknown };

export class MountAnswers {
  readonly #client: KubeClient;
  readonly #events: EventRecorder;
  readonly #view: WriteThroughCache<PodListeners>;

  constructor(client: KubeClient, events: EventRecorder, view: WriteThroughCache<PodListeners>) {
    this.#client = client;
    this.#events = events;
    this.#view = view;
  }

  /**
   * Creates the answered object of a pod whose node has not requested yet. If it does so meanwhile, its request is answered
   * instead.
   */
  async createAnswered(request: PodListeners, states: readonly MountState[], signal: AbortSignal): Promise<void> {
    const entries = states.flatMap((state) => ('entries' in state ? Object.entries(state.entries) : []));
    const object = { ...request, spec: { ...request.spec, listeners: Object.fromEntries(entries) } };
    try {
      this.#view.wrote(await this.#client.create(podListeners, object, { signal }));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }

  /** Resolves with the updated object. */
  async writeEntries(request: PodListeners, states: readonly MountState[], signal: AbortSignal): Promise<PodListeners> {
    const all = states.flatMap((state) => ('entries' in state ? Object.entries(state.entries) : []));
    const changed = all.filter(([name, entry]) => !sameEntry(entryNamed(request, name), entry));
    if (changed.length === 0) return request;
    // The patch has all entries, so that it is the same again after something else changed some of them.
    const patch = [
      { op: 'test', path: '/metadata/uid', value: request.metadata.uid },
      ...all.map(([name, value]) => ({ op: 'add', path: `/spec/listeners/${escapePointer(name)}`, value })),
    ];
    const listeners = { ...request.spec.listeners, ...Object.fromEntries(all) };
    const written = await this.#view.write({ ...request, spec: { ...request.spec, listeners } }, () =>
      this.#client.patch(podListeners, parseKey(keyOf(request)), patch, { type: 'json', signal }),
    );
    const isKept = changed.every(([name]) => written.spec.listeners[name]?.volumeHandle !== undefined);
    checkKept('PodListeners', 'spec.listeners.*.volumeHandle', isKept);
    this.#announce(request, changed);
    return written;
  }

  /** Writes the reasons for waiting, and removes those of complete mounts. */
  async writeWaiting(request: PodListeners, shown: ReadonlyMap<string, Waiting | undefined>, signal: AbortSignal): Promise<void> {
    const before = request.status?.mounts ?? {};
    // The ending of a pod is final, even if it has its address.
    const all = [...shown].filter(([handle, waiting]) => waiting !== undefined || !isEnding(request, handle));
    const changed = all.filter(
      ([handle, waiting]) => waiting?.reason !== before[handle]?.reason || waiting?.message !== before[handle]?.message,
    );
    if (changed.length === 0) return;
    // The patch has all reasons, as in `writeEntries`.
    const mounts = Object.fromEntries(
      all.map(([handle, waiting]) => [handle, waiting === undefined ? null : { reason: waiting.reason, message: waiting.message }]),
    );
    const patch = { metadata: { uid: request.metadata.uid }, status: { mounts } };
    const options = { type: 'merge', subresource: 'status', signal } as const;
    const after = Object.entries({ ...before, ...mounts }).flatMap(([handle, waiting]) =>
      waiting === null ? [] : [[handle, waiting] as const],
    );
    await this.#view.write({ ...request, status: { ...request.status, mounts: Object.fromEntries(after) } }, () =>
      this.#client.patch(podListeners, parseKey(keyOf(request)), patch, options),
    );
    for (const [handle, waiting] of changed) {
      const isEnd = isEnding({ ...request, status: { mounts: Object.fromEntries(after) } }, handle);
      if (waiting !== undefined && !isEnd) this.warn(request, waiting.reason, `The listener volume waits: ${waiting.message}`);
    }
  }

  /** Records an event for changed addresses, because files in the running pod change. The first address needs no event. */
  #announce(request: PodListeners, changed: readonly (readonly [name: string, entry: PodListener])[]): void {
    const news = changed.filter(([name, entry]) => hasOtherAddress(entryNamed(request, name), entry));
    if (news.length === 0) return;
    const notes = news.map(([name, { ingressAddresses }]) => `Volume ${name} now says ${shownAddresses(ingressAddresses ?? [])}.`);
    this.#record(request, 'Normal', 'AddressChanged', some(notes, ' '));
  }

  /** Records a warning event on the pod that owns the object. */
  warn(request: PodListeners, reason: ConditionReason, note: string): void {
    this.#record(request, 'Warning', reason, note);
  }

  #record(request: PodListeners, type: 'Normal' | 'Warning', reason: ConditionReason, note: string): void {
    const pod = ownerOf(request);
    if (pod === undefined) return;
    const regarding = { apiVersion: 'v1', kind: 'Pod', namespace: request.metadata.namespace ?? '', name: pod.name, uid: pod.uid };
    this.#events.record({ regarding, type, reason, action: 'Mount', note });
  }
}

/** A pod's volume may be named `constructor`. */
function entryNamed({ spec }: PodListeners, name: string): PodListener | undefined {
  return Object.hasOwn(spec.listeners, name) ? spec.listeners[name] : undefined;
}

function sameEntry(a: PodListener | undefined, b: PodListener): boolean {
  return a !== undefined && isDeepStrictEqual({ ...a, ingressAddresses: a.ingressAddresses ?? [] }, b);
}

function hasOtherAddress(before: PodListener | undefined, entry: PodListener): boolean {
  return before !== undefined && !isDeepStrictEqual(before.ingressAddresses ?? [], entry.ingressAddresses);
}

/** Formats addresses: `10.0.0.1 (http 30080, admin 30081)`. */
function shownAddresses(addresses: readonly ListenerIngress[]): string {
  const shown = addresses.map(({ address, ports }) => {
    const numbers = Object.entries(ports).map(([name, port]) => `${name} ${port}`);
    return `${address} (${some(numbers, ', ')})`;
  });
  return some(shown, ', ');
}

/** Shortens a long list, because the size of an event is limited. */
function some(texts: readonly string[], separator: string): string {
  const left = texts.length - MOST_SHOWN;
  return [...texts.slice(0, MOST_SHOWN), ...(left > 0 ? [`and ${left} more`] : [])].join(separator);
}

const MOST_SHOWN = 4;

/** RFC 6901, section 3. */
function escapePointer(segment: string): string {
  return segment.replaceAll('~', '~0').replaceAll('/', '~1');
}
