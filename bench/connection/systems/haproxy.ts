import { readFile, writeFile } from 'node:fs/promises';
import { issue, type Authority, type Host, type Program } from '../../../test/net/harness/index.ts';
import { OFFSETS, PORTS, portsAt, SERVICES, type Bench, type Running, type Service, type System } from '../bench.ts';

export type End = 'client' | 'server';

/** HOST:PORT, where an end takes a service's connections and where it sends them on. */
export interface Route {
  readonly from: string;
  readonly to: string;
}
/** By service. */
export type Routes = Readonly<Record<string, Route>>;

/** Two HAProxy processes, TCP over mutual TLS 1.3 between them; bench/connection/haproxy has their files, with the reasons. */
export function haproxyPair({ host, authority }: Bench): System {
  const start = async (link: number): Promise<Running> => {
    const ports = portsAt(OFFSETS.haproxy);
    const server = await startHaproxy(host, 'server', authority, onLoopback(portsAt(OFFSETS.haproxyLink), PORTS));
    const client = await startHaproxy(host, 'client', authority, onLoopback(ports, portsAt(link)));
    return {
      name: 'haproxy',
      ports,
      ends: { client, server },
      async [Symbol.asyncDispose]() {
        await client.kill();
        await server.kill();
      },
    };
  };
  return { name: 'haproxy', start: () => start(OFFSETS.haproxyLink), startDelayed: () => start(OFFSETS.haproxyDelayedLink) };
}

/** One end of a pair, with a certificate of the authority's. */
export async function startHaproxy(host: Host, end: End, authority: Authority, routes: Routes): Promise<Program> {
  const dir = await host.folder('haproxy');
  const { cert, key, ca } = await issue(authority, `haproxy-${end}`);
  const [crt, file] = [`${dir}/pem`, `${dir}/cfg`];
  // HAProxy wants certificate and key in one file.
  await writeFile(crt, `${await readFile(cert, 'utf8')}${await readFile(key, 'utf8')}`, { mode: 0o600 });
  await writeFile(file, await haproxyConfiguration(end, { crt, ca }, routes));
  const program = await host.spawn(['haproxy', '-db', '-q', '-f', file], { name: `haproxy-${end}` });
  for (const { from } of Object.values(routes)) await program.ready(() => host.listens(Number(from.split(':').at(-1))));
  return program;
}

/** The file of one end. @param files where it finds its certificate with the key, and the authority's */
export async function haproxyConfiguration(
  end: End,
  files: { readonly crt: string; readonly ca: string },
  routes: Routes,
): Promise<string> {
  const template = await readFile(new URL(`../haproxy/${end}.cfg`, import.meta.url), 'utf8');
  const [head = '', section = ''] = template.split(/^(?=listen )/m);
  const sections = Object.entries(routes).map(([service, { from, to }]) =>
    section.replace('@SERVICE@', service).replace('@FROM@', from).replace('@TO@', to),
  );
  return [head, ...sections].join('\n').replaceAll('@CRT@', files.crt).replaceAll('@CA@', files.ca);
}

/** All of it happens on one host's loopback. */
function onLoopback(from: Readonly<Record<Service, number>>, to: Readonly<Record<Service, number>>): Routes {
  const at = (port: number): string => `127.0.0.1:${port}`;
  return Object.fromEntries(SERVICES.map((service) => [service, { from: at(from[service]), to: at(to[service]) }]));
}

/** Which ports the delay stands between, for the one service that is measured through it. */
export const HAPROXY_DELAY = { listen: PORTS.iperf3 + OFFSETS.haproxyDelayedLink, to: PORTS.iperf3 + OFFSETS.haproxyLink } as const;
