/** What the site's resources report: pure. The router's state in, statuses out. */
import type {
  AccessGrantStatus,
  AccessTokenStatus,
  CertificateStatus,
  ConnectorStatus,
  LinkStatus,
  ListenerStatus,
  MultiKeyListenerStatus,
  RouterAccessStatus,
  SiteStatus,
} from '../../api/skupper/index.ts';
import type { Condition } from '../../kube/objects.ts';
import type { RouterState } from '../../router/contract.ts';
import type { Reach } from '../reach.ts';
import { observeRouterAccess, observeSiteObject } from './observe-access.ts';
import { observeConnector, observeLink, observeListener, observeMultiKey } from './observe-traffic.ts';
import { observeCertificate, observeGrant, observeToken, type TrustFacts } from './observe-trust.ts';
import type { SitePlan } from '../plan/plan.ts';
import type { ResourceProblem } from '../problem.ts';
import { allOf, keyOf, type ResourceKey, type SiteObject, type SiteResources } from '../resources.ts';
import { byResource, type Moment } from './status.ts';

export type AnyStatus =
  | SiteStatus
  | ListenerStatus
  | MultiKeyListenerStatus
  | ConnectorStatus
  | LinkStatus
  | RouterAccessStatus
  | AccessGrantStatus
  | AccessTokenStatus
  | CertificateStatus;

export interface Observation {
  readonly resources: SiteResources;
  readonly plan: SitePlan;
  /** Found outside the plan: in files, by trust. */
  readonly problems: readonly ResourceProblem[];
  /** Undefined while no router runs. */
  readonly router?: RouterState;
  readonly trust: TrustFacts;
  readonly reach: Reach;
  readonly controller: { readonly name: string; readonly namespace: string; readonly version: string };
}

/** What one kind's observer is given besides the object. */
export interface View extends Observation {
  readonly own: readonly ResourceProblem[];
  readonly moment: Moment;
}

/**
 * @param previous the statuses that were reported last: a condition keeps its time while its status is the same
 * @param now RFC 3339, seconds
 */
export function observeSite(
  observation: Observation,
  previous: ReadonlyMap<ResourceKey, AnyStatus>,
  now: string,
): ReadonlyMap<ResourceKey, AnyStatus> {
  const problems = byResource([...observation.plan.problems, ...observation.problems]);
  const statuses = new Map<ResourceKey, AnyStatus>();
  for (const object of allOf(observation.resources)) {
    const key = keyOf(object);
    const { generation } = object.metadata;
    const moment: Moment = {
      now,
      previous: previous.get(key)?.conditions ?? noConditions,
      ...(generation === undefined ? {} : { generation }),
    };
    statuses.set(key, observeObject(object, { ...observation, own: problems.get(key) ?? [], moment }));
  }
  return statuses;
}

const noConditions: readonly Condition[] = [];

function observeObject(object: SiteObject, view: View): AnyStatus {
  switch (object.kind) {
    case 'Site':
      return observeSiteObject(object, view);
    case 'Listener':
      return observeListener(object, view);
    case 'MultiKeyListener':
      return observeMultiKey(object, view);
    case 'Connector':
      return observeConnector(object, view);
    case 'Link':
      return observeLink(object, view);
    case 'RouterAccess':
      return observeRouterAccess(object, view);
    case 'AccessGrant':
      return observeGrant(object, view);
    case 'AccessToken':
      return observeToken(object, view);
    case 'Certificate':
      return observeCertificate(object, view);
    default:
      return object satisfies never;
  }
}
