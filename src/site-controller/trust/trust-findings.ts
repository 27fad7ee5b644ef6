import type { Site } from '../../api/skupper/index.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { problemOf } from '../../errors/problem.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { keyOf } from '../../site/resources.ts';
import { TrustError } from '../../trust/errors.ts';

/** Results of one step of a site's trust. A part that fails does not stop the others. */
export class TrustFindings {
  readonly #site: Site | undefined;
  readonly #signal: AbortSignal;
  readonly problems: ResourceProblem[] = [];
  /** First error that a retry may resolve. */
  failed: unknown;

  constructor(site: Site | undefined, signal: AbortSignal) {
    this.#site = site;
    this.#signal = signal;
  }

  /** @returns undefined after a failure, which the Site's status reports */
  async attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!isForPeople(error)) this.failed ??= error;
      if (this.#site !== undefined) this.problems.push({ resource: keyOf(this.#site), severity: 'error', ...problemOf(error) });
      return undefined;
    }
  }
}

/** Errors that only a user can resolve, and that say how: a retry is useless. */
const isForPeople = (error: unknown): boolean =>
  error instanceof TrustError || (error instanceof EarshotError && error.code === 'site-key');
