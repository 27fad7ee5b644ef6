import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { HarnessError, issue } from '../../../test/net/harness/index.ts';
import { OFFSETS, PORTS, portsAt, SERVICES, type Bench, type System } from '../bench.ts';

/** The link's port. */
const LINK = PORTS.iperf3 + OFFSETS.ratholeLink;
const NAME = 'rathole-server';

export const RATHOLE = process.env['EARSHOT_RATHOLE'] ?? `${homedir()}/.cache/earshot/rathole/bin/rathole`;

/**
 * A pair of rathole, for the record: TCP over TLS with a token for each service. It knows no client certificates. Its `server` is where
 * clients come in; its `client` is beside the servers and opens the link.
 */
export async function ratholePair({ host, authority }: Bench): Promise<System> {
  if (!existsSync(RATHOLE)) {
    const build = `cargo install rathole --version 0.5.0 --no-default-features --features server,client,tls --root ${homedir()}/.cache/earshot/rathole`;
    throw new HarnessError('NOT_POSSIBLE_HERE', `there is no ${RATHOLE}; build it with: ${build}`);
  }
  const dir = await host.folder('rathole');
  const { cert, key, ca } = await issue(authority, NAME);
  await host.run([
    'openssl',
    'pkcs12',
    '-export',
    '-in',
    cert,
    '-inkey',
    key,
    '-certfile',
    ca,
    '-out',
    `${dir}/server.p12`,
    '-passout',
    'pass:bench',
  ]);
  const ports = portsAt(OFFSETS.rathole);
  await writeFile(
    `${dir}/server.toml`,
    [
      '[server]',
      `bind_addr = "127.0.0.1:${LINK}"`,
      'default_token = "bench"',
      '[server.transport]',
      'type = "tls"',
      '[server.transport.tls]',
      `pkcs12 = "${dir}/server.p12"`,
      'pkcs12_password = "bench"',
      ...SERVICES.flatMap((service) => [`[server.services.${service}]`, `bind_addr = "127.0.0.1:${ports[service]}"`]),
      '',
    ].join('\n'),
  );
  await writeFile(
    `${dir}/client.toml`,
    [
      '[client]',
      `remote_addr = "127.0.0.1:${LINK}"`,
      'default_token = "bench"',
      '[client.transport]',
      'type = "tls"',
      '[client.transport.tls]',
      `trusted_root = "${ca}"`,
      `hostname = "${NAME}"`,
      ...SERVICES.flatMap((service) => [`[client.services.${service}]`, `local_addr = "127.0.0.1:${PORTS[service]}"`]),
      '',
    ].join('\n'),
  );
  const env = { RUST_LOG: 'warn' };
  return {
    name: 'rathole',
    async start() {
      const client = await host.spawn([RATHOLE, '--server', `${dir}/server.toml`], { name: 'rathole-server', env });
      await client.ready(() => host.listens(LINK));
      const server = await host.spawn([RATHOLE, '--client', `${dir}/client.toml`], { name: 'rathole-client', env });
      for (const service of SERVICES) await client.ready(() => host.listens(ports[service]));
      return {
        name: 'rathole',
        ports,
        ends: { client, server },
        async [Symbol.asyncDispose]() {
          await client.kill();
          await server.kill();
        },
      };
    },
  };
}
