/**
 * Reads the request of a claim. The same rule for both ways of creating volumes: claim-reconciler.ts, and a sidecar through
 * csi/controller-service.ts.
 */
import { LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION } from '../../api/listeners/names.ts';
import type { Listener, ListenerClass } from '../../api/listeners/index.ts';
import type { Cache } from '../../kube/contract.ts';
import type { PersistentVolumeClaim } from '../../kube/objects.ts';
import { unreadableText } from '../cluster/readable.ts';
import { isResourceName } from '../../text/names.ts';
import { nearest } from '../../text/nearest.ts';
import { quoted, shownValue } from '../../text/printable.ts';

export { isPinned } from '../cluster/volumes.ts';

/** An existing Listener, or a class for which the volume gets a Listener of its own. */
export interface Selection {
  readonly annotation: typeof LISTENER_NAME_ANNOTATION | typeof LISTENER_CLASS_ANNOTATION;
  readonly name: string;
}

export const BLOCK =
  'A listener volume is a folder of files: set volumeMode: Filesystem in the PersistentVolumeClaim, or remove the field.';

export interface Policy {
  readonly classes: Pick<Cache<ListenerClass>, 'get' | 'values'>;
  readonly listeners: Pick<Cache<Listener>, 'get'>;
}

export interface Refused {
  readonly ok: false;
  readonly code: 'csi-claim' | 'class-not-found' | 'listener-not-found' | 'no-class';
  /** Message for the claim's author. */
  readonly message: string;
}

export type VolumeRequest = { readonly ok: true; readonly selection: Selection; readonly listenerClass: ListenerClass } | Refused;

/** A refusal may be fixed at any time by changing the claim's annotations, the class, or the Listener. */
export function requestOf(claim: PersistentVolumeClaim, policy: Policy): VolumeRequest {
  const selected = selectionOf(claim);
  if (!('selection' in selected)) return selected;
  const { selection } = selected;
  const named = classNameOf(selection, claim.metadata.namespace ?? '', policy);
  if (!('className' in named)) return named;
  const listenerClass = policy.classes.get(named.className);
  if (listenerClass?.unreadable !== undefined) {
    return refuse('class-not-found', unreadableText(`ListenerClass ${named.className}`, listenerClass.unreadable));
  }
  if (listenerClass !== undefined) return { ok: true, selection, listenerClass };
  const meant = nearest(
    named.className,
    [...policy.classes.values()].map(({ metadata }) => metadata.name ?? ''),
  );
  const advice = meant === undefined ? 'Create it, or name another.' : `Create it, or name another: did you mean ${meant}?`;
  return refuse('class-not-found', `ListenerClass ${named.className}, which ${named.origin} names, does not exist. ${advice}`);
}

/** Requires exactly one of the two annotations, with a valid name. */
function selectionOf(claim: PersistentVolumeClaim): { readonly selection: Selection } | Refused {
  const { annotations = {}, namespace, name } = claim.metadata;
  const found = ([LISTENER_NAME_ANNOTATION, LISTENER_CLASS_ANNOTATION] as const).filter((key) => Object.hasOwn(annotations, key));
  const [annotation] = found;
  const where = `PersistentVolumeClaim ${namespace}/${name}`;
  if (annotation === undefined) {
    return refuse(
      'csi-claim',
      `${where} names nothing to expose: give it (or its claim template) the annotation ` +
        `${LISTENER_CLASS_ANNOTATION} with the name of a ListenerClass, or ${LISTENER_NAME_ANNOTATION} with that of a Listener.` +
        mistypedIn(Object.keys(annotations)),
    );
  }
  if (found.length > 1) return refuse('csi-claim', `${where} has both annotations, ${found.join(' and ')}: remove one of them.`);
  const value = annotations[annotation] ?? '';
  if (isResourceName(value)) return { selection: { annotation, name: value } };
  return refuse('csi-claim', `${where}: the annotation ${annotation} is ${quoted(value)}, which is not the name of an object.`);
}

/** Advice if the name of an annotation is similar to one of the two. */
function mistypedIn(keys: readonly string[]): string {
  for (const key of keys) {
    const [group = '', name] = key.split('/');
    const [wantedGroup = ''] = LISTENER_CLASS_ANNOTATION.split('/');
    if (name === undefined || nearest(group, [wantedGroup]) === undefined) continue;
    const meant = [LISTENER_CLASS_ANNOTATION, LISTENER_NAME_ANNOTATION].find(
      (each) => nearest(name, [each.split('/')[1] ?? '']) !== undefined,
    );
    if (meant !== undefined) return ` The annotation ${shownValue(key)} has no effect; did you mean ${meant}?`;
  }
  return '';
}

function classNameOf(
  { annotation, name }: Selection,
  namespace: string,
  { listeners }: Policy,
): { readonly className: string; readonly origin: string } | Refused {
  if (annotation === LISTENER_CLASS_ANNOTATION) {
    return { className: name, origin: `the annotation ${LISTENER_CLASS_ANNOTATION} of the claim` };
  }
  const key = `${namespace}/${name}`;
  const listener = listeners.get(key);
  if (listener === undefined) {
    const hint = `Create it, or correct the annotation ${LISTENER_NAME_ANNOTATION} of the claim.`;
    return refuse('listener-not-found', `Listener ${key} does not exist. ${hint}`);
  }
  if (listener.unreadable !== undefined) return refuse('no-class', unreadableText(`Listener ${key}`, listener.unreadable));
  const { className } = listener.spec;
  if (className !== undefined && className !== null && className !== '') return { className, origin: `Listener ${key}` };
  return refuse('no-class', `Listener ${key} has no spec.className: set it to the name of a ListenerClass.`);
}

function refuse(code: Refused['code'], message: string): Refused {
  return { ok: false, code, message };
}
