import { readdir, readFile, writeFile } from 'node:fs/promises';
import { connector, linkByToken, listener, manifest, startSite, type Manifest, type Site } from '../../../test/net/harness/index.ts';
import { OFFSETS, PORTS, portsAt, SERVICES, type Bench, type Running, type System } from '../bench.ts';

/** Address at which the far site finds the near one: the delay passes it on. */
export const EARSHOT_DELAY = { listen: 55_672, to: 55_671 } as const;

/** Two sites with a link by a token, each an `earshot run`; for the delay, a third whose link goes the long way round. */
export async function earshotPair(bench: Bench): Promise<System> {
  const { host, program, log } = bench;
  const { routers, args } = bench.options;
  // A revision that is compared may not know the setting.
  const several = routers === 1 ? {} : { settings: { routers: String(routers) } };
  const siteOf = (name: string, spec: object = {}): Manifest => manifest('Site', name, { ...spec, ...several });
  const how = { args, ...(routers === 1 ? {} : { supervised: true as const }) };
  const listeners = (offset: number): Manifest[] => SERVICES.map((service) => listener(service, '127.0.0.1', portsAt(offset)[service]));
  const unobserved = listener('http-unobserved', '127.0.0.1', PORTS.http + OFFSETS.earshotUnobserved, {
    routingKey: 'http',
    settings: { observer: 'none' },
  });
  const server = await startSite(host, {
    name: 'server',
    program,
    ...how,
    resources: [siteOf('server', { linkAccess: 'default' }), ...SERVICES.map((service) => connector(service, '127.0.0.1', PORTS[service]))],
  });
  const client = await startSite(host, {
    name: 'client',
    program,
    ...how,
    resources: [siteOf('client'), ...listeners(OFFSETS.earshot), unobserved],
  });
  await linkByToken(client, server);
  await untilReady(client);
  await client.stop();
  await server.stop();
  log('two sites of Earshot are linked');

  let far: Site | undefined;
  const pair = async (clientSite: Site, offset: number): Promise<Running> => {
    await server.start();
    await clientSite.start();
    // A status may be what the last process wrote.
    for (const port of Object.values(portsAt(offset))) await clientSite.process.ready(() => host.listens(port));
    return {
      name: 'earshot',
      ports: portsAt(offset),
      // The processes of several routers are children of these.
      ends: routers === 1 ? { client: clientSite.process, server: server.process } : undefined,
      unobservedHttp: PORTS.http + OFFSETS.earshotUnobserved,
      async [Symbol.asyncDispose]() {
        await clientSite.process.kill();
        await server.process.kill();
      },
    };
  };
  return {
    name: 'earshot',
    start: () => pair(client, OFFSETS.earshot),
    async startDelayed() {
      far ??= await farSite(bench, server, listeners(OFFSETS.earshotFar));
      return pair(far, OFFSETS.earshotFar);
    },
  };
}

/** A client's site whose link has the delay's port for the server's. */
async function farSite({ host, program }: Bench, server: Site, resources: readonly Manifest[]): Promise<Site> {
  await server.start();
  const far = await startSite(host, { name: 'far', program, resources });
  await linkByToken(far, server);
  await far.stop();
  await server.stop();
  const { links } = far.layout.internal;
  for (const file of await readdir(links)) {
    const text = await readFile(`${links}/${file}`, 'utf8');
    await writeFile(`${links}/${file}`, text.replaceAll(String(EARSHOT_DELAY.to), String(EARSHOT_DELAY.listen)));
  }
  return far;
}

async function untilReady(site: Site): Promise<void> {
  for (const service of SERVICES) await site.waitFor('Listener', service);
}
