import { messageOf } from '../../telemetry/log.ts';
import { printable } from '../../text/printable.ts';
import type { Source } from '../connection/site-facts.ts';

/** Milliseconds within which each source answers. */
export const SOURCE_DEADLINE = 2_000;

/**
 * Reads a source, which should end with the signal. Its failure does not affect the other sources.
 * @param what noun phrase for users: `the router API`
 */
export async function readSource<T>(
  what: string,
  read: (signal: AbortSignal) => Promise<T>,
  deadline: number = SOURCE_DEADLINE,
): Promise<Source<T>> {
  const { promise, resolve } = Promise.withResolvers<Source<T>>();
  const ended = new AbortController();
  const late = (): void => {
    resolve({ unknown: `${what} did not answer within ${deadline / 1000} s` });
    // A request that goes on would keep the process alive.
    ended.abort();
  };
  const timer = setTimeout(late, deadline);
  try {
    return await Promise.race([promise, read(ended.signal).then((value) => ({ value }))]);
  } catch (error) {
    return { unknown: `${what} cannot be read: ${printable(messageOf(error), MOST_CHARACTERS)}` };
  } finally {
    clearTimeout(timer);
  }
}

const MOST_CHARACTERS = 300;
