import { performance } from 'node:perf_hooks';
import type { StreamReset } from '../http2/contract.ts';
import type { Logger } from '../telemetry/log.ts';
import type { ByteCount, Counts } from './connection-half.ts';

/** Bytes of one connection in one direction. They are added to those of all. */
class OwnBytes implements ByteCount {
  readonly #all: ByteCount;
  #own = 0;

  constructor(all: ByteCount) {
    this.#all = all;
  }

  get bytes(): number {
    return this.#own;
  }

  set bytes(bytes: number) {
    this.#all.bytes += bytes - this.#own;
    this.#own = bytes;
  }
}

export interface LoggedConnection {
  /** Counts for this connection, which are also added to those of all. */
  readonly counts: Counts;
  /** @param reset reason of an end that is not in order */
  ended(reset: StreamReset | undefined): void;
}

/**
 * Logs at debug that a connection was opened. Call it only while debug is enabled, since the counts cost time for each chunk.
 * @param all counts of all connections
 * @param about fields of both lines. `connection` is the same at all routers on the path
 * @param opened further fields of the first line
 */
export function logConnection(
  log: Logger,
  all: Counts,
  about: ConnectionFields,
  opened: Readonly<Record<string, unknown>>,
): LoggedConnection {
  const openedAt = performance.now();
  const counts = { toServer: new OwnBytes(all.toServer), toClient: new OwnBytes(all.toClient) };
  log.debug({ ...about, ...opened }, 'connection opened');
  return {
    counts,
    ended: (reset) => {
      const milliseconds = Math.round(performance.now() - openedAt);
      const bytes = { toServer: counts.toServer.bytes, toClient: counts.toClient.bytes };
      log.debug({ ...about, milliseconds, ...bytes, reset: reset?.reason }, 'connection ended');
    },
  };
}

interface ConnectionFields {
  /** Undefined if a standard client named none. */
  readonly connection: string | undefined;
  readonly routingKey: string;
  readonly role: 'listener' | 'connector' | 'relay';
}
