/** Decides which routers of a site a supervisor starts and stops (pure). */
import { backoffDelay } from '../../work/backoff.ts';
import { DEFAULT_ROUTER } from './layout.ts';

/** State of a supervised router. Times are in milliseconds, monotonic. */
export type SupervisedRouter =
  /** `failures` counts the starts before this one that failed in a row. */
  | { readonly kind: 'running'; readonly since: number; readonly failures: number }
  /** It was asked to end, and drains. */
  | { readonly kind: 'stopping' }
  /** It ended without being asked. */
  | { readonly kind: 'failed'; readonly retryAt: number; readonly failures: number };

export interface SupervisorPlan {
  readonly start: readonly string[];
  readonly stop: readonly string[];
  /** Failed routers that are no longer desired. */
  readonly forget: readonly string[];
  /** Milliseconds until the next router is due to start; undefined if none waits. */
  readonly again: number | undefined;
}

const BACKOFF = { first: 1_000, max: 30_000 };
/** A router that ran this long had started, so its end is not a repeated failure. */
const STEADY = 60_000;

/**
 * Names of a site's routers. The first one has the name of a single router.
 * @param taken names that other processes use, such as routers of a killed supervisor that still drain
 */
export function routerNames(count: number, taken: ReadonlySet<string> = new Set()): readonly string[] {
  return Array.from({ length: count + taken.size }, (_, index) => (index === 0 ? DEFAULT_ROUTER : `${DEFAULT_ROUTER}-${index + 1}`))
    .filter((name) => !taken.has(name))
    .slice(0, count);
}

/** @param known routers that run, drain or wait to start again, by name */
export function planSupervisor(desired: readonly string[], known: ReadonlyMap<string, SupervisedRouter>, now: number): SupervisorPlan {
  const isDesired = new Set(desired);
  const surplus = [...known].filter(([name]) => !isDesired.has(name));
  const waiting = desired.flatMap((name) => {
    const router = known.get(name);
    return router?.kind === 'failed' && router.retryAt > now ? [router.retryAt - now] : [];
  });
  return {
    start: desired.filter((name) => {
      const router = known.get(name);
      return router === undefined || (router.kind === 'failed' && router.retryAt <= now);
    }),
    stop: surplus.flatMap(([name, { kind }]) => (kind === 'running' ? [name] : [])),
    forget: surplus.flatMap(([name, { kind }]) => (kind === 'failed' ? [name] : [])),
    again: waiting.length === 0 ? undefined : Math.min(...waiting),
  };
}

/**
 * State of a router whose process has ended; undefined if it was asked to.
 * @param random in [0, 1)
 */
export function afterEnd(router: SupervisedRouter, now: number, random: number): (SupervisedRouter & { kind: 'failed' }) | undefined {
  if (router.kind === 'stopping') return undefined;
  const before = router.kind === 'running' && now - router.since >= STEADY ? 0 : router.failures;
  const failures = before + 1;
  return { kind: 'failed', failures, retryAt: now + backoffDelay(BACKOFF, failures, random) };
}
