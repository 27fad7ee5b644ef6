import { createLogger, type Logger } from './log.ts';
import { RateLimitedLog } from './rate-limited-log.ts';
import { counter } from './metrics.ts';

/**
 * The part that an unexpected error ends: the smallest one to which the failed handler belongs. After a failed `look` the next
 * one runs as usual.
 */
export type Part = 'connection' | 'link' | 'listener' | 'look' | 'pass' | 'process' | 'request' | 'session' | 'stream';

/** The part and the name of its handler. Names are unique. */
export type HandlerName = `${Part}/${string}`;

const internalErrors = counter(
  'earshot_internal_errors_total',
  'Unexpected errors, by the part that each ended. Each is a bug of this program: please report it.',
  ['part'],
);

interface Seam {
  before: ((name: HandlerName) => void) | undefined;
  created: (<A extends readonly unknown[]>(name: HandlerName, call: (...given: A) => void) => (...given: A) => void) | undefined;
  seen: ((error: unknown, name: HandlerName) => void) | undefined;
}

/** Hooks for tests only: to throw in a handler, to call one early that has a long timer, and to observe errors. */
export const seam: Seam = { before: undefined, created: undefined, seen: undefined };

let log: RateLimitedLog | undefined;

/** Sets the logger for internal errors; the default is standard output. */
export function logInternalErrors(to: Logger): void {
  // Rate-limited, because a client that can cause such an error can cause it often.
  log = new RateLimitedLog(to);
}

/** Reports an unexpected error. The caller ends the part. */
export function reportInternalError(name: HandlerName, error: unknown): void {
  const slash = name.indexOf('/');
  internalErrors.inc({ part: name.slice(0, slash) });
  log ??= new RateLimitedLog(createLogger({ level: 'error', component: 'earshot' }));
  log.error({ part: name.slice(0, slash), handler: name.slice(slash + 1), error }, 'unexpected error: a bug of this program');
  seam.seen?.(error, name);
}

/** Parameters of a handler. None needs more. */
type Given = readonly [one?: unknown, two?: unknown, three?: unknown];
type AnyHandler = (this: unknown, ...given: readonly unknown[]) => void;

/**
 * Wraps a callback of a socket, server, timer or watcher. An error would otherwise end the process and all its connections. Here
 * it is counted, logged with its stack, and ends one part. A test checks that only wrapped handlers are registered.
 *
 * A handler may use `this`, the emitter. So one handler can serve all sockets, and costs none of them a closure.
 * @param end ends the part, which may be partly ended already
 */
export function bounded<A extends Given, T = unknown>(
  name: HandlerName,
  handler: (this: T, ...given: A) => void,
  end?: (this: T, error: unknown, ...given: A) => void,
): (this: T, ...given: A) => void;
export function bounded(name: HandlerName, handler: AnyHandler, end: AnyHandler = nothing): AnyHandler {
  // Named parameters: rest parameters would allocate an array in each call.
  const call = function (this: unknown, one?: unknown, two?: unknown, three?: unknown): void {
    try {
      if (seam.before !== undefined) seam.before(name);
      handler.call(this, one, two, three);
    } catch (error) {
      caught(name, error, end.bind(this, error, one, two, three));
    }
  };
  return seam.created === undefined ? call : seam.created(name, call);
}

/** The same for each item in a handler's loop: an error ends only that item. Efficient enough for frequent loops. */
export function guard<T>(name: HandlerName, what: T, handler: (what: T) => void, end: (what: T, error: unknown) => void = nothing): void {
  try {
    if (seam.before !== undefined) seam.before(name);
    handler(what);
  } catch (error) {
    caught(name, error, () => end(what, error));
  }
}

/** Starts work that is not awaited. */
export function detached(name: HandlerName, work: () => Promise<unknown>, end: (error: unknown) => void = nothing): void {
  // `attempt` never rejects.
  void attempt(name, work, end);
}

/** Awaits one of many tasks; resolves even if it fails. */
export async function attempt(name: HandlerName, work: () => Promise<unknown>, end: (error: unknown) => void = nothing): Promise<void> {
  try {
    if (seam.before !== undefined) seam.before(name);
    await work();
  } catch (error) {
    caught(name, error, () => end(error));
  }
}

function caught(name: HandlerName, error: unknown, end: () => void): void {
  try {
    reportInternalError(name, error);
    end();
  } catch (another) {
    // Ending the part failed too. Nothing more can be done for it; other parts continue.
    reportInternalError(name, another);
  }
}

function nothing(): void {}
