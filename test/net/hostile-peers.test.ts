/** A router that is attacked over its access port, with a link's certificate and without, while another site's link and clients use it. */
import assert from 'node:assert/strict';
import { copyFile } from 'node:fs/promises';
import { test, type TestContext } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  connector,
  createAuthority,
  createNetwork,
  eventually,
  failuresOf,
  issue,
  linkByToken,
  listener,
  manifest,
  placeLinkFiles,
  ENDLESS_PAGES,
  startNginx,
  startNode,
  startRequests,
  startSite,
  type Host,
  type Site,
} from './harness/index.ts';

const PEER = fileURLToPath(new URL('hostile/peer.ts', import.meta.url));

interface Attack {
  readonly name: string;
  /** The answer that the attacker reports. */
  readonly ended: RegExp;
  /** Label of the counter of refused peers that rises. */
  readonly reason?: string;
  /** MB that the router may take for it at most, at any time, beyond what it had. */
  readonly memory?: number;
}

const attacks: readonly Attack[] = [
  { name: 'garbage-for-tls', ended: /^closed$/, reason: 'tls-failed' },
  { name: 'garbage-for-http2', ended: /^goaway 1: .*not the connection preface/, reason: 'protocol' },
  { name: 'truncated-frame', ended: /^goaway 4: |^goaway 2: .*silent|^closed$/, reason: 'silent' },
  { name: 'oversized-frame', ended: /^goaway 6: .*over our limit/, reason: 'protocol' },
  { name: 'continuation-flood', ended: /^goaway 11: .*header block/, reason: 'protocol' },
  { name: 'header-flood', ended: /^let be$|^closed$|^goaway (2|11): / },
  { name: 'rapid-resets', ended: /^goaway 11: .*reset before/, reason: 'protocol' },
  { name: 'made-resets', ended: /^goaway 11: .*reset before/, reason: 'protocol' },
  { name: 'pings', ended: /^goaway 11: too many PING/, reason: 'protocol' },
  { name: 'settings', ended: /^goaway 11: too many SETTINGS/, reason: 'protocol' },
  { name: 'settings-of-windows', ended: /^goaway 11: too many|^goaway 2: silent|^let be$/ },
  { name: 'window-overflow', ended: /^goaway 3: .*overflows the window/, reason: 'protocol' },
  { name: 'never-reads-answers', ended: /^closed$|^let be$/, reason: 'protocol', memory: 150 },
  { name: 'never-reads-data', ended: /^closed$|^let be$/, memory: 150 },
  // It answers no pings, either.
  { name: 'zero-windows', ended: /^goaway 2: silent/, reason: 'silent', memory: 150 },
  { name: 'streams-that-say-nothing', ended: /^goaway 2: silent/, reason: 'silent' },
  { name: 'byte-by-byte', ended: /^goaway 2: silent|^goaway 11: |^let be$/, memory: 150 },
  { name: 'slow-handshakes', ended: /^closed 300 of 300$/, reason: 'busy' },
  { name: 'no-certificate', ended: /^goaway 12: tls-no-cert/, reason: 'tls-no-cert' },
  { name: 'foreign-certificate', ended: /^goaway 12: tls-foreign-ca/, reason: 'tls-foreign-ca' },
  { name: 'nameless-certificate', ended: /^goaway 12: tls-foreign-ca: .*without a name/, reason: 'tls-foreign-ca' },
  { name: 'wrong-protocol', ended: /^closed$/, reason: 'tls-failed' },
];

/** MB of resident memory: what a collector that has not run yet, and the pages of a busy moment, come to. */
const MEMORY = 90;
/** CPU seconds of the router for one attack: all but one of them end it much sooner. */
const CPU_SECONDS = 12;
/** Milliseconds that an attack goes on, where the router may let it be; and where it has to end it, however busy the machine. */
const PATIENCE = { letBe: 8_000, toBeEnded: 40_000 };

interface Attacked extends AsyncDisposable {
  readonly east: Site;
  readonly west: Site;
  readonly client: Host;
  readonly strange: Host;
  /** Directory with a link's certificate, and one of an unknown authority. */
  readonly certificates: string;
  readonly port: string;
}

async function attacked(t: TestContext): Promise<Attacked> {
  await using stack = new AsyncDisposableStack();
  const net = stack.use(await createNetwork({ hosts: ['west', 'east', 'strange'], test: t }));
  const [client, server, strange] = [net.host('west'), net.host('east'), net.host('strange')];
  const services = { web: 80, endless: 7001, stuck: 7002 };
  const east = await startSite(server, {
    resources: [
      // Attackers that answer no ping are given up soon, so that the test does not wait for them.
      manifest('Site', 'east', { linkAccess: 'default', settings: { 'link-dead-after': '3s' } }),
      ...Object.entries(services).map(([key, port]) => connector(key, '127.0.0.1', port)),
    ],
  });
  const west = await startSite(client, { resources: Object.entries(services).map(([key, port]) => listener(key, '127.0.0.1', port)) });
  await startNginx(server, { port: services.web });
  await startNode(server, services.endless, ENDLESS_PAGES);
  await startNode(server, services.stuck, 'socket.pause();');
  await linkByToken(west, east);
  const { certificates, port } = await certificatesOf(east, strange);
  const owned = stack.move();
  return { east, west, client, strange, certificates, port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

async function certificatesOf(east: Site, strange: Host): Promise<{ readonly certificates: string; readonly port: string }> {
  const { certificates, port } = await placeLinkFiles(east, east.host.v4, strange);
  const foreign = await issue(await createAuthority(`${certificates}/ca`), 'strange');
  await copyFile(foreign.cert, `${certificates}/foreign.crt`);
  await copyFile(foreign.key, `${certificates}/foreign.key`);
  // One command creates such a certificate. Its issuer is empty.
  await strange.run([
    'openssl',
    'req',
    '-x509',
    '-nodes',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-subj',
    '/',
    '-keyout',
    `${certificates}/nameless.key`,
    '-out',
    `${certificates}/nameless.crt`,
  ]);
  return { certificates, port };
}

test('acts of a peer at the access port do not affect others, and their cost is bounded', async (t) => {
  await using net = await attacked(t);
  const { east } = net;
  for (const attack of attacks) {
    await t.test(attack.name, async (each) => {
      const before = { memory: east.process.memory(), cpu: east.process.cpuSeconds(), refused: await refusedFor(east, attack) };
      const { ended, memory } = await strike(net, attack);
      each.diagnostic(
        `${ended}; memory ${Math.round(memory - before.memory)} MB more, ${(east.process.cpuSeconds() - before.cpu).toFixed(1)} s of CPU`,
      );
      assert.match(ended, attack.ended);
      assert.ok(memory - before.memory < (attack.memory ?? MEMORY), `from ${before.memory} to ${memory} MB`);
      assert.ok(east.process.cpuSeconds() - before.cpu < CPU_SECONDS);
      if (attack.reason !== undefined) {
        await eventually(`${attack.name} to be counted`, async () => (await refusedFor(east, attack)) > before.refused);
      }
    });
  }
  const { refused, cut } = { refused: lines(east, 'peer refused'), cut: lines(east, 'connection of a peer closed') };
  assert.ok(
    refused.some((line) => line.includes('tls-no-cert')) && refused.some((line) => line.includes('tls-foreign-ca')),
    'refusals are in the log',
  );
  assert.ok(
    cut.some((line) => line.includes('ENHANCE_YOUR_CALM')),
    'and so is why connections were cut off',
  );
  assert.ok(east.process.output.length < 1_000_000, 'the log has stayed short');
});

const refusedFor = (site: Site, { reason = '' }: Attack): Promise<number> => site.metric('earshot_router_peers_refused_total', { reason });

const lines = (site: Site, message: string): readonly string[] => site.process.output.split('\n').filter((line) => line.includes(message));

interface Struck {
  /** How the attacker says it ended. */
  readonly ended: string;
  /** MB of resident memory, the most that was seen meanwhile. */
  readonly memory: number;
}

/** One attack from its beginning to its end; clients of the site are looked at all the while. */
async function strike({ east, west, client, strange, port, certificates }: Attacked, { name, reason }: Attack): Promise<Struck> {
  await west.waitFor('Listener', 'web');
  await using requests = await startRequests(client, 'http://127.0.0.1:80/', { perSecond: 20 });
  await requests.next(2);
  const patience = reason === undefined ? PATIENCE.letBe : PATIENCE.toBeEnded;
  const said = strange.run([process.execPath, PEER, name, 'east', port, certificates, String(patience)], { timeoutMs: 90_000 });
  const state = { over: false };
  const over = said.finally(() => {
    state.over = true;
  });
  const watch = async (): Promise<number> => {
    let most = 0;
    while (!state.over) {
      most = Math.max(most, east.process.memory());
      await setTimeout(50);
    }
    return most;
  };
  const [text, memory] = await Promise.all([over, watch()]);
  await requests.next(3);
  assert.deepEqual(failuresOf(requests.results), [], 'others are unharmed');
  // The attacker's own line.
  const { ended } = JSON.parse(text) as { readonly ended: string };
  return { ended, memory };
}
