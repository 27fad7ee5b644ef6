import type { Lease } from './lease-record.ts';

/** The lease as last acquired or renewed. */
export interface Held {
  readonly lease: Lease;
  /** Time at which the request that acquired or renewed the lease was sent. */
  readonly since: number;
}

/** One period of holding the lease. It never resumes after its end: a late response to a renewal does not restore it. */
export class LeaseHold {
  #held: Held;
  #over = false;
  #timer: NodeJS.Timeout;
  readonly #deadline: number;
  readonly #clock: () => number;
  readonly #onLost: (cause: unknown) => void;

  constructor(held: Held, deadline: number, clock: () => number, onLost: (cause: unknown) => void) {
    this.#held = held;
    this.#deadline = deadline;
    this.#clock = clock;
    this.#onLost = onLost;
    this.#timer = this.#arm();
  }

  get held(): Held {
    return this.#held;
  }

  /** Checks the clock instead of the timer, which fires late in a process that was frozen. */
  stands(): boolean {
    if (!this.#over && this.#clock() >= this.#held.since + this.#deadline) this.lose(undefined);
    return !this.#over;
  }

  renewed(held: Held): void {
    if (!this.stands()) return;
    this.#held = held;
    clearTimeout(this.#timer);
    this.#timer = this.#arm();
    this.stands();
  }

  /** Updates the object without renewing the lease. */
  follow(lease: Lease): void {
    this.#held = { lease, since: this.#held.since };
  }

  lose(cause: unknown): void {
    if (this.#over) return;
    this.end();
    this.#onLost(cause);
  }

  end(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  #arm(): NodeJS.Timeout {
    const left = Math.max(0, this.#held.since + this.#deadline - this.#clock());
    return setTimeout(() => this.lose(new Error(`no renewal for ${this.#deadline} ms`)), left);
  }
}
