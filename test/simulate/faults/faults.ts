/** Mistakes that the router has had, to be put back in: the simulator shows that it finds them (`npm run simulate -- --fault NAME`). */
import type { Change } from '../change.ts';

export const faults: Readonly<Record<string, readonly Change[]>> = {
  // Streams that a lowered initial window had pushed below zero were never given any of it back.
  'lowered-window': [
    {
      file: 'router/http2/receive-windows.ts',
      from: 'for (const stream of streams.values()) if (!stream.remoteEnded && stream.window < stream.target / 2) this.#credit(stream);',
      to: '',
    },
  ],
  // A paused socket was not asked whether its peer was there.
  'stalled-sockets': [
    {
      file: 'router/local/socket-end.ts',
      from: 'get stalled(): boolean {',
      to: 'get stalled(): boolean {\n    if (this.#paused) return false;',
    },
  ],
  // What a stream that had ended still held was not given back when its reader died.
  'ended-stream': [{ file: 'router/http2/stream.ts', from: 'else this.#owner.windows.released(this);', to: '' }],
  // Age decided about routers that can be reached, and nothing brought back what was missing.
  'routing-age': [
    {
      file: 'router/routing/routing.ts',
      from: 'for (const id of this.#answers.reachable) this.#database.rejuvenate(id, reading - REFRESH_EVERY);',
      to: '',
    },
    {
      file: 'router/routing/exchange.ts',
      from: 'if (this.#context.clock() - state.compared >= state.every) this.summarize(link);',
      to: '',
    },
  ],
};
