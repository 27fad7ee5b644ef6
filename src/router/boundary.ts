import type { Logger } from '../telemetry/log.ts';
import { counter } from '../telemetry/metrics.ts';
import { LogRation } from '../telemetry/log-ration.ts';

/** What an unexpected error ends: the smallest thing that the handler belongs to which threw it. */
export type Part = 'connection' | 'link' | 'session' | 'stream';

const internalErrors = counter(
  'earshot_internal_errors_total',
  'Errors that nobody expected, by the part that each ended. Each is a fault of this program: please report it.',
  ['part'],
);

/**
 * Where sockets, TLS and sessions call the router. What a handler throws there would end the process, and with it everybody's connections; here
 * it is counted, logged with its stack, and ends one part.
 */
export class Boundary {
  readonly #ration: LogRation;

  constructor(log: Logger) {
    // Whoever can cause such an error can cause it often.
    this.#ration = new LogRation(log);
  }

  /** Somebody threw what nobody expected; the caller ends the part. */
  report(part: Part, error: unknown): void {
    internalErrors.inc({ part });
    this.#ration.error({ part, error }, 'unexpected error: a fault of this program');
  }

  /** @param end ends the part; it must not throw */
  around<A extends readonly unknown[]>(part: Part, handler: (...given: A) => void, end: (...given: A) => void): (...given: A) => void {
    return (...given) => {
      try {
        handler(...given);
      } catch (error) {
        this.report(part, error);
        end(...given);
      }
    };
  }
}
