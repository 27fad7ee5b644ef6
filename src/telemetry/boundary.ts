import { createLogger, type Logger } from './log.ts';
import { RateLimitedLog } from './rate-limited-log.ts';
import { counter } from './metrics.ts';

/** What an unexpected error ends: the smallest thing that the handler belongs to which threw it. Of a `look` the next one goes on. */
export type Part = 'connection' | 'link' | 'listener' | 'look' | 'pass' | 'process' | 'request' | 'session' | 'stream';

/** The part, and which of its handlers: no two places share a name. */
export type HandlerName = `${Part}/${string}`;

const internalErrors = counter(
  'earshot_internal_errors_total',
  'Errors that nobody expected, by the part that each ended. Each is a fault of this program: please report it.',
  ['part'],
);

interface Seam {
  before: ((name: HandlerName) => void) | undefined;
  made: (<A extends readonly unknown[]>(name: HandlerName, call: (...given: A) => void) => (...given: A) => void) | undefined;
  seen: ((error: unknown, name: HandlerName) => void) | undefined;
}

/** Only tests set these: to throw in a handler's place, to call one now that would be called in an hour, and to see what was thrown. */
export const seam: Seam = { before: undefined, made: undefined, seen: undefined };

let log: RateLimitedLog | undefined;

/** Where this process logs them; before it is said, standard output. */
export function logInternalErrors(to: Logger): void {
  // Whoever can cause such an error can cause it often.
  log = new RateLimitedLog(to);
}

/** Somebody threw what nobody expected; the caller ends the part. */
export function reportInternalError(name: HandlerName, error: unknown): void {
  const slash = name.indexOf('/');
  internalErrors.inc({ part: name.slice(0, slash) });
  log ??= new RateLimitedLog(createLogger({ level: 'error', component: 'earshot' }));
  log.error({ part: name.slice(0, slash), handler: name.slice(slash + 1), error }, 'unexpected error: a fault of this program');
  seam.seen?.(error, name);
}

/**
 * A handler that may be given to whoever calls back: a socket, a server, a timer, a watcher. What it throws would end the process, and with it
 * everybody's connections; here it is counted, logged with its stack, and ends one part. A test sees to it that no other is registered.
 *
 * @param end ends the part; it may find it ended in part
 */
export function bounded<A extends readonly unknown[]>(
  name: HandlerName,
  handler: (...given: A) => void,
  end: (error: unknown, ...given: A) => void = nothing,
): (...given: A) => void {
  const call = (...given: A): void => {
    try {
      if (seam.before !== undefined) seam.before(name);
      handler(...given);
    } catch (error) {
      caught(name, error, () => end(error, ...given));
    }
  };
  return seam.made === undefined ? call : seam.made(name, call);
}

/** The same for one of many that a handler goes through: the others have theirs. Made for loops that run often. */
export function guard<T>(name: HandlerName, what: T, handler: (what: T) => void, end: (what: T, error: unknown) => void = nothing): void {
  try {
    if (seam.before !== undefined) seam.before(name);
    handler(what);
  } catch (error) {
    caught(name, error, () => end(what, error));
  }
}

/** Work that nobody waits for. */
export function detached(name: HandlerName, work: () => Promise<unknown>, end: (error: unknown) => void = nothing): void {
  // It never rejects.
  void attempt(name, work, end);
}

/** Work that is one of many; resolves also where it fails. */
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
    // To end it failed too: nothing is left that could be done for it, and the others go on.
    reportInternalError(name, another);
  }
}

function nothing(): void {}
