import { CONTROL_CONFIG, ROUTER } from '../api/skupper/cluster-names.ts';
import { accessGrants, sites, skupperResources, type Site } from '../api/skupper/index.ts';
import { GROUP } from '../api/skupper/names.ts';
import { networkObservers } from '../api/skupper/network-observer.ts';
import type { EventRecorder, KubeClient } from '../kube/contract.ts';
import { isNamespaceTerminating } from '../kube/errors.ts';
import type { KubeObject } from '../kube/objects.ts';
import { configMaps, deployments, secrets, type Resource } from '../kube/resource.ts';
import type { Logger } from '../telemetry/log.ts';
import { mapConcurrent } from '../work/map-concurrent.ts';
import { TimeSlices } from '../limits/loop/time-slices.ts';
import { RoundRobin } from '../limits/loop/round-robin.ts';
import { allOf, keyOf, sortResources, type SiteObject } from '../site/resources.ts';
import { accessObjects } from './access/access-objects.ts';
import { attachedObjects } from './attached/attached-objects.ts';
import type { SiteCaches } from './caches.ts';
import { applyDesired, CONCURRENCY } from './apply-desired.ts';
import type { NamespaceView } from './namespace-view.ts';
import { isOfRouters, observeNamespace } from './observe.ts';
import { AwaitedSecrets } from './awaited-secrets.ts';
import { observerObjects } from './observer/observer-objects.ts';
import { observerStatus } from './observer/observer-status.ts';
import { listObservers } from './observer/observers.ts';
import { createPasswordSecrets } from './observer/password-secrets.ts';
import { Repairs } from './repairs.ts';
import { reportRefusals } from './refusal-events.ts';
import { planServiceObjects } from './services/service-objects.ts';
import type { ControllerSettings } from './settings.ts';
import { activeSite } from './site/active-site.ts';
import { isControlled } from './site/control.ts';
import { templateSteps } from './site/label-templates.ts';
import { loadSecret } from './secret-data.ts';
import { SettledObjects } from './settled-objects.ts';
import { siteObjects } from './site/site-objects.ts';
import { repairedStatus, statusResource, writeStatus, type WithStatus } from './statuses.ts';
import { bounded, listInvalid, invalidStatus, listValid, surplusProblem, type InvalidResource } from './stored-resources.ts';
import { GrantService, type GrantServiceOptions } from './tokens/grant-service.ts';
import { grantServerObjects } from './tokens/grant-server-objects.ts';
import { SiteTrust } from './trust/site-trust.ts';
import { mergeDesiredStates, resolveConflicts, type DesiredState } from './desired-state.ts';

export interface NamespaceReconcilerOptions {
  readonly client: KubeClient;
  readonly caches: SiteCaches;
  readonly settings: ControllerSettings;
  readonly events: EventRecorder;
  readonly log: Logger;
  /** Current time in RFC 3339 format, to the second. */
  readonly now: () => string;
  /** Enqueues a namespace. */
  readonly wake: (namespace: string) => void;
  /** Monotonic clock in milliseconds; for tests. */
  readonly clock?: () => number;
}

const kinds = Object.values(skupperResources) as unknown as readonly Resource<SiteObject>[];

/** Maximum number of surplus resources of a kind whose status reports the surplus. */
const MOST_TOLD = 100;

/** Rules in no order: each reconcile applies the results of all of them as far as possible. */
const RULES = [siteObjects, accessObjects, attachedObjects, grantServerObjects, observerObjects];

/** Reconciles each namespace: reads all of its objects, and changes those that differ from what its resources ask for. */
export class NamespaceReconciler implements AsyncDisposable {
  readonly #options: NamespaceReconcilerOptions;
  /** By namespace, while it has a Site. */
  readonly #trust = new Map<string, SiteTrust>();
  readonly #grantService: GrantService;
  readonly #repairs: Repairs;
  /** By namespace, while it has a Site. */
  readonly #settled = new Map<string, SettledObjects>();
  /** By namespace, while it has a Site. */
  readonly #awaited = new Map<string, AwaitedSecrets>();
  /** Round-robin over all namespaces, so that the work of one does not delay the others. */
  readonly #turns = new RoundRobin();
  #opened: Promise<void> | undefined;

  constructor(options: NamespaceReconcilerOptions) {
    this.#options = options;
    const { client, settings, log, caches, wake, clock } = options;
    this.#repairs = new Repairs({ client, ...(clock === undefined ? {} : { clock }) });
    const onChange = (): void => caches.namespacesWith(accessGrants).forEach(wake);
    const load: GrantServiceOptions['load'] = (secret) => loadSecret(client, secret);
    this.#grantService = new GrantService({ settings: settings.grants, log, load, onChange });
  }

  /** @returns milliseconds until the next reconcile is due; undefined if nothing is due */
  async pass(namespace: string, signal: AbortSignal): Promise<number | undefined> {
    const { client, caches, events, settings, now } = this.#options;
    const slices = new TimeSlices(this.#turns, namespace);
    await this.#readResources(namespace, slices);
    await slices.rest();
    const seen = this.#viewOf(namespace);
    if (!isControlled(namespace, seen.find(configMaps, CONTROL_CONFIG), settings)) {
      await this.#forget(namespace);
      return undefined;
    }
    await this.#followGrantService(seen);
    if (!(await this.#reportInvalid(seen, slices, signal))) return undefined;
    const { facts, problems: ofTrust, revoked, anchor, again, failed: failedTrust } = await this.#stepTrust(seen, slices, signal);
    await slices.rest();
    const view = listedOnce({ ...seen, revoked, anchor });
    const planned: DesiredState[] = [];
    for (const rule of RULES) {
      planned.push(rule(view));
      await slices.rest();
    }
    planned.push(await slices.run(planServiceObjects(view)));
    await slices.rest();
    const { conflicts, ...merged } = resolveConflicts(mergeDesiredStates(planned));
    await slices.rest();
    const desired = await slices.run(templateSteps(view, merged));
    const repairs = this.#repairs;
    const site = view.site === undefined ? undefined : keyOf(view.site);
    const settled = this.#settled.getOrInsertComputed(namespace, () => new SettledObjects());
    const carried = await applyDesired(desired, { namespace, caches, client, repairs, settled, site, slices, signal });
    const { problems: refused, failed } = carried;
    const observers = listObservers(view);
    const passwords = await createPasswordSecrets(view, { client, cache: caches.view(secrets), signal });
    reportRefusals([...allOf(view.resources), ...observers.kept], [...conflicts, ...refused], events);
    const awaited = this.#awaited.getOrInsertComputed(namespace, () => new AwaitedSecrets(this.#options.clock));
    const judged = awaited.judge(desired.problems, allOf(view.resources));
    const problems = [...ofTrust, ...judged.problems, ...conflicts, ...refused, ...passwords.problems];
    await slices.rest();
    const statuses = observeNamespace(view, { problems, trust: facts }, now());
    await slices.rest();
    const surplus = observers.surplus.map((object) => surplusProblem(networkObservers, object));
    const againStatuses = await this.#writeStatuses(
      [
        ...allOf(view.resources).flatMap((object) => {
          const status = statuses.get(keyOf(object));
          return status === undefined ? [] : [{ object, status }];
        }),
        ...[...observers.kept, ...observers.surplus].map((object) => ({
          object,
          status: observerStatus(view, object, [...problems, ...surplus], now()),
        })),
      ],
      slices,
      signal,
    );
    const error = failed ?? passwords.failed ?? failedTrust;
    // In a terminating namespace retries are useless: nothing can be created.
    if (error !== undefined && !isNamespaceTerminating(error)) throw error;
    return soonest(again, judged.again, carried.again, againStatuses);
  }

  /**
   * Opens the grant server before the first grant is read. Otherwise each new leader would remove the address from the statuses of grants
   * for a moment.
   */
  async #followGrantService(seen: NamespaceView): Promise<void> {
    const { namespace, settings } = seen;
    this.#opened ??= this.#grantService.follow(namespace === settings.namespace ? seen : this.#viewOf(settings.namespace));
    await this.#opened;
    if (namespace === settings.namespace) await this.#grantService.follow(seen);
  }

  /** Validates all resources. Each is validated once for each version, so only the first reconcile after many changes takes long. */
  async #readResources(namespace: string, slices: TimeSlices): Promise<void> {
    for (const of of kinds) {
      await slices.rest();
      for (const object of bounded(of, this.#options.caches.list(of, namespace)).kept) {
        listValid(of, [object]);
        await slices.next();
      }
    }
  }

  /** @returns whether to go on: false keeps everything that was created for a Site that is unreadable now */
  async #reportInvalid({ namespace, site }: NamespaceView, slices: TimeSlices, signal: AbortSignal): Promise<boolean> {
    const { caches, events, now } = this.#options;
    const all: InvalidResource[] = [];
    for (const of of kinds) {
      const { kept, surplus } = bounded(of, caches.list(of, namespace));
      const tooMany = surplus
        .slice(0, MOST_TOLD)
        .map((object) => ({ object: { ...object, kind: of.kind } as SiteObject, problems: [surplusProblem(of, object)] }));
      reportRefusals(
        tooMany.map(({ object }) => object),
        tooMany.flatMap(({ problems }) => problems),
        events,
      );
      all.push(...listInvalid(of, kept), ...tooMany);
      await slices.next();
    }
    const active = this.#activeIn(namespace);
    const isGiven = !all.some(({ object }) => object === active);
    const mine = all.filter(({ object }) => site === undefined || !isOfRouters(object.kind));
    await this.#writeStatuses(
      mine.map((each) => ({ object: each.object, status: invalidStatus(each, now()) })),
      slices,
      signal,
    );
    return isGiven;
  }

  /** @returns milliseconds until a delayed write is due */
  async #writeStatuses(all: readonly { readonly object: WithStatus; readonly status: object }[], slices: TimeSlices, signal: AbortSignal) {
    const { client, caches, events } = this.#options;
    const repairs = this.#repairs;
    const views = { view: (kind: WithStatus['kind']) => caches.view(statusResource(kind)) };
    const again: number[] = [];
    const writing = all.map(({ object, status }) => async (): Promise<void> => {
      await slices.next();
      const delay = await writeStatus(object, status, { client, views, repairs, signal });
      if (delay > 0) again.push(delay);
    });
    await mapConcurrent(CONCURRENCY, writing);
    const reports = repairs.reports(all.map(({ object, status }) => repairedStatus(object, status)));
    reportRefusals(
      all.map(({ object }) => object),
      reports.problems,
      events,
    );
    return soonest(...again, reports.again);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#grantService[Symbol.asyncDispose]();
    await Promise.all([...this.#trust.values()].map((trust) => trust[Symbol.asyncDispose]()));
  }

  async #stepTrust(view: NamespaceView, slices: TimeSlices, signal: AbortSignal): ReturnType<SiteTrust['step']> {
    const { namespace, site } = view;
    const trust = this.#trust.getOrInsertComputed(
      namespace,
      () => new SiteTrust({ ...this.#options, grantService: this.#grantService, namespace }),
    );
    const step = await trust.step(view, signal, slices);
    if (site === undefined) await this.#forget(namespace);
    return step;
  }

  async #forget(namespace: string): Promise<void> {
    const trust = this.#trust.get(namespace);
    this.#trust.delete(namespace);
    this.#settled.delete(namespace);
    this.#awaited.delete(namespace);
    await trust?.[Symbol.asyncDispose]();
  }

  #activeIn(namespace: string): Site | undefined {
    const { caches } = this.#options;
    const created = [configMaps, deployments].map((of) => caches.view<KubeObject>(of).get(`${namespace}/${ROUTER}`));
    return activeSite(caches.list(sites, namespace), created);
  }

  #viewOf(namespace: string): NamespaceView {
    const { caches, settings } = this.#options;
    const list = <T extends KubeObject>(of: Resource<T>): readonly T[] => caches.list(of, namespace);
    const all = kinds.map((of) => ({ of, ...bounded(of, list(of)) }));
    const find = <T extends KubeObject>(of: Resource<T>, name: string): T | undefined => caches.view(of).get(`${namespace}/${name}`);
    const resources = sortResources(all.flatMap(({ of, kept }) => listValid(of, kept)));
    return {
      namespace,
      resources,
      unreadable: all.flatMap(({ of, kept, surplus }) =>
        [...listInvalid(of, kept).map(({ object }) => object), ...surplus].map((object) => ({ ...object, kind: of.kind }) as SiteObject),
      ),
      site: resources.Site.find(({ metadata }) => metadata.uid === this.#activeIn(namespace)?.metadata.uid),
      settings,
      revoked: undefined,
      anchor: undefined,
      list,
      find,
      elsewhere: (of, other) => (of.group === GROUP ? listValid(of, caches.list(of, other)) : caches.list(of, other)),
      isUnreadable: (of, other, name) => {
        const object = of.group === GROUP ? caches.view<KubeObject>(of).get(`${other}/${name}`) : undefined;
        return object !== undefined && listValid(of, [object]).length === 0;
      },
      podsOf: (other) => caches.podsOf(other),
      serves: (of) => caches.has(of),
    };
  }
}

/** The rules of one reconcile share one list of each kind, which is built once. */
function listedOnce(view: NamespaceView): NamespaceView {
  const lists = new Map<Resource, readonly KubeObject[]>();
  // Each list has the kind that is its key.
  const list = <T extends KubeObject>(of: Resource<T>): readonly T[] =>
    lists.getOrInsertComputed(of as Resource, () => view.list(of)) as readonly T[];
  return { ...view, list };
}

function soonest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
