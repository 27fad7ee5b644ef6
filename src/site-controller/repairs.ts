/** Limits and reports repairs of a namespace's objects that another writer keeps reverting. */
import { performance } from 'node:perf_hooks';
import { FIELD_MANAGER } from '../api/skupper/cluster-names.ts';
import { repairMessage, repairReportOf } from '../kube/changed-fields.ts';
import type { KubeClient } from '../kube/contract.ts';
import type { KubeObject } from '../kube/objects.ts';
import type { Resource } from '../kube/resource.ts';
import type { ResourceProblem } from '../site/problem.ts';
import type { ResourceKey } from '../site/resources.ts';
import { RepairLimiter } from '../work/repair-limiter.ts';
import { matchesDesired } from './matches-desired.ts';

/** An object that is written, and the resource whose status reports conflicts over it. */
export interface Repaired {
  readonly of: Resource;
  /** Desired object; its namespace and name identify it. */
  readonly object: KubeObject;
  readonly for: ResourceKey | undefined;
  /** Part of the object that is written separately, such as `status`. */
  readonly part?: string;
}

export interface RepairsOptions {
  readonly client: Pick<KubeClient, 'find'>;
  /** Monotonic clock in milliseconds. */
  readonly clock?: () => number;
}

/** Digest of an object that must be absent. */
export const ABSENT = 'absent';

/** Only the writes of this process are known. */
export class Repairs {
  readonly #client: RepairsOptions['client'];
  readonly #clock: () => number;
  readonly #limiter = new RepairLimiter();

  constructor({ client, clock = () => performance.now() }: RepairsOptions) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * @param desired digest of the object to write
   * @param found digest that the object bears now; ABSENT: there is no object; undefined: unknown
   * @returns milliseconds until it may be written; 0: now
   */
  delay(repaired: Repaired, desired: string, found?: string): number {
    return this.#limiter.delay(this.#request(repaired, desired, found), this.#clock());
  }

  /** Counts a successful write. */
  wrote(repaired: Repaired, desired: string, found?: string): void {
    this.#limiter.wrote(this.#request(repaired, desired, found), this.#clock());
  }

  /** Finds out once for each conflict who changes an object whose repairs are delayed. */
  async investigate(repaired: Repaired, current: KubeObject | undefined, signal: AbortSignal): Promise<void> {
    const key = keyOf(repaired);
    if (!this.#limiter.isDamped(key, this.#clock()) || this.#limiter.reported(key, this.#clock()) !== undefined) return;
    const { namespace, name = '' } = repaired.object.metadata;
    // Most caches omit managedFields. The report is worth a request, but not an error.
    const whole = await this.#client
      .find(repaired.of, { ...(namespace === undefined ? {} : { namespace }), name }, { signal })
      .catch(() => undefined);
    const { managedFields = [] } = whole?.metadata ?? {};
    const changed = current === undefined ? undefined : { ...current, metadata: { ...current.metadata, managedFields } };
    const report = repairReportOf(changed, repaired.object, (manager) => manager === FIELD_MANAGER, matchesDesired);
    this.#limiter.note(key, report, this.#clock());
  }

  /** Conflicts over these objects, and milliseconds until the first of them may be over. */
  reports(all: Iterable<Repaired>): { readonly problems: readonly ResourceProblem[]; readonly again?: number } {
    const problems: ResourceProblem[] = [];
    let again = Number.POSITIVE_INFINITY;
    for (const repaired of all) {
      const found = this.#limiter.reported(keyOf(repaired), this.#clock());
      if (found === undefined || repaired.for === undefined) continue;
      again = Math.min(again, found.remaining);
      const { name } = repaired.object.metadata;
      const what = `${repaired.part === undefined ? '' : `${repaired.part} of `}${repaired.of.kind} ${name}`;
      problems.push({ resource: repaired.for, severity: 'warning', code: 'object-contested', message: repairMessage(what, found.report) });
    }
    return { problems, ...(Number.isFinite(again) ? { again } : {}) };
  }

  #request(repaired: Repaired, desired: string, found: string | undefined) {
    const key = keyOf(repaired);
    const last = this.#limiter.lastWritten(key, this.#clock());
    return { key, desired, isOverwritten: found !== undefined && last !== undefined && found !== last };
  }
}

/** Includes the owners. If a Site is deleted and created again, writing its objects again is not a repair. */
function keyOf({ of, object: { metadata }, part = '' }: Repaired): string {
  const { namespace = '', name, uid, ownerReferences = [] } = metadata;
  const owners = ownerReferences.map((owner) => owner.uid).toSorted();
  return `${of.plural}.${of.group} ${namespace}/${name} ${owners.join(' ')} ${part === '' ? '' : `${uid} ${part}`}`;
}
