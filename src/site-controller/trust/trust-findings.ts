import type { Site } from '../../api/skupper/index.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { problemOf } from '../../errors/problem.ts';
import type { ResourceProblem } from '../../site/problem.ts';
import { keyOf } from '../../site/resources.ts';
import { TrustError } from '../../trust/errors.ts';

/** What one step of a site's trust came upon. One part that fails keeps no other from being done. */
export class TrustFindings {
  readonly #site: Site | undefined;
  readonly #signal: AbortSignal;
  readonly problems: ResourceProblem[] = [];
  /** The first thing that may not fail the next time. */
  failed: unknown;

  constructor(site: Site | undefined, signal: AbortSignal) {
    this.#site = site;
    this.#signal = signal;
  }

  /** @returns undefined where it failed, which the Site then tells */
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

/** Trying again changes nothing until somebody has changed something, and is told to. */
const isForPeople = (error: unknown): boolean =>
  error instanceof TrustError || (error instanceof EarshotError && error.code === 'site-key');
