/** Sites whose resources are all in order are started: no status is Error on the way, and no log line is a warning. */
import assert from 'node:assert/strict';
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { layoutOf } from '../../../src/platform/linux/layout.ts';
import { eventually } from '../../harness/wait.ts';
import { echoServer } from '../router/support/site.ts';
import { freePort } from '../support/free-port.ts';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
/** A busy machine starts slowly. */
const PATIENCE = '60s';

type Resource = readonly [kind: string, name: string, spec: object];

/** One site, its processes and what they log. */
class LoggedSite implements AsyncDisposable {
  readonly home: string;
  readonly name: string;
  readonly #processes: ChildProcess[] = [];
  #log = '';

  private constructor(home: string, name: string) {
    this.home = home;
    this.name = name;
  }

  static async make(name: string, resources: readonly Resource[]): Promise<LoggedSite> {
    const site = new LoggedSite(await mkdtemp(join(tmpdir(), 'earshot-healthy-')), name);
    const { resources: folder } = layoutOf(name, site.home).input;
    await mkdir(folder, { recursive: true });
    await site.write('all.yaml', ...resources);
    return site;
  }

  async write(file: string, ...resources: readonly Resource[]): Promise<void> {
    const text = resources.map(([kind, of, spec]) => stringify({ apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name: of }, spec }));
    await writeFile(join(layoutOf(this.name, this.home).input.resources, file), text.join('---\n'));
  }

  run(...args: readonly string[]): void {
    const child = spawn(process.execPath, [MAIN, '-n', this.name, 'run', '--router', 'router', '--drain-timeout', '1s', ...args], {
      env: this.#env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => void (this.#log += text));
    this.#processes.push(child);
  }

  async stop(): Promise<void> {
    const ended = this.#processes.splice(0).map((child) => {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      return exit;
    });
    await Promise.all(ended);
  }

  /** @returns standard output */
  async earshot(...args: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, [MAIN, '-n', this.name, ...args], { env: this.#env });
    return stdout;
  }

  /** Messages of warnings and errors, among them each change of a status to Error. */
  get warnings(): readonly string[] {
    return this.#log
      .split('\n')
      .filter((line) => /"level":"(?:warn|error|fatal)"/.test(line))
      .map((line) => String(JSON.parse(line).message));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.home, { recursive: true, force: true });
  }

  get #env(): NodeJS.ProcessEnv {
    return { ...process.env, EARSHOT_HOME: this.home, EARSHOT_TUNED: '1' };
  }
}

test('no status of a healthy start or restart is Error, whatever the kind', async () => {
  await using echo = await echoServer();
  const loopback = '127.0.0.1';
  const ports = { link: await freePort(), edge: await freePort(), grant: await freePort(), web: await freePort(), tls: await freePort() };
  // A user may give a Certificate any name, also that of the directory of the site's own authority.
  const authority: Resource = ['Certificate', 'ca', { subject: 'mine', signing: true, ca: '' }];
  await using west = await LoggedSite.make('west', [
    // The order is one in which each waits for a later one.
    ['Listener', 'tls', { routingKey: 'tls', host: loopback, port: ports.tls, tlsCredentials: 'server' }],
    ['Listener', 'web', { routingKey: 'web', host: 'localhost', port: ports.web }],
    ['MultiKeyListener', 'both', { host: loopback, port: await freePort(), strategy: { priority: { routingKeys: ['web', 'tls'] } } }],
    ['Certificate', 'server', { subject: 'localhost', hosts: ['localhost'], server: true, ca: 'ca' }],
    authority,
    ['AccessGrant', 'grant', { redemptionsAllowed: 2, expirationWindow: '1h' }],
    [
      'RouterAccess',
      'access',
      {
        roles: [
          { name: 'inter-router', port: ports.link },
          { name: 'edge', port: ports.edge },
        ],
        bindHost: loopback,
        subjectAlternativeNames: [loopback],
        tlsCredentials: 'access',
        generateTlsCredentials: true,
      },
    ],
    ['Site', 'west', { settings: { 'grant-port': `${ports.grant}` } }],
  ]);
  await using east = await LoggedSite.make('east', [
    ['Connector', 'web', { routingKey: 'web', host: 'localhost', port: echo.port }],
    [
      'Connector',
      'tls',
      { routingKey: 'tls', host: loopback, port: echo.port, tlsCredentials: 'client', verifyHostname: false, settings: { probe: 'none' } },
    ],
    ['Certificate', 'client', { subject: 'client', client: true, ca: 'ca' }],
    authority,
    ['Site', 'east', {}],
  ]);
  const token = join(west.home, 'token.yaml');
  const start = async (): Promise<void> => {
    for (const router of ['router', 'second']) west.run('--router', router);
    await west.earshot('wait', 'site/west', 'accessgrant/grant', '--timeout', PATIENCE);
    east.run();
  };
  const isReady = (): Promise<unknown> => Promise.all([west, east].map((site) => site.earshot('wait', '--all', '--timeout', PATIENCE)));

  await start();
  await west.earshot('token', 'issue', token, '--timeout', PATIENCE);
  await east.earshot('token', 'redeem', token, '--timeout', PATIENCE);
  await isReady();
  assert.deepEqual([west.warnings, east.warnings], [[], []], 'the first start');

  await east.stop();
  await west.stop();
  await start();
  await isReady();
  assert.deepEqual([west.warnings, east.warnings], [[], []], 'the next start');

  await east.write('broken.yaml', ['Certificate', 'broken', { subject: 'broken', server: true, ca: 'missing' }]);
  await eventually('an Error is logged', () => east.warnings.some((line) => line.startsWith('Certificate/broken has the status Error')));
});
