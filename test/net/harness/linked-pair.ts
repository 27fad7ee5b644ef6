import type { TestContext } from 'node:test';
import type { Host } from './host.ts';
import { connector, listener } from './manifests.ts';
import { createNetwork } from './network.ts';
import { linkByToken, startSite, type Site, type Status } from './site.ts';

/** West has a listener for each service, at the port that the service has in the east; one link joins them. */
export interface LinkedPair extends AsyncDisposable {
  readonly west: Site;
  readonly east: Site;
  /** Host of clients: the west. */
  readonly client: Host;
  /** Host of servers: the east. */
  readonly server: Host;
  /** Waits until every listener listens, whether servers are there or not. */
  ready(): Promise<void>;
}

/** Two linked sites; `services` gives each routing key its port. Servers are the caller's to start. */
export async function startLinkedPair(t: TestContext, services: Readonly<Record<string, number>>): Promise<LinkedPair> {
  await using stack = new AsyncDisposableStack();
  const net = stack.use(await createNetwork({ hosts: ['west', 'east'], test: t }));
  const [client, server] = [net.host('west'), net.host('east')];
  const all = Object.entries(services);
  const east = await startSite(server, { access: true, resources: all.map(([key, port]) => connector(key, '127.0.0.1', port)) });
  const west = await startSite(client, { resources: all.map(([key, port]) => listener(key, '0.0.0.0', port)) });
  await linkByToken(west, east);
  const owned = stack.move();
  return {
    west,
    east,
    client,
    server,
    async ready() {
      const listens = ({ conditions = [] }: Status): boolean =>
        ['Configured', 'Matched'].every((type) => conditions.some((condition) => condition.type === type && condition.status === 'True'));
      for (const [key] of all) await west.waitFor('Listener', key, listens);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
