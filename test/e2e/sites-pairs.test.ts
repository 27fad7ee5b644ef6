/**
 * A namespace of a cluster, one of another cluster, and a Linux machine, joined by the command line as people type it: each pair of them by a
 * token, and then the other way round by what `link generate` prints. They meet on one wire: the second cluster's only node and the machine
 * have a place in the network of the first cluster's nodes.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, it } from 'node:test';
import { eventually, startCluster, stopCluster, type Cluster } from '../harness/index.ts';
import { attempt, run } from '../harness/command.ts';
import { installEarshot } from '../harness/install.ts';
import { environment, Program } from '../harness/program.ts';
import { addNamespace, ipBatch } from '../harness/wires.ts';
import { pod, webServer } from './support/manifests.ts';
import { Namespace, useNamespace } from './support/namespace.ts';
import { skupper } from './support/sites.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const OTHER = 'pairs-other';
const MACHINE = 'pairs-machine';
const PLACES = ['west', 'other', 'machine'] as const;
type Place = (typeof PLACES)[number];
type Pair = readonly [to: Place, from: Place];
/** Who issues, and who redeems. The server for tokens of the first cluster is reached from within it alone. */
const BY_TOKEN: readonly Pair[] = [
  ['other', 'west'],
  ['other', 'machine'],
  ['machine', 'west'],
];
/** Where the machine listens for clients of the others. */
const PORTS: Readonly<Record<Place, number>> = { west: 18_081, other: 18_082, machine: 18_083 };

describe('sites in a namespace, in another cluster and on a machine', { timeout: 400_000 }, () => {
  let [home, podsOfOther] = ['', ''];
  let second: Cluster | undefined;
  const programs: Program[] = [];
  after(async () => {
    for (const program of programs) await program[Symbol.asyncDispose]();
    for (const { netns } of west.cluster.nodes) await attempt('ip', ['-n', netns, 'route', 'del', podsOfOther]);
    await attempt('ip', ['netns', 'del', MACHINE]);
    await second?.[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });
  const west = useNamespace('west');
  const { layout } = west.cluster;
  const addresses = { other: `10.77.${layout.index}.201`, machine: `10.77.${layout.index}.202` };
  let other: Namespace;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'earshot-pairs-'));
    await stopCluster(OTHER);
    second = await startCluster({ name: OTHER, nodes: 1 });
    await wire(second);
    await installEarshot(second, {
      connection: true,
      values: { exposure: { enabled: false }, connection: { replicas: 1, defaultAccessType: 'nodeport', clusterHost: addresses.other } },
    });
    other = new Namespace(second, 'shop');
    await other.open();
    await west.create(pod('west', { labels: { app: 'web' }, script: webServer(8080) }));
    await other.create(pod('other', { labels: { app: 'web' }, script: webServer(8080) }));
    await startOnMachine(['--eval', `require('node:http').createServer((_, answer) => answer.end('machine')).listen(8080, '127.0.0.1')`]);
  });

  it('are made by the same commands', async () => {
    const said = await Promise.all([
      earshot('west', ['site', 'create', 'west', '--link-access-type', 'nodeport']),
      earshot('other', ['site', 'create', 'other', '--enable-link-access']),
      earshot('machine', ['site', 'create', 'machine', '--enable-link-access']),
    ]);
    // On the machine nothing runs yet.
    assert.deepEqual(said, ['Site "west" is ready.\n', 'Site "other" is ready.\n', 'Site "machine" is created.\n']);
    const running = await startOnMachine([MAIN, '-n', MACHINE, 'run', '--router', 'router', '--http-port', '0']);
    await running.ready(() => running.output.includes('access open'));
    await Promise.all(PLACES.map((place) => earshot(place, ['apply', '-f', '-'], resourcesOf(place))));
    await Promise.all([west.running('west'), other.running('other')]);
  });

  const links = new Map<Pair, string>();

  it('are linked by tokens, for any issuer and redeemer', async () => {
    await Promise.all(
      BY_TOKEN.map(async (pair) => {
        const [to, from] = pair;
        const token = join(home, `${to}-for-${from}.yaml`);
        await earshot(to, ['token', 'issue', token]);
        const said = await earshot(from, ['token', 'redeem', token]);
        const [, link = '', leads] = /^Link "(\S+)" is ready: it connects to site "(\S+)"\.$/m.exec(said) ?? [];
        assert.equal(leads, to, said);
        links.set(pair, link);
      }),
    );
    await untilAllReachAll();
  });

  it('are joined the other way round by what `link generate` prints', async () => {
    await Promise.all([...links].map(([[, from], link]) => earshot(from, ['link', 'delete', link])));
    await Promise.all(
      BY_TOKEN.map(async ([from, to]) => {
        const printed = await earshot(to, ['link', 'generate', `to-${to}`]);
        await earshot(from, ['apply', '-f', '-', '--wait', 'ready'], printed);
      }),
    );
    await untilAllReachAll();
  });

  it('see the whole network', async () => {
    for (const place of PLACES) {
      await eventually(`${place} to count three sites`, async () => {
        assert.match(await earshot(place, ['status']), /^Sites in network: +3$/m);
        return true;
      });
      const network = await earshot(place, ['network']);
      for (const each of PLACES) assert.match(network, new RegExp(`^${each} .*${each === place ? ', this site' : ''}$`, 'm'));
    }
  });

  /** Gives the second cluster's node and the machine a cable to the first cluster's, and routes to all pods. */
  async function wire({ layout: { nodes } }: Cluster): Promise<void> {
    const [node] = nodes;
    assert.ok(node);
    podsOfOther = node.podRange.v4;
    const here = layout.nodes.map(({ podRange, address }) => `route add ${podRange.v4} via ${address.v4}`);
    const there = `route add ${podsOfOther} via ${addresses.other}`;
    await attempt('ip', ['netns', 'del', MACHINE]);
    await addNamespace(MACHINE, [{ device: 'eth0', port: `${layout.bridge}m`, bridge: layout.bridge, addresses: [addresses.machine] }]);
    const port = `${layout.bridge}o`;
    await ipBatch([`link add ${port} type veth peer name eth1 netns ${node.netns}`, `link set ${port} master ${layout.bridge} up`]);
    await ipBatch(['link set eth1 up', `addr add ${addresses.other}/24 dev eth1`, ...here], node.netns);
    await ipBatch([...here, there], MACHINE);
    for (const { netns } of layout.nodes) await ipBatch([there], netns);
  }

  async function startOnMachine(args: readonly string[]): Promise<Program> {
    // Of this run alone: it is looked at for what the site says.
    const log = join(west.cluster.logs, `${west.name}-machine.log`);
    const program = await Program.start(MACHINE, [...onMachine(), process.execPath, ...args], { env: env(), log });
    programs.push(program);
    return program;
  }

  function onMachine(): readonly string[] {
    return ['nsenter', `--net=/var/run/netns/${MACHINE}`];
  }

  /** Each has a server, whose routing key is the site's name, and is to reach those of the others under theirs. */
  function resourcesOf(place: Place): string {
    const isMachine = place === 'machine';
    const target = isMachine ? { host: '127.0.0.1', verifyHostname: false } : { selector: 'app=web' };
    const listeners = PLACES.filter((each) => each !== place).map((each) =>
      skupper('Listener', each, {
        routingKey: each,
        ...(isMachine ? { host: '127.0.0.1', port: PORTS[each] } : { host: each, port: 8080 }),
      }),
    );
    return [skupper('Connector', 'web', { routingKey: place, port: 8080, ...target }), ...listeners]
      .map((each) => JSON.stringify(each))
      .join('\n---\n');
  }

  async function untilAllReachAll(): Promise<void> {
    const pairs = PLACES.flatMap((from) => PLACES.filter((to) => to !== from).map((to) => [from, to] as const));
    await Promise.all(
      pairs.map(([from, to]) =>
        eventually(`${to} to answer to ${from}`, async () => {
          assert.match(await answerOf(to, from), new RegExp(`${to}\\s*$`));
          return true;
        }),
      ),
    );
  }

  function answerOf(to: Place, from: Place): Promise<string> {
    if (from === 'machine') {
      const [program = '', ...args] = [...onMachine(), 'curl', '-sSf', '--max-time', '3', `http://127.0.0.1:${PORTS[to]}/`];
      return run(program, args);
    }
    const request = String.raw`printf 'GET / HTTP/1.0\r\n\r\n' | nc -w 3 ${to} 8080`;
    return { west, other }[from].exec(from, ['sh', '-c', request]);
  }

  function earshot(place: Place, args: readonly string[], input = ''): Promise<string> {
    const where = {
      west: ['--context', layout.name, '-n', west.name],
      other: ['--context', OTHER, '-n', 'shop'],
      machine: ['--platform', 'linux', '-n', MACHINE],
    }[place];
    return run(process.execPath, [MAIN, ...args, ...where], { env: env(), input, timeoutMs: 120_000 });
  }

  function env(): Record<string, string> {
    return environment({ EARSHOT_HOME: home, KUBECONFIG: `${west.cluster.kubeconfig}:${second?.kubeconfig}` });
  }
});
