import { randomBytes } from 'node:crypto';
import type { Fields } from '../../http2/contract.ts';
import { CONNECTION_FIELD, ORIGIN_FIELD } from '../wire.ts';
import { isUuid } from '../../text/names.ts';

/** Generates connection ids for logs: random across routers, in order within a router. `[0-9a-z]{1,32}`. */
export class ConnectionIds {
  readonly #prefix = [...randomBytes(6)].map((byte) => (byte % 36).toString(36)).join('');
  #last = 0;

  next(): string {
    this.#last += 1;
    return this.#prefix + this.#last.toString(36);
  }
}

/** Returns the id that the first router gave the connection. */
export function idGiven(fields: Fields): string | undefined {
  const given = fields[CONNECTION_FIELD];
  return given !== undefined && /^[0-9a-z]{1,32}$/.test(given) ? given : undefined;
}

/** Returns the site where the connection began, according to the routers before this one. */
export function originGiven(fields: Fields): string | undefined {
  const given = fields[ORIGIN_FIELD];
  return given !== undefined && isUuid(given) ? given : undefined;
}
