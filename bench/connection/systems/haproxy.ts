import { readFile, writeFile } from 'node:fs/promises';
import { issue, type CertificateFiles, type Program } from '../../../test/net/harness/index.ts';
import { OFFSETS, PORTS, portsAt, SERVICES, type Bench, type Running, type Service, type System } from '../bench.ts';

/** Two HAProxy processes, TCP over mutual TLS 1.3 between them; bench/connection/haproxy has their files, with the reasons. */
export async function haproxyPair(bench: Bench): Promise<System> {
  const { host, authority } = bench;
  const dir = await host.folder('haproxy');
  const [client, server] = await Promise.all(
    ['haproxy-client', 'haproxy-server'].map(async (name) => pemOf(await issue(authority, name), `${dir}/${name}.pem`)),
  );

  const start = async (end: 'client' | 'server', values: Readonly<Record<string, string>>): Promise<Program> => {
    const template = await readFile(new URL(`../haproxy/${end}.cfg`, import.meta.url), 'utf8');
    const file = `${dir}/${end}.cfg`;
    const all: Readonly<Record<string, string>> = { ...LOOPBACK, ...values };
    await writeFile(
      file,
      template.replaceAll(/@([A-Z0-9]+)@/g, (_, name: string) => all[name] ?? ''),
    );
    return host.spawn(['haproxy', '-db', '-q', '-f', file], { name: `haproxy-${end}` });
  };
  const startPair = async (link: number, services: readonly Service[]): Promise<Running> => {
    const ports = portsAt(OFFSETS.haproxy);
    const server_ = await start('server', {
      CRT: server ?? '',
      CA: authority.cert,
      ...variables('', PORTS),
      ...variables('LINK', portsAt(OFFSETS.haproxyLink)),
    });
    const client_ = await start('client', {
      CRT: client ?? '',
      CA: authority.cert,
      ...variables('', ports),
      ...variables('LINK', portsAt(link)),
    });
    for (const service of services) {
      await server_.ready(() => host.listens(portsAt(OFFSETS.haproxyLink)[service]));
      await client_.ready(() => host.listens(ports[service]));
    }
    return {
      name: 'haproxy',
      ports,
      ends: { client: client_, server: server_ },
      async [Symbol.asyncDispose]() {
        await client_.kill();
        await server_.kill();
      },
    };
  };
  return {
    name: 'haproxy',
    start: () => startPair(OFFSETS.haproxyLink, SERVICES),
    startDelayed: () => startPair(OFFSETS.haproxyDelayedLink, ['iperf3']),
  };
}

/** All of it happens on one host's loopback. */
const LOOPBACK = { BIND: '127.0.0.1', FAR: '127.0.0.1', NEAR: '127.0.0.1' } as const;

/** As the files in bench/connection/haproxy name them: @HTTP@, @LINKHTTP@. */
function variables(prefix: string, ports: Readonly<Record<Service, number>>): Record<string, string> {
  return Object.fromEntries(SERVICES.map((service) => [`${prefix}${service.toUpperCase()}`, String(ports[service])]));
}

/** HAProxy wants certificate and key in one file. */
async function pemOf({ cert, key }: CertificateFiles, file: string): Promise<string> {
  await writeFile(file, `${await readFile(cert, 'utf8')}${await readFile(key, 'utf8')}`, { mode: 0o600 });
  return file;
}

/** Which ports the delay stands between, for the one service that is measured through it. */
export const HAPROXY_DELAY = { listen: PORTS.iperf3 + OFFSETS.haproxyDelayedLink, to: PORTS.iperf3 + OFFSETS.haproxyLink } as const;
