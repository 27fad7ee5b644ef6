import { isDeepStrictEqual } from 'node:util';
import type { RouterState } from '../router/contract.ts';
import type { TrustFacts } from '../site/observe/trust-facts.ts';
import { observeSite, type AnyStatus } from '../site/observe/observe.ts';
import type { MessageFormat } from '../site/observe/message-format.ts';
import type { Observation } from '../site/observe/view.ts';
import type { SitePlan } from '../site/plan/plan.ts';
import type { NetworkRouter } from '../site/networks.ts';
import type { ResourceProblem } from '../site/problem.ts';
import type { Reach } from '../site/site-endpoints.ts';
import type { ResourceKey } from '../site/resources.ts';
import type { Snapshot, StatusSink } from './ports.ts';
import { ConditionChanges, listConditionChanges } from './condition-changes.ts';
import { timestamp } from './stale-status.ts';
import type { Logger } from '../telemetry/log.ts';

/** Input of a reconcile. With the router's state, statuses are derived from nothing else. */
export interface Seen {
  readonly snapshot: Snapshot;
  readonly plan: SitePlan;
  /** Problems besides those of the snapshot and of the plan. */
  readonly problems: readonly ResourceProblem[];
  readonly trust: TrustFacts;
}

export interface ReporterOptions {
  readonly statuses: StatusSink;
  readonly reach: () => Reach;
  readonly controller: Observation['controller'];
  readonly wording: MessageFormat;
  readonly routerState: () => RouterState | undefined;
  /** See `Siblings.serving`. */
  readonly serving: () => readonly string[];
  /** See `Siblings.networkRouters`. */
  readonly networkRouters: () => readonly NetworkRouter[];
  readonly clock: () => number;
  readonly log: Logger;
}

/** Updates the statuses when the result of the last reconcile or the router's state has changed. */
export class Reporter {
  readonly #options: ReporterOptions;
  #seen: Seen | undefined;
  /** Undefined before the first report, which does not count as a change. */
  #statuses: ReadonlyMap<ResourceKey, AnyStatus> | undefined;
  readonly changes = new ConditionChanges();
  /** Input of the last report; undefined if anything else has changed since. */
  #reported: readonly unknown[] | undefined;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  get seen(): Seen | undefined {
    return this.#seen;
  }

  see(seen: Seen): void {
    this.#seen = seen;
  }

  changed(): void {
    this.#reported = undefined;
  }

  report(): void {
    if (this.#seen === undefined) return;
    const { snapshot, plan, problems, trust } = this.#seen;
    const { statuses, reach, controller, wording, routerState, serving, networkRouters, clock } = this.#options;
    const now = reach();
    const others = serving();
    const ofNetworks = networkRouters();
    const from = [snapshot, plan, problems, trust, now, others, ofNetworks];
    if (this.#reported !== undefined && isSame(this.#reported, from)) return;
    const router = routerState();
    const { resources } = snapshot;
    const all = [...snapshot.problems, ...problems];
    const ofRouter = router === undefined ? {} : { router };
    const remembered = snapshot.remembered === undefined ? {} : { remembered: snapshot.remembered };
    const observation = {
      resources,
      ...remembered,
      plan,
      problems: all,
      trust,
      reach: now,
      serving: others,
      networkRouters: ofNetworks,
      controller,
      wording,
      ...ofRouter,
    };
    const before = this.#statuses;
    const time = timestamp(clock());
    const observed = observeSite(observation, before ?? new Map(), time);
    this.#statuses = observed;
    this.#reportErrors(before ?? new Map(), observed);
    if (before !== undefined) this.changes.add(listConditionChanges(before, observed, time));
    statuses.write({ resources, statuses: observed, problems: snapshot.problems, plan, ...ofRouter });
    this.#reported = from;
  }

  /** A reader of the log alone must see the errors that statuses show. */
  #reportErrors(before: ReadonlyMap<ResourceKey, AnyStatus>, observed: ReadonlyMap<ResourceKey, AnyStatus>): void {
    for (const [resource, { status, message }] of observed) {
      const known = before.get(resource);
      if (status !== 'Error' || (known?.status === 'Error' && known.message === message)) continue;
      this.#options.log.warn({ resource }, `${resource} has the status Error: ${message}`);
    }
  }
}

/** The snapshot and the plan are large, and are the same objects as before if nothing has changed. */
function isSame([snapshot, plan, ...others]: readonly unknown[], [snapshotNow, planNow, ...othersNow]: readonly unknown[]): boolean {
  return snapshot === snapshotNow && plan === planNow && isDeepStrictEqual(others, othersNow);
}
