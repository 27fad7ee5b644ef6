import { bounded } from '../../telemetry/boundary.ts';

/**
 * Quotas shared by all sessions of one peer. Reading has its own quota, since a link carries bytes of many clients. The bytes of one
 * client do not wait until the requests of others are processed.
 */
export class PeerLoopQuota {
  readonly reading: LoopQuota;
  readonly work: LoopQuota;

  /** @param most current number of pieces in either quota */
  constructor(most: () => number = () => ALONE) {
    this.reading = new LoopQuota(most);
    this.work = new LoopQuota(most);
  }
}

/**
 * A number of pieces of work in each event-loop iteration. A piece takes one or two tenths of a millisecond, and several times that with
 * its consequences. One read may contain thousands of pieces, which would delay others by seconds. Waiting work resumes in order.
 */
export class LoopQuota {
  readonly #most: () => number;
  #spent = 0;
  #ending = false;
  readonly #waiting: (() => void)[] = [];
  readonly #next = bounded(
    'session/next-turn',
    () => this.#resume(),
    () => {
      this.#ending = false;
      this.#endLater();
    },
  );

  /** @param most current number of pieces */
  constructor(most: () => number) {
    this.#most = most;
  }

  /** Whether no more work may begin in this iteration. */
  get isSpent(): boolean {
    return this.#spent >= this.#most();
  }

  /** Whether new work has to wait behind other work. */
  get isBusy(): boolean {
    return this.isSpent || this.#waiting.length > 0;
  }

  /**
   * Counts work of this iteration; fractions add up. Less than half of the quota is not worth a callback, and counts in later iterations.
   */
  spend(pieces = 1): void {
    this.#spent += pieces;
    if (this.#spent * 2 >= this.#most()) this.#endLater();
  }

  /** Calls back in a later iteration. Call it again if work is left at the end of that callback. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    this.#endLater();
  }

  #endLater(): void {
    if (this.#ending) return;
    this.#ending = true;
    setImmediate(this.#next);
  }

  #resume(): void {
    this.#ending = false;
    this.#spent = 0;
    while (!this.isSpent && this.#waiting.length > 0) this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#endLater();
  }
}

/** Number of pieces of work in an iteration. Fewer pieces serve others sooner, and cost more callbacks. */
const ALONE = 8;
const AMONG_OTHERS = 2;

/** The quotas of all peers of a router, by `owner` of their connections. */
export class PeerLoopQuotas {
  readonly #quotas = new Map<string, { readonly quota: PeerLoopQuota; users: number }>();
  readonly #most = (): number => (this.#quotas.size > 1 ? AMONG_OTHERS : ALONE);

  join(owner: string): PeerLoopQuota {
    const found = this.#quotas.get(owner);
    if (found !== undefined) {
      found.users += 1;
      return found.quota;
    }
    const quota = new PeerLoopQuota(this.#most);
    this.#quotas.set(owner, { quota, users: 1 });
    return quota;
  }

  leave(owner: string): void {
    const found = this.#quotas.get(owner);
    if (found === undefined) return;
    found.users -= 1;
    if (found.users === 0) this.#quotas.delete(owner);
  }
}
