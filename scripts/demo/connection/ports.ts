import { once } from 'node:events';
import { createServer, type Server } from 'node:net';

/** A free port for each name: the requested one, or the next free one after it. */
export async function freePorts<Name extends string>(wanted: Readonly<Record<Name, number>>): Promise<Readonly<Record<Name, number>>> {
  // All are held until each is found, so that no two are the same.
  const held: Server[] = [];
  try {
    const found: [string, number][] = [];
    for (const [name, first] of Object.entries<number>(wanted)) {
      const { server, port } = await holdFrom(first);
      held.push(server);
      found.push([name, port]);
    }
    // The same names, each once.
    return Object.fromEntries(found) as Record<Name, number>;
  } finally {
    for (const server of held) {
      server.close();
      await once(server, 'close');
    }
  }
}

const FURTHEST = 200;

async function holdFrom(first: number): Promise<{ readonly server: Server; readonly port: number }> {
  for (let port = first; port < first + FURTHEST; port += 1) {
    const server = createServer();
    // On all addresses, which fails where any of them has a listener.
    server.listen({ port, exclusive: true });
    try {
      await once(server, 'listening');
      return { server, port };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && (error.code === 'EADDRINUSE' || error.code === 'EACCES'))) throw error;
    }
  }
  throw new Error(`all ports from ${first} to ${first + FURTHEST - 1} are in use`);
}
