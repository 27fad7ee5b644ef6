import { setTimeout as timeout } from 'node:timers/promises';
import type { Cache, InformerTrouble, ListWatch, StartInformer } from '../../kube/contract.ts';
import { ApiError } from '../../kube/errors.ts';
import type { Secret } from '../../kube/objects.ts';
import { secrets } from '../../kube/resource.ts';
import { isResourceName } from '../../text/names.ts';

export interface WatchedSecretsOptions {
  readonly client: ListWatch;
  readonly start: StartInformer;
  readonly namespace: string;
  readonly signal: AbortSignal;
  readonly onTrouble: (trouble: InformerTrouble) => void;
  readonly onChange: () => void;
}

interface Watched {
  readonly cache: Cache<Secret>;
  readonly end: AbortController;
  /** Resolves once the first answer is in: what is there, or that nobody may look. */
  readonly answered: Promise<void>;
}

/**
 * The Secrets that a site names, each by a watch of its own: the site may read these, and no others. What it may not read yet counts as
 * missing until it may.
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

  /** From now on these are watched, and no others. */
  follow(names: ReadonlySet<string>): void {
    for (const [name, { end }] of this.#watched) {
      if (names.has(name)) continue;
      this.#watched.delete(name);
      end.abort();
    }
    // Anything else would be a selector of its own.
    for (const name of names) if (!this.#watched.has(name) && isResourceName(name)) this.#watched.set(name, this.#watch(name));
  }

  get(name: string): Secret | undefined {
    return this.#watched.get(name)?.cache.get(`${this.#options.namespace}/${name}`);
  }

  /** Resolves when each has had its first answer, and after so many milliseconds in any case. */
  async answered(milliseconds: number): Promise<void> {
    const late = new AbortController();
    const all = Promise.all([...this.#watched.values()].map(({ answered }) => answered));
    await Promise.race([all, timeout(milliseconds, undefined, { signal: late.signal }).catch(() => undefined)]);
    late.abort();
  }

  #watch(name: string): Watched {
    const { client, start, namespace, signal, onTrouble, onChange } = this.#options;
    const end = new AbortController();
    const answer = Promise.withResolvers<void>();
    const cache = start<Secret>(client, secrets, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
      signal: AbortSignal.any([signal, end.signal]),
      project: needed,
      onTrouble: (trouble) => {
        answer.resolve();
        if (!isForbidden(trouble.error)) onTrouble(trouble);
      },
    });
    cache.onChange(onChange);
    cache.synced.then(answer.resolve, answer.resolve);
    return { cache, end, answered: answer.promise };
  }
}

function needed({ metadata, type, data }: Secret): Secret {
  const { managedFields: _, ...kept } = metadata;
  return { metadata: kept, ...(type === undefined ? {} : { type }), ...(data === undefined ? {} : { data }) };
}

/** Its name is not in the Role yet: it is asked for again, and nobody need hear of it. */
const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.status === 403;
