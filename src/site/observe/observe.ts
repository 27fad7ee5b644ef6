/** Computes the statuses of the site's resources from the state of its router (pure). */
import { allOf, keyOf, type Kind, type OfKind, type ResourceKey, type StatusOf } from '../resources.ts';
import { observeRouterAccess, observeSecuredAccess, observeSiteObject } from './observe-access.ts';
import { observeAttachedBinding, observeAttachedConnector } from './observe-attached.ts';
import { observeConnector, observeLink, observeListener, observeMultiKey } from './observe-traffic.ts';
import { observeCertificate, observeGrant, observeToken } from './observe-trust.ts';
import { configured, statusOf } from './status.ts';
import type { Observation, OwnView, View } from './view.ts';

export type AnyStatus = StatusOf<Kind>;

const observers: { readonly [K in Kind]: (object: OfKind<K>, view: View) => StatusOf<K> } = {
  Site: observeSiteObject,
  Listener: observeListener,
  MultiKeyListener: observeMultiKey,
  Connector: observeConnector,
  Link: observeLink,
  RouterAccess: observeRouterAccess,
  AccessGrant: observeGrant,
  AccessToken: observeToken,
  Certificate: observeCertificate,
  AttachedConnector: observeAttachedConnector,
  AttachedConnectorBinding: observeAttachedBinding,
  SecuredAccess: observeSecuredAccess,
};

/**
 * @param previous statuses that were reported last: a condition keeps its time while its status stays the same
 * @param now RFC 3339 time, to the second
 */
export function observeSite(
  observation: Observation,
  previous: ReadonlyMap<ResourceKey, AnyStatus>,
  now: string,
): ReadonlyMap<ResourceKey, AnyStatus> {
  const problems = Map.groupBy([...observation.plan.problems, ...observation.problems], ({ resource }) => resource);
  const statuses = new Map<ResourceKey, AnyStatus>();
  for (const object of allOf(observation.resources)) {
    if (observation.leftOut?.has(object.kind) === true) continue;
    const key = keyOf(object);
    const { generation } = object.metadata;
    const view: View = { ...observation, own: problems.get(key) ?? [], previous: previous.get(key)?.conditions ?? [], generation, now };
    statuses.set(key, observeObject(object, view));
  }
  return statuses;
}

function observeObject<K extends Kind>(object: OfKind<K>, view: View): StatusOf<K> {
  // The table row of the object's own kind.
  const observe = observers[object.kind as K];
  return observe(object, view);
}

/** Status of a kind that no router implements, or of an unreadable resource: it consists of the problems. */
export function observePlanned(_object: unknown, view: OwnView) {
  return statusOf({ Configured: configured(view) }, view);
}
