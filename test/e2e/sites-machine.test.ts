/** A site in a cluster and one on a machine outside, which is reached by nodes' addresses alone: without a token, by `link generate`. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import type { Link, Site } from '../../src/api/skupper/index.ts';
import { eventually } from '../harness/index.ts';
import { run } from '../harness/command.ts';
import { environment, Program } from '../harness/program.ts';
import { pod } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { SKUPPER, skupper, untilCondition, webDeployment } from './support/sites.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

describe('a site in a cluster and one on a machine outside', { timeout: 300_000 }, () => {
  const server = createServer((_request, response) => response.end('of the machine'));
  let home = '';
  let machine: Program;
  after(async () => {
    await machine[Symbol.asyncDispose]();
    server.close();
    await rm(home, { recursive: true, force: true });
  });
  const west = useNamespace('west', { node: { serviceType: 'NodePort' } });
  const { cluster } = west;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'earshot-machine-'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    await west.create(
      skupper('Site', 'west', { linkAccess: `listenerclass:${west.className('node')}` }),
      skupper('Connector', 'web', { selector: 'app=web', port: 8080, routingKey: 'web' }),
      skupper('Listener', 'files', { host: 'files', port: 8080, routingKey: 'files' }),
      webDeployment('web', 1),
      pod('client'),
    );
    const log = join(cluster.logs, 'machine.log');
    machine = await Program.start('machine', [process.execPath, MAIN, '-n', 'machine', 'run', '--router', 'router', '--http-port', '0'], {
      env: env(),
      log,
    });
    await apply(
      skupper('Site', 'machine'),
      skupper('Connector', 'files', { host: '127.0.0.1', port: portOf(), routingKey: 'files', verifyHostname: false }),
      skupper('Listener', 'web', { host: '127.0.0.1', port: LISTENER, routingKey: 'web' }),
    );
    await untilCondition(west, 'Site', 'west');
  });

  it('are linked by what `link generate` prints, and each reaches what the other has', async () => {
    const printed = await earshot(['link', 'generate', 'to-west', '-n', west.name], '', 'kubernetes');
    await earshot(['apply', '-n', 'machine', '-f', '-'], printed);
    const said = await eventually('the web of the cluster', () =>
      run('curl', ['-sSf', '--max-time', '3', `http://127.0.0.1:${LISTENER}/`]),
    );
    assert.match(said, /^web-/);
    await west.running('client');
    // As wget asks, the answer has no length, with which the client's wget cannot do.
    const request = String.raw`printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 3 files 8080`;
    await eventually('the files of the machine', async () => {
      assert.match(await west.exec('client', ['sh', '-c', request]), /of the machine$/);
      return true;
    });
  });

  it('stay linked when the node gets another address: the far one is notified, and goes there', async () => {
    const [{ host = '' } = {}] = await endpoints();
    const node = cluster.nodes.find(({ addresses }) => addresses.includes(host));
    assert.ok(node, host);
    const moved = `198.51.100.${cluster.layout.index * 16 + 5}`;
    await cluster.setNodeAddresses(node.name, [
      { type: 'InternalIP', address: host },
      { type: 'ExternalIP', address: moved },
    ]);
    try {
      await eventually(`the far site to receive ${moved}`, async () => {
        const told = (await link()).status?.endpoints?.map((each) => each.host);
        assert.ok(told?.includes(moved), JSON.stringify(told));
        return true;
      });
    } finally {
      await cluster.setNodeAddresses(node.name, [
        { type: 'InternalIP', address: host },
        { type: 'Hostname', address: node.name },
      ]);
    }
  });

  it('part when the Certificate is deleted', async () => {
    await west.remove(SKUPPER, 'Certificate', 'link-west');
    await eventually('the link to be refused', async () => {
      const { status } = await link();
      assert.match(status?.message ?? '', /revoked/);
      return true;
    });
  });

  async function endpoints(): Promise<NonNullable<NonNullable<Site['status']>['endpoints']>> {
    return (await west.get<Site>(SKUPPER, 'Site', 'west'))?.status?.endpoints ?? [];
  }

  async function link(): Promise<Link> {
    return parse(await earshot(['link', 'status', 'to-west', '-n', 'machine', '-o', 'yaml'])) as Link;
  }

  function portOf(): number {
    return (server.address() as AddressInfo).port;
  }

  async function apply(...manifests: readonly object[]): Promise<void> {
    await earshot(['apply', '-n', 'machine', '-f', '-'], manifests.map((each) => JSON.stringify(each)).join('\n---\n'));
  }

  function env(): Record<string, string> {
    return environment({ EARSHOT_HOME: home, KUBECONFIG: cluster.kubeconfig });
  }

  function earshot(args: readonly string[], input = '', platform = 'linux'): Promise<string> {
    return run(process.execPath, [MAIN, ...args], { env: { ...env(), EARSHOT_PLATFORM: platform }, input, timeoutMs: 90_000 });
  }
});

const LISTENER = 18_080;
