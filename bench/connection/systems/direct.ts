import { PORTS, type System } from '../bench.ts';

/** The client reaches the server itself: what the machine gives at all. */
export const direct: System = {
  name: 'direct',
  async start() {
    return {
      name: 'direct',
      ports: PORTS,
      ends: undefined,
      async [Symbol.asyncDispose]() {
        /* Nothing runs. */
      },
    };
  },
};
