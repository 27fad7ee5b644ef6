/** Stands for undici's pool of connections: it leads to the played API server. */
import { cluster } from '../current.ts';
import type { Handler, Sent } from '../exchange.ts';

export default class Pool {
  dispatch(sent: Sent, handler: Handler): boolean {
    cluster().api.dispatch(sent, handler);
    return true;
  }

  async close(): Promise<void> {}

  /** The caller of destroy has given up its requests. */
  async destroy(): Promise<void> {}
}
