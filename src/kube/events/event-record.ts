import { microTime } from '../lease/lease-record.ts';
import type { KubeObject, ObjectReference } from '../objects.ts';
import { resource } from '../resource.ts';
import { firstBytes, printable } from '../../text/printable.ts';

/** events.k8s.io/v1 Event. */
export interface Event extends KubeObject {
  readonly eventTime: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly action: string;
  readonly reason: string;
  readonly regarding: ObjectReference;
  readonly note: string;
  readonly type: string;
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

export const events = resource<Event>('events.k8s.io/v1', 'Event', 'events');

export interface EventInput {
  readonly regarding: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly action: string;
  readonly note: string;
}

export interface Reporter {
  /** Qualified name of the controller: `listeners.stackable.tech/controller`. */
  readonly controller: string;
  /** Name of the pod. */
  readonly instance: string;
}

/** Identity of an event. Events with equal keys are repetitions. */
export function eventKey(event: EventInput): string {
  return JSON.stringify([objectKey(event.regarding), event.type, event.reason, event.action, event.note]);
}

export function objectKey({ apiVersion, kind, namespace, name, uid }: ObjectReference): string {
  return JSON.stringify([apiVersion, kind, namespace, name, uid]);
}

/** Builds the object within the limits that the API server's validation sets. */
export function eventObject(input: EventInput, reporter: Reporter, suffix: string, wall: Date): Event {
  return {
    metadata: { name: eventName(input.regarding.name, suffix), namespace: input.regarding.namespace ?? 'default' },
    eventTime: microTime(wall),
    reportingController: reporter.controller,
    reportingInstance: cutBytes(reporter.instance, 128),
    action: cutBytes(input.action, 128),
    reason: cutBytes(input.reason, 128),
    regarding: input.regarding,
    note: shownNote(input.note),
    type: input.type,
  };
}

/** Truncates a note to the maximum length of an event. */
export function shownNote(note: string): string {
  return cutBytes(printable(note), 1_024);
}

/** `count` is the total number of occurrences; a series has at least two. */
export function seriesPatch(count: number, wall: Date): Pick<Event, 'series'> {
  return { series: { count, lastObservedTime: microTime(wall) } };
}

/** Name of the event, which must be a DNS subdomain. The name of the regarding object may not be one. */
function eventName(regarding: string, suffix: string): string {
  const room = 253 - suffix.length - 1;
  const stem = regarding
    .toLowerCase()
    .replaceAll(/[^a-z0-9.-]/g, '-')
    .slice(0, room)
    .replaceAll(/\.[.-]+|-\.[.-]*/g, '.')
    .replaceAll(/^[.-]+|[.-]+$/g, '');
  return `${stem === '' ? 'object' : stem}.${suffix}`;
}

/** Truncates at a character boundary and adds an ellipsis. */
export function cutBytes(text: string, limit: number): string {
  const whole = text.toWellFormed();
  if (Buffer.byteLength(whole) <= limit) return whole;
  return `${firstBytes(whole, limit - 3)}…`;
}
