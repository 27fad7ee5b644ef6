/** Limits and reports repairs of the objects of a namespace that something else keeps changing back. */
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

/** One object that is written, and where its fights are reported. */
export interface Repaired {
  readonly of: Resource;
  /** What is desired; its namespace and name say which object it is. */
  readonly object: KubeObject;
  readonly for: ResourceKey | undefined;
  /** Part of the object that is written apart from the rest, such as `status`. */
  readonly part?: string;
}

export interface RepairsOptions {
  readonly client: Pick<KubeClient, 'find'>;
  /** Milliseconds, monotonic. */
  readonly clock?: () => number;
}

/** Digest of an object that is to be absent. */
export const ABSENT = 'absent';

/** Of one process: it knows what it wrote last. */
export class Repairs {
  readonly #client: RepairsOptions['client'];
  readonly #clock: () => number;
  readonly #limiter = new RepairLimiter();

  constructor({ client, clock = () => performance.now() }: RepairsOptions) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * @param desired digest of what is to be written
   * @param found digest that the object bears now; ABSENT: there is no object; undefined: unknown
   * @returns milliseconds until it may be written; 0: now
   */
  delay(repaired: Repaired, desired: string, found?: string): number {
    return this.#limiter.delay(this.#request(repaired, desired, found), this.#clock());
  }

  /** Counts a write that succeeded. */
  wrote(repaired: Repaired, desired: string, found?: string): void {
    this.#limiter.wrote(this.#request(repaired, desired, found), this.#clock());
  }

  /** Finds out what changes an object whose repairs are delayed, once a fight. */
  async investigate(repaired: Repaired, current: KubeObject | undefined, signal: AbortSignal): Promise<void> {
    const key = keyOf(repaired);
    if (!this.#limiter.isDamped(key, this.#clock()) || this.#limiter.reported(key, this.#clock()) !== undefined) return;
    const { namespace, name = '' } = repaired.object.metadata;
    // Most caches keep no managedFields. The report is worth a request, and no failure.
    const whole = await this.#client
      .find(repaired.of, { ...(namespace === undefined ? {} : { namespace }), name }, { signal })
      .catch(() => undefined);
    const { managedFields = [] } = whole?.metadata ?? {};
    const changed = current === undefined ? undefined : { ...current, metadata: { ...current.metadata, managedFields } };
    const report = repairReportOf(changed, repaired.object, (manager) => manager === FIELD_MANAGER, matchesDesired);
    this.#limiter.note(key, report, this.#clock());
  }

  /** Fights over these objects, and the milliseconds until the first of them may be over. */
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

function keyOf({ of, object: { metadata }, part = '' }: Repaired): string {
  return `${of.plural}.${of.group} ${metadata.namespace ?? ''}/${metadata.name} ${part === '' ? '' : `${metadata.uid} ${part}`}`;
}
