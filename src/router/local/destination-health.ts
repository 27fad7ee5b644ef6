import type { RouterId } from '../routing/contract.ts';
import { backoffDelay, type Backoff } from '../../work/backoff.ts';

/** Milliseconds for which a destination that refused comes after all others: first and at most, doubling in between. */
const AVOID: Backoff = { first: 500, max: 10_000 };
/** Far more than are in use; beyond it the oldest are forgotten. */
const MOST_ENTRIES = 10_000;

interface Entry {
  open: number;
  failures: number;
  avoidUntil: number;
}

/** What this router has seen of the destinations of its own connections: how many it has there, and who refused of late. */
export class DestinationHealth {
  readonly #byKey = new Map<string, Map<RouterId, Entry>>();
  #count = 0;
  readonly #now: () => number;
  readonly #onTurn: () => void;

  /** @param onTurn a destination begins to refuse, or takes connections again */
  constructor(now: () => number = () => performance.now(), onTurn: () => void = () => {}) {
    this.#now = now;
    this.#onTurn = onTurn;
  }

  /** It refused, and has taken nothing since. */
  refuses(routingKey: string, router: RouterId): boolean {
    return (this.#byKey.get(routingKey)?.get(router)?.failures ?? 0) > 0;
  }

  load(routingKey: string, router: RouterId): number {
    return this.#byKey.get(routingKey)?.get(router)?.open ?? 0;
  }

  avoided(routingKey: string, router: RouterId): boolean {
    const entry = this.#byKey.get(routingKey)?.get(router);
    return entry !== undefined && entry.failures > 0 && entry.avoidUntil > this.#now();
  }

  opened(routingKey: string, router: RouterId): void {
    const entry = this.#entry(routingKey, router);
    entry.open += 1;
    if (entry.failures === 0) return;
    entry.failures = 0;
    this.#onTurn();
  }

  closed(routingKey: string, router: RouterId): void {
    const entry = this.#byKey.get(routingKey)?.get(router);
    if (entry === undefined) return;
    entry.open -= 1;
    if (entry.open <= 0 && entry.failures === 0) this.#forget(routingKey, router);
  }

  refused(routingKey: string, router: RouterId): void {
    const entry = this.#entry(routingKey, router);
    const now = this.#now();
    // Connections that were on their way together are one failure.
    if (entry.failures > 0 && entry.avoidUntil > now) return;
    entry.failures += 1;
    // Without chance: nobody comes back at its end, others only come first until then.
    entry.avoidUntil = now + backoffDelay(AVOID, entry.failures, 0);
    if (entry.failures === 1) this.#onTurn();
  }

  #entry(routingKey: string, router: RouterId): Entry {
    const routers = this.#byKey.get(routingKey) ?? new Map<RouterId, Entry>();
    const known = routers.get(router);
    if (known !== undefined) return known;
    if (this.#count >= MOST_ENTRIES) this.#evictIdle();
    const made = { open: 0, failures: 0, avoidUntil: 0 };
    routers.set(router, made);
    this.#byKey.set(routingKey, routers);
    this.#count += 1;
    return made;
  }

  #forget(routingKey: string, router: RouterId): void {
    const routers = this.#byKey.get(routingKey);
    if (routers?.delete(router) !== true) return;
    this.#count -= 1;
    if (routers.size === 0) this.#byKey.delete(routingKey);
  }

  #evictIdle(): void {
    for (const [key, routers] of this.#byKey) for (const [router, { open }] of routers) if (open <= 0) this.#forget(key, router);
  }
}
