import type { RouteDestination, RouterId } from '../../routing/contract.ts';
import { backoffDelay, type Backoff } from '../../work/backoff.ts';

/** Milliseconds for which a destination that refused comes after all others: first and at most, doubling in between. */
const AVOID: Backoff = { first: 500, max: 10_000 };
/** Maximum number of entries, far more than are in use. Beyond it idle entries are dropped. */
const MOST_ENTRIES = 10_000;

interface Entry {
  open: number;
  failures: number;
  avoidUntil: number;
  /** Whether its router announced at the last refusal or routing change that its servers fail. */
  wasFailing: boolean;
}

/** Returns what routing announces about the servers of a key at a router. Undefined if the router has none. */
export type FindDestination = (routingKey: string, router: RouterId) => Pick<RouteDestination, 'failing'> | undefined;

/** Health of the destinations of this router's own connections: number of open connections, and recent refusals. */
export class DestinationHealth {
  readonly #byKey = new Map<string, Map<RouterId, Entry>>();
  #count = 0;
  readonly #now: () => number;
  readonly #onTurn: () => void;
  readonly #find: FindDestination;

  /** @param onTurn called when a destination begins to refuse, or accepts connections again */
  constructor(now: () => number = () => performance.now(), onTurn: () => void = () => {}, find: FindDestination = () => undefined) {
    this.#now = now;
    this.#onTurn = onTurn;
    this.#find = find;
  }

  /** Whether the destination refused, and has accepted nothing since. */
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
    // Connections that were in progress together count as one failure.
    if (entry.failures > 0 && entry.avoidUntil > now) return;
    entry.failures += 1;
    entry.wasFailing = this.#find(routingKey, router)?.failing === true;
    // Without jitter: no connection waits for its end, since other destinations only come first until then.
    entry.avoidUntil = now + backoffDelay(AVOID, entry.failures, 0);
    if (entry.failures === 1) this.#onTurn();
  }

  /** Forgets the failures of routers that are gone, and of those whose announcement changes from failing to working. */
  routingChanged(): void {
    for (const [routingKey, routers] of this.#byKey)
      for (const [router, entry] of routers) {
        if (entry.failures === 0) continue;
        const found = this.#find(routingKey, router);
        if (found === undefined || (entry.wasFailing && found.failing === false)) this.#forgetFailures(routingKey, router, entry);
        else entry.wasFailing = found.failing === true;
      }
  }

  #forgetFailures(routingKey: string, router: RouterId, entry: Entry): void {
    entry.failures = 0;
    entry.avoidUntil = 0;
    if (entry.open <= 0) this.#forget(routingKey, router);
    this.#onTurn();
  }

  #entry(routingKey: string, router: RouterId): Entry {
    const routers = this.#byKey.get(routingKey) ?? new Map<RouterId, Entry>();
    const known = routers.get(router);
    if (known !== undefined) return known;
    if (this.#count >= MOST_ENTRIES) this.#evictIdle();
    const created = { open: 0, failures: 0, avoidUntil: 0, wasFailing: false };
    routers.set(router, created);
    this.#byKey.set(routingKey, routers);
    this.#count += 1;
    return created;
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
