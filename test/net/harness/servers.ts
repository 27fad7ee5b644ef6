/** Servers that we did not write, started by hand on a host: each with its own folder, none known to the machine's service manager. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import type { CertificateFiles } from './certificates.ts';
import type { Host } from './host.ts';
import type { Program } from '../../harness/program.ts';

export interface ServerOptions {
  readonly port: number;
  /** All addresses of the host, IPv4 and IPv6, by default. */
  readonly address?: string;
}

export interface NginxOptions extends ServerOptions {
  readonly tls?: CertificateFiles;
  /** By their paths, `/index.html`. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  readonly workers?: number;
  /** HTTP/2 as well; without TLS only for clients that know it beforehand (RFC 9113 section 3.3). */
  readonly http2?: boolean;
  /** Further lines of its `server` block. */
  readonly server?: string;
}

/** nginx: HTTP/1.1 keep-alive without a limit. `/` answers `hello from HOST`, all else are `files`. */
export async function startNginx(host: Host, options: NginxOptions): Promise<Program> {
  const { port, address, tls, files = {}, workers = 1, http2 = false, server = '' } = options;
  const dir = await host.folder('nginx', 'www-data');
  for (const [path, content] of Object.entries(files)) await writeFile(`${dir}${path}`, content);
  const kind = `${tls === undefined ? '' : ' ssl'}${http2 ? ' http2' : ''}`;
  const listen = (at: string): string => `listen ${at}:${port}${kind} reuseport backlog=4096;`;
  await writeFile(
    `${dir}/nginx.conf`,
    `
    user www-data;
    worker_processes ${workers};
    worker_rlimit_nofile 20000;
    pid ${dir}/nginx.pid;
    error_log stderr warn;
    events { worker_connections 15000; }
    http {
      access_log off;
      default_type application/octet-stream;
      keepalive_requests 1000000000;
      sendfile on;
      tcp_nopush on;
      client_max_body_size 0;
      client_body_temp_path ${dir}/body;
      proxy_temp_path ${dir}/proxy;
      fastcgi_temp_path ${dir}/fastcgi;
      uwsgi_temp_path ${dir}/uwsgi;
      scgi_temp_path ${dir}/scgi;
      server {
        ${address === undefined ? `${listen('0.0.0.0')} ${listen('[::]')}` : listen(address)}
        ${tls === undefined ? '' : `ssl_certificate ${tls.cert}; ssl_certificate_key ${tls.key};`}
        location = / { return 200 'hello from ${host.name}\\n'; }
        location / { root ${dir}; }
        ${server}
      }
    }
  `,
  );
  const nginx = await host.spawn(['nginx', '-c', `${dir}/nginx.conf`, '-p', dir, '-e', 'stderr', '-g', 'daemon off;'], {
    name: `nginx-${port}`,
  });
  // Written once it listens everywhere.
  await nginx.ready(async () => (await readFile(`${dir}/nginx.pid`, 'utf8')) !== '');
  return nginx;
}

export interface RedisOptions extends ServerOptions {
  /** 10,000 by default, as in Redis itself. */
  readonly maxClients?: number;
}

/** Redis without a file on disk. */
export async function startRedis(host: Host, { port, address = '*', maxClients = 10_000 }: RedisOptions): Promise<Program> {
  const dir = await host.folder('redis');
  const redis = await host.spawn(
    [
      'redis-server',
      '--port',
      String(port),
      '--bind',
      address,
      '--dir',
      dir,
      '--save',
      '',
      '--appendonly',
      'no',
      '--protected-mode',
      'no',
      '--maxclients',
      String(maxClients),
      '--tcp-backlog',
      '4096',
    ],
    { name: `redis-${port}` },
  );
  await redis.ready(() => host.listens(port));
  return redis;
}

export async function startIperf3(host: Host, { port, address }: ServerOptions): Promise<Program> {
  const iperf3 = await host.spawn(['iperf3', '-s', '-p', String(port), ...(address === undefined ? [] : ['-B', address])], {
    name: `iperf3-${port}`,
  });
  await iperf3.ready(() => host.listens(port));
  return iperf3;
}

export interface PostgresOptions extends ServerOptions {
  readonly tls?: CertificateFiles;
}

/** PostgreSQL with the superuser `postgres`, trusted over TCP. Settings are for tests: nothing survives a crash. */
export async function startPostgres(host: Host, { port, address = '*', tls }: PostgresOptions): Promise<Program> {
  const dir = await host.folder('postgres', 'postgres');
  const bin = await postgresPrograms();
  // The server refuses to run as root.
  const asPostgres = ['setpriv', '--reuid=postgres', '--regid=postgres', '--init-groups'];
  const env = { HOME: dir };
  await host.run([...asPostgres, `${bin}/initdb`, '-D', `${dir}/data`, '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C'], {
    env,
    cwd: dir,
    timeoutMs: 120_000,
  });
  await writeFile(`${dir}/data/pg_hba.conf`, 'host all all 0.0.0.0/0 trust\nhost all all ::/0 trust\n');
  const secure: string[] = [];
  if (tls !== undefined) {
    // It wants the key to be its own user's, and closed to others.
    await host.run(['install', '-o', 'postgres', '-m', '600', tls.key, `${dir}/server.key`]);
    await host.run(['install', '-o', 'postgres', '-m', '644', tls.cert, `${dir}/server.crt`]);
    secure.push('-c', 'ssl=on', '-c', `ssl_cert_file=${dir}/server.crt`, '-c', `ssl_key_file=${dir}/server.key`);
  }
  const postgres = await host.spawn(
    [
      ...asPostgres,
      `${bin}/postgres`,
      '-D',
      `${dir}/data`,
      '-p',
      String(port),
      '-c',
      `listen_addresses=${address}`,
      '-c',
      `unix_socket_directories=${dir}`,
      '-c',
      'fsync=off',
      '-c',
      'full_page_writes=off',
      '-c',
      'max_connections=300',
      ...secure,
    ],
    { name: `postgres-${port}`, env, cwd: dir },
  );
  await postgres.ready(async () => (await host.attempt(['pg_isready', '-q', '-h', dir, '-p', String(port)])).code === 0);
  return postgres;
}

/** Debian's folder of the server's programs, of any version. */
export async function postgresPrograms(): Promise<string> {
  const versions = (await readdir('/usr/lib/postgresql')).toSorted((a, b) => Number(a) - Number(b));
  return `/usr/lib/postgresql/${versions.at(-1) ?? ''}/bin`;
}

export interface Sshd {
  readonly program: Program;
  /** `ssh` with the options that this server asks for, up to the host: `[...client, 'root@HOST', 'command']`. */
  readonly client: readonly string[];
}

/** An SSH server that lets root in by a key of its own making. */
export async function startSshd(host: Host, { port, address }: ServerOptions): Promise<Sshd> {
  const dir = await host.folder('sshd');
  // Its unprivileged half is locked up in this folder, which Debian's service would make.
  await mkdir('/run/sshd', { recursive: true, mode: 0o755 });
  for (const key of ['host', 'user']) await host.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-f', `${dir}/${key}`]);
  await host.run(['install', '-m', '600', `${dir}/user.pub`, `${dir}/authorized_keys`]);
  await writeFile(
    `${dir}/sshd_config`,
    [
      `Port ${port}`,
      ...(address === undefined ? [] : [`ListenAddress ${address}`]),
      `HostKey ${dir}/host`,
      `AuthorizedKeysFile ${dir}/authorized_keys`,
      // The folder is below /tmp, which all may write to: sshd would not believe a key that is kept there.
      'StrictModes no',
      'PermitRootLogin prohibit-password',
      'PasswordAuthentication no',
      'UsePAM no',
      'PidFile none',
      'Subsystem sftp internal-sftp',
      '',
    ].join('\n'),
  );
  const program = await host.spawn(['/usr/sbin/sshd', '-D', '-e', '-f', `${dir}/sshd_config`], { name: `sshd-${port}` });
  await program.ready(() => host.listens(port));
  const client = [
    'ssh',
    '-i',
    `${dir}/user`,
    '-o',
    'StrictHostKeyChecking=no',
    '-o',
    'UserKnownHostsFile=/dev/null',
    '-o',
    'IdentitiesOnly=yes',
    '-o',
    'BatchMode=yes',
    '-o',
    'LogLevel=ERROR',
  ];
  return { program, client };
}

/** Says back whatever it hears, also after the client has half-closed, over IPv4 and IPv6: a process of socat for each connection. */
export async function startEcho(host: Host, { port }: ServerOptions): Promise<Program> {
  // -t: without it, half a second without a byte would be the end of the way back, once the way there has ended.
  const echo = await host.spawn(['socat', '-t', '20', `TCP6-LISTEN:${port},ipv6only=0,fork,reuseaddr,backlog=1024`, 'EXEC:cat'], {
    name: `echo-${port}`,
  });
  await echo.ready(() => host.listens(port));
  return echo;
}

/** For `startNode`: sends a page of 64 KiB again and again, as fast as it is taken. */
export const ENDLESS_PAGES = 'const go = () => { while (socket.write(page)); }; socket.on("drain", go); go();';

/** A server of one line: what it does with each `socket`. @param node what runs it */
export async function startNode(host: Host, port: number, onSocket: string, node: readonly string[] = [process.execPath]): Promise<void> {
  const text = `const page = Buffer.alloc(65536); require('net').createServer({ allowHalfOpen: true }, (socket) => { socket.on('error', () => {}); ${onSocket} }).listen(${port}, '127.0.0.1')`;
  const program = await host.spawn([...node, '-e', text], { name: `server-${port}` });
  await program.ready(() => host.listens(port));
}
