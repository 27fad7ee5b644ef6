/** Stands for `src/exposure/csi/socket-server.ts`: what is served can be called by who knows the process. */
import { CsiError } from '../../../src/exposure/csi/errors.ts';
import { Status } from '../../../src/exposure/csi/grpc-status.ts';
import { hereProcess } from '../current.ts';
import type { Services } from '../process.ts';

interface Offered {
  add(definition: { readonly fullName: string }, implementation: Services): void;
}

export async function serveOnSocket({
  socket,
  services,
}: {
  readonly socket: string;
  readonly services: (server: Offered) => void;
}): Promise<object> {
  const process = hereProcess();
  const names: string[] = [];
  services({
    add({ fullName }, implementation) {
      names.push(fullName);
      process.services.set(fullName, implementation);
    },
  });
  return {
    socket,
    isReachable: async () => true,
    async [Symbol.asyncDispose]() {
      for (const name of names) process.services.delete(name);
    },
  };
}

/** As the real one, as far as a caller decides by it. */
export function refusalOf(error: unknown): { readonly status: number } {
  return { status: error instanceof CsiError ? error.status : Status.UNAVAILABLE };
}
