import type { Leadership } from '../../agent/ports.ts';
import { SITE_LEADER } from '../../api/skupper/cluster-names.ts';
import { whileLeading, type LeaseOptions } from '../../kube/lease/lease.ts';
import type { OwnerReference } from '../../kube/objects.ts';
import { detached } from '../../telemetry/boundary.ts';
import { messageOf, type Logger } from '../../telemetry/log.ts';
import { aborted, pause } from '../../work/pause.ts';

export interface SiteLeaseOptions extends Pick<LeaseOptions, 'client' | 'namespace' | 'identity' | 'timing'> {
  /** The Site of this router; undefined once it is deleted. */
  readonly owner: () => OwnerReference | undefined;
  readonly log: Logger;
  /** Called when this process becomes the leader or stops being it. */
  readonly onChange: () => void;
}

/** Milliseconds before the next attempt after the lease was lost. */
const RETRY = 1_000;

/**
 * Leader election among a site's routers by a Lease. A router that loses the Lease continues to carry traffic, and tries to acquire it
 * again. A router whose Site is deleted releases it: it may drain for half a minute, while a router of the next Site leads.
 */
export class SiteLease implements Leadership, AsyncDisposable {
  readonly #options: SiteLeaseOptions;
  readonly #end = new AbortController();
  /** Set while this router is a candidate. */
  #candidacy: AbortController | undefined;
  #running: Promise<void> | undefined;
  #stillLeading: (() => boolean) | undefined;

  constructor(options: SiteLeaseOptions) {
    this.#options = options;
  }

  lead(): boolean {
    if (this.#options.owner() === undefined) this.#candidacy?.abort();
    else if (this.#candidacy === undefined && !this.#end.signal.aborted) this.#start();
    return this.stillLeading;
  }

  /** Checked immediately before each write. */
  get stillLeading(): boolean {
    return !this.#end.signal.aborted && this.#candidacy?.signal.aborted === false && this.#stillLeading?.() === true;
  }

  resign(): void {
    this.#end.abort();
  }

  /** Resolves once another process may lead. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.resign();
    await this.#running;
  }

  #start(): void {
    const candidacy = new AbortController();
    this.#candidacy = candidacy;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#running = promise;
    const ended = (): void => {
      this.#candidacy = undefined;
      resolve();
      this.#options.onChange();
    };
    const run = async (): Promise<void> => {
      await this.#run(AbortSignal.any([this.#end.signal, candidacy.signal]));
      ended();
    };
    detached('pass/site-lease', run, ended);
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { log, onChange, timing, ...lease } = this.#options;
    while (!signal.aborted) {
      try {
        await whileLeading(
          {
            ...lease,
            ...(timing === undefined ? {} : { timing }),
            name: SITE_LEADER,
            signal,
            onChange: (event, holder) => log.info({ event, holder }, 'the Lease of the site'),
            onProblem: (error) => log.warn({ error }, `the Lease of the site cannot be read or renewed: ${messageOf(error)}`),
          },
          async (leading, stillLeading) => {
            this.#stillLeading = stillLeading;
            onChange();
            await aborted(leading);
          },
        );
      } catch (error) {
        log.warn({ error }, messageOf(error));
        await pause(RETRY, signal).catch(() => undefined);
      } finally {
        this.#stillLeading = undefined;
        onChange();
      }
    }
  }
}
