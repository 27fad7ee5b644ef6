import { serversOf, startPacer, type Address, type Campaign, type Carrier } from '../../test/net/hostile/campaign.ts';
import { allowManyConnections } from '../connection/many-connections.ts';
import { startHaproxy } from '../connection/systems/haproxy.ts';

/** Ports of the ends in the west and in the east, for each service. */
const PORTS = { web: { west: 8080, east: 8443 }, silent: { west: 8081, east: 8444 }, endless: { east: 8445 } } as const;

/** An HAProxy pair as bench/connection has it, beside the routers: a way to the same servers, with certificates of the same authority. */
export async function startHaproxyCarrier({ west, east, authority }: Campaign, perSecond: number): Promise<Carrier> {
  const [client, server] = [west.host, east.host];
  for (const host of [client, server]) await allowManyConnections(host);
  const { web, endless, silent } = serversOf(server);
  const entry = { host: client.v4, port: PORTS.silent.west };
  const link = (service: keyof typeof PORTS): Address => ({ host: server.v4, port: PORTS[service].east });
  const process = await startHaproxy(server, 'server', authority, {
    web: route(link('web'), web),
    silent: route(link('silent'), silent),
    endless: route(link('endless'), endless),
  });
  await startHaproxy(client, 'client', authority, {
    web: route({ host: '127.0.0.1', port: PORTS.web.west }, link('web')),
    silent: route(entry, link('silent')),
  });
  return {
    process,
    pacer: await startPacer(client, PORTS.web.west, perSecond),
    link: link('web'),
    endless: link('endless'),
    silent: entry,
  };
}

function route(from: Address, to: Address): { readonly from: string; readonly to: string } {
  return { from: `${from.host}:${from.port}`, to: `${to.host}:${to.port}` };
}
