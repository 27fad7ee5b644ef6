import type { ResourceProblem } from '../site/problem.ts';
import { keyOf, type ResourceKey, type SiteObject } from '../site/resources.ts';

/** Milliseconds in which a missing Secret is not an error: users may apply it after the resource that names it. */
const GRACE = 3_000;

export interface Judged {
  readonly problems: readonly ResourceProblem[];
  /** Milliseconds until the first awaited Secret becomes an error. */
  readonly again?: number;
}

/** Reports a missing Secret as awaited at first. A resource that already has the status Error keeps it. */
export class AwaitedSecrets {
  readonly #clock: () => number;
  /** Time at which each resource was first seen without its Secret. */
  readonly #since = new Map<ResourceKey, number>();

  constructor(clock: () => number = () => performance.now()) {
    this.#clock = clock;
  }

  /** @param objects resources that the problems concern */
  judge(problems: readonly ResourceProblem[], objects: Iterable<SiteObject>): Judged {
    const missing = new Set(problems.filter(isMissing).map(({ resource }) => resource));
    for (const resource of this.#since.keys()) if (!missing.has(resource)) this.#since.delete(resource);
    if (missing.size === 0) return { problems };
    const now = this.#clock();
    const waiting = new Map<ResourceKey, number>();
    for (const object of objects) {
      const key = keyOf(object);
      if (!missing.has(key) || (object.status?.status === 'Error' && !this.#since.has(key))) continue;
      const left = this.#since.getOrInsert(key, now) + GRACE - now;
      if (left > 0) waiting.set(key, left);
    }
    if (waiting.size === 0) return { problems };
    const judged = problems.map((problem) =>
      isMissing(problem) && waiting.has(problem.resource) ? { ...problem, code: 'secret-awaited' as const } : problem,
    );
    return { problems: judged, again: Math.min(...waiting.values()) };
  }
}

const isMissing = ({ code, severity }: ResourceProblem): boolean => code === 'tls-missing' && severity === 'error';
