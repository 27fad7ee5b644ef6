import type { Condition } from '../../api/condition.ts';
import type { Learned, RouterState } from '../../router/contract.ts';
import type { AccessRules } from '../capabilities.ts';
import type { SitePlan } from '../plan/plan.ts';
import type { ResourceProblem } from '../problem.ts';
import type { Reach } from '../site-endpoints.ts';
import type { Kind, SiteResources } from '../resources.ts';
import type { NetworkRouter } from '../networks.ts';
import type { RouterFacts } from './router-facts.ts';
import type { TrustFacts } from './trust-facts.ts';
import type { MessageFormat } from './message-format.ts';

export interface Observation {
  readonly resources: SiteResources;
  /** Kinds whose statuses another process writes. */
  readonly leftOut?: ReadonlySet<Kind>;
  readonly plan: SitePlan;
  /** As `Material.remembered`. */
  readonly remembered?: ReadonlyMap<string, Learned>;
  readonly wording: MessageFormat;
  /** Problems found outside the plan: in files, by trust. */
  readonly problems: readonly ResourceProblem[];
  /** Undefined while no router runs. */
  readonly router?: RouterState;
  /** Names of the site's other routers that serve clients. */
  readonly serving?: readonly string[];
  /** Running routers of container networks. */
  readonly networkRouters?: readonly NetworkRouter[];
  /** Replaces `router` if other processes run the site's routers. */
  readonly routers?: RouterFacts;
  readonly trust: TrustFacts;
  /** As `Platform.access`. */
  readonly access?: AccessRules | undefined;
  readonly reach: Reach;
  readonly controller: { readonly name: string; readonly namespace: string; readonly version: string };
}

/** Input for the observer of a kind, besides the object. */
export interface View extends Observation, OwnView {}

export interface OwnView {
  readonly wording: MessageFormat;
  /** Problems of this object. */
  readonly own: readonly ResourceProblem[];
  readonly previous: readonly Condition[];
  readonly generation: number | undefined;
  readonly now: string;
}
