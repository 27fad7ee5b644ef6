import { readFile, writeFile } from 'node:fs/promises';
import { issue, type CertificateFiles, type Program } from '../../../test/net/harness/index.ts';
import { PORTS, SERVICES, type Bench, type Running, type Service, type System } from '../bench.ts';

/** The clients' side listens at +1000; the link's ports at the servers' side are +2000. */
const FRONT = 1_000;
const LINK = 2_000;
/** Where the delay listens. */
const DELAYED_LINK = 3_000;

/** Two HAProxy processes, TCP over mutual TLS 1.3 between them; bench/connection/haproxy has their files, with the reasons. */
export async function haproxyPair(bench: Bench): Promise<System> {
  const { host, authority } = bench;
  const dir = await host.folder('haproxy');
  const [client, server] = await Promise.all(['haproxy-client', 'haproxy-server'].map(async (name) => pemOf(await issue(authority, name), `${dir}/${name}.pem`)));

  const start = async (end: 'client' | 'server', variables: Readonly<Record<string, string>>): Promise<Program> => {
    const template = await readFile(new URL(`../haproxy/${end}.cfg`, import.meta.url), 'utf8');
    const file = `${dir}/${end}.cfg`;
    await writeFile(file, template.replaceAll(/@([A-Z0-9]+)@/g, (_, name: string) => variables[name] ?? ''));
    return host.spawn(['haproxy', '-db', '-q', '-f', file], { name: `haproxy-${end}` });
  };
  const startPair = async (link: number, services: readonly Service[]): Promise<Running> => {
    const ports = { iperf3: PORTS.iperf3 + FRONT, http: PORTS.http + FRONT, echo: PORTS.echo + FRONT };
    const server_ = await start('server', {
      CRT: server ?? '', CA: authority.cert, IPERF3: String(PORTS.iperf3), HTTP: String(PORTS.http), ECHO: String(PORTS.echo),
      LINKIPERF3: String(PORTS.iperf3 + LINK), LINKHTTP: String(PORTS.http + LINK), LINKECHO: String(PORTS.echo + LINK),
    });
    const client_ = await start('client', {
      CRT: client ?? '', CA: authority.cert, IPERF3: String(ports.iperf3), HTTP: String(ports.http), ECHO: String(ports.echo),
      LINKIPERF3: String(PORTS.iperf3 + link), LINKHTTP: String(PORTS.http + link), LINKECHO: String(PORTS.echo + link),
    });
    for (const service of services) {
      await server_.ready(() => host.listens(PORTS[service] + LINK));
      await client_.ready(() => host.listens(ports[service]));
    }
    return {
      name: 'haproxy', ports, ends: { client: client_, server: server_ },
      async [Symbol.asyncDispose]() {
        await client_.kill();
        await server_.kill();
      },
    };
  };
  return { name: 'haproxy', start: () => startPair(LINK, SERVICES), startDelayed: () => startPair(DELAYED_LINK, ['iperf3']) };
}

/** HAProxy wants certificate and key in one file. */
async function pemOf({ cert, key }: CertificateFiles, file: string): Promise<string> {
  await writeFile(file, `${await readFile(cert, 'utf8')}${await readFile(key, 'utf8')}`, { mode: 0o600 });
  return file;
}

/** Which ports the delay stands between, for the one service that is measured through it. */
export const HAPROXY_DELAY = { listen: PORTS.iperf3 + DELAYED_LINK, to: PORTS.iperf3 + LINK } as const;
