import { performance } from 'node:perf_hooks';
import { setTimeout as timeout } from 'node:timers/promises';
import type { Cache, InformerProblem, ListWatch, StartInformer } from '../../kube/contract.ts';
import { ApiError } from '../../kube/errors.ts';
import type { Secret } from '../../kube/objects.ts';
import { secrets } from '../../kube/resource.ts';
import { bounded } from '../../telemetry/boundary.ts';
import { isResourceName } from '../../text/names.ts';
import { backoffDelay } from '../../work/backoff.ts';

export interface WatchedSecretsOptions {
  readonly client: ListWatch;
  readonly start: StartInformer;
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly onProblem: (problem: InformerProblem) => void;
  readonly onChange: () => void;
}

/**
 * Milliseconds until an unreadable Secret is requested again, unless a change of the Role is seen earlier. The API server's authorizer also
 * learns a new right from a watch, perhaps later, so the first retries come soon.
 */
const ASK_AGAIN = { first: 100, max: 30_000 } as const;

/**
 * Milliseconds after a Secret was first named in which its absence is not an error. `absent`: its author may apply it after the resource
 * that names it. `unread`: the controller grants the right to read it later, and API servers learn of the right even later.
 */
const GRACE = { absent: 3_000, unread: 30_000 } as const;

interface Watched {
  /** performance.now() when the Secret was first named. */
  readonly since: number;
  readonly cache: Cache<Secret>;
  readonly end: AbortController;
  /** Resolves after the first response: the content, or a refusal. */
  readonly answered: Promise<void>;
  /** Set after a refusal. The Secret is not watched until the timer ends. */
  refused?: NodeJS.Timeout;
}

/**
 * Watches each Secret that a site refers to, one watch per Secret, because the site may read only these. A Secret without the right to read
 * it counts as missing.
 */
export class WatchedSecrets {
  readonly #options: WatchedSecretsOptions;
  readonly #watched = new Map<string, Watched>();

  constructor(options: WatchedSecretsOptions) {
    this.#options = options;
  }

  get names(): readonly string[] {
    return [...this.#watched.keys()];
  }

  /** Sets the names to watch. Watches of other names end. */
  follow(names: ReadonlySet<string>): void {
    for (const [name, { end, refused }] of this.#watched) {
      if (names.has(name)) continue;
      this.#watched.delete(name);
      clearTimeout(refused);
      end.abort();
    }
    // Any other text would be another field selector.
    for (const name of names) if (!this.#watched.has(name) && isResourceName(name)) this.#watched.set(name, this.#watch(name));
  }

  /** Called after a change of this process's rights: requests the refused Secrets again. */
  again(): void {
    for (const [name, { refused, since }] of this.#watched) {
      if (refused === undefined) continue;
      clearTimeout(refused);
      this.#watched.set(name, this.#watch(name, since));
    }
  }

  get(name: string): Secret | undefined {
    return this.#watched.get(name)?.cache.get(`${this.#options.namespace}/${name}`);
  }

  /** Names of unreadable Secrets that may only be late. A resource that names one is not in error yet. */
  awaited(): ReadonlySet<string> {
    const now = performance.now();
    const late = [...this.#watched].filter(([name, { cache, since }]) => {
      return this.get(name) === undefined && now - since < (cache.isSynced ? GRACE.absent : GRACE.unread);
    });
    return new Set(late.map(([name]) => name));
  }

  /** Resolves once each Secret has had its first response, at the latest after the given milliseconds. */
  async answered(milliseconds: number): Promise<void> {
    const late = new AbortController();
    const all = Promise.all([...this.#watched.values()].map(({ answered }) => answered));
    await Promise.race([all, timeout(milliseconds, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
  }

  #watch(name: string, since = performance.now(), refusals = 1): Watched {
    const { client, start, namespace, signal, onProblem, onChange } = this.#options;
    const end = new AbortController();
    const answer = Promise.withResolvers<void>();
    const refuse = (): void => {
      end.abort();
      const again = (): void => void this.#watched.set(name, this.#watch(name, since, refusals + 1));
      watched.refused ??= setTimeout(bounded('look/refused-secrets', again), backoffDelay(ASK_AGAIN, refusals, Math.random()));
      watched.refused.unref();
    };
    const cache = start<Secret>(client, secrets, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
      signal: AbortSignal.any([signal, end.signal]),
      project: needed,
      onProblem: (problem) => {
        answer.resolve();
        if (isForbidden(problem.error)) refuse();
        else onProblem(problem);
      },
    });
    cache.onChange(onChange);
    cache.synced.then(answer.resolve, answer.resolve);
    const watched: Watched = { since, cache, end, answered: answer.promise };
    return watched;
  }
}

function needed({ metadata, type, data }: Secret): Secret {
  const { managedFields: _, ...kept } = metadata;
  return { metadata: kept, ...(type === undefined ? {} : { type }), ...(data === undefined ? {} : { data }) };
}

/** The Role does not name the Secret, or no longer does. Not reported. */
const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.status === 403;
