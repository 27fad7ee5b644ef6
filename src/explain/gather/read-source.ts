import { messageOf } from '../../telemetry/log.ts';
import { printable } from '../../text/printable.ts';
import type { Source } from '../connection/site-facts.ts';

/** Milliseconds within which each source answers. */
export const SOURCE_DEADLINE = 2_000;

/**
 * Reads a source. Its failure does not affect the other sources.
 * @param what noun phrase for users: `the router API`
 */
export async function readSource<T>(what: string, read: () => Promise<T>, deadline: number = SOURCE_DEADLINE): Promise<Source<T>> {
  const { promise, resolve } = Promise.withResolvers<Source<T>>();
  const timer = setTimeout(() => resolve({ unknown: `${what} did not answer within ${deadline / 1000} s` }), deadline);
  try {
    return await Promise.race([promise, read().then((value) => ({ value }))]);
  } catch (error) {
    return { unknown: `${what} cannot be read: ${printable(messageOf(error), MOST_CHARACTERS)}` };
  } finally {
    clearTimeout(timer);
  }
}

const MOST_CHARACTERS = 300;
