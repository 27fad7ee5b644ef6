/**
 * Replaces parts of stored objects that do not match this version's definitions. Pure. The API server validates only on write, so
 * an object written under other definitions may hold anything. It still exists: nothing may be deleted, moved or created because
 * of it.
 */
import { structural, type Structural } from '../../api/crd.ts';
import type { Listener, ListenerClass, PodListeners } from '../../api/listeners/index.ts';
import { listenerClassSpec } from '../../api/listeners/listener-class.ts';
import { listenerSpec, listenerStatus } from '../../api/listeners/listener.ts';
import { podListenersSpec } from '../../api/listeners/pod-listeners.ts';
import { checkValue } from '../../api/skupper/check.ts';
import { isRecord } from '../../text/is-record.ts';

const listenerShape = structural(listenerSpec);
const statusShape = structural(listenerStatus);
const classShape = structural(listenerClassSpec);
const podListenersShape = structural(podListenersSpec);

/** Replaces an unreadable spec by an empty one and a reason, and drops an unreadable status. */
export function readableListener(listener: Listener): Listener {
  const { status, ...rest } = listener;
  const isGood = status === undefined || status === null || problemIn(statusShape, status, 'status') === undefined;
  const parsed = isGood ? listener : rest;
  const unreadable = problemIn(listenerShape, listener.spec, 'spec');
  return unreadable === undefined ? parsed : { ...parsed, spec: {}, unreadable };
}

/** Replaces an unreadable spec by a minimal one and a reason. */
export function readableClass(listenerClass: ListenerClass): ListenerClass {
  const unreadable = problemIn(classShape, listenerClass.spec, 'spec');
  return unreadable === undefined ? listenerClass : { ...listenerClass, spec: { serviceType: 'ClusterIP' }, unreadable };
}

/**
 * Fields of entries in `listeners` do not count, because the controller writes them itself and corrects them.
 * @returns why the spec of a PodListeners is unreadable, or undefined
 */
export function findUnreadable({ spec }: PodListeners): string | undefined {
  const areEntries = isRecord(spec) && isRecord(spec.listeners) && Object.values(spec.listeners).every(isRecord);
  return problemIn(podListenersShape, areEntries ? { ...spec, listeners: {} } : spec, 'spec');
}

/** Message for users: which object is unreadable, why, and what to do. */
export function unreadableText(what: string, reason: string): string {
  return `${what} does not match the current definitions: ${reason}. Correct the field.`;
}

function problemIn(shape: Structural, value: unknown, path: string): string | undefined {
  let found: string | undefined;
  checkValue(shape, value ?? undefined, path, ({ severity, path: at, message }) => {
    if (severity === 'error') found ??= `${at} ${message}`;
  });
  return found;
}
