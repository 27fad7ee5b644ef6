import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  connector,
  createNetwork,
  eventually,
  linkByToken,
  listener,
  startEcho,
  startSite,
  type Program,
  type Site,
} from '../../../test/net/harness/index.ts';
import { ownProgram, type Bench } from '../bench.ts';

/** One new connection, as `programs/probe.ts` saw it. */
export interface Probe {
  /** Milliseconds since 1970. */
  readonly begun: number;
  readonly well: boolean;
}

/** Milliseconds that are watched after a death: longer than any link takes to be given up. */
const WATCHED = 5_000;

/**
 * West reaches east by two sites in between, at equal cost. One of the two dies while new connections begin every 10 ms; it comes back
 * before the other way is tried. Hosts of their own, since sites that let links in want the same port.
 */
export async function measureFailover({ program, options, record, log }: Bench): Promise<void> {
  await using net = await createNetwork({ hosts: ['west', 'left', 'right', 'east'] });
  const east = await startSite(net.host('east'), { program, access: true, resources: [connector('echo', '127.0.0.1', 7_000)] });
  await startEcho(net.host('east'), { port: 7_000 });
  const left = await startSite(net.host('left'), { program, access: true });
  const right = await startSite(net.host('right'), { program, access: true });
  const west = await startSite(net.host('west'), { program, resources: [listener('echo', '127.0.0.1', 7_000)] });
  for (const middle of [left, right]) {
    await linkByToken(middle, east);
    await linkByToken(west, middle);
  }
  await west.waitFor('Listener', 'echo');
  const probe = await west.host.spawn([...ownProgram('probe'), '127.0.0.1', '7000'], { name: 'probe' });

  for (let round = 1; round <= options.rounds; round++) {
    const reset = await outage(
      probe,
      left,
      right,
      (site) => site.kill9(),
      (site) => site.start(),
    );
    const silence = await outage(
      probe,
      left,
      right,
      async (site) => site.process.signal('SIGSTOP'),
      async (site) => site.process.signal('SIGCONT'),
    );
    for (const [how, { milliseconds, lost }] of [
      ['reset', reset],
      ['ping', silence],
    ] as const) {
      record(`failover-${how}`, 'earshot', milliseconds);
      record(`failover-${how}-lost`, 'earshot', lost);
    }
    log(
      `round ${round}: without service for ${reset.milliseconds.toFixed(0)} ms by a reset, ${silence.milliseconds.toFixed(0)} ms in silence`,
    );
  }
}

type Act = (site: Site) => Promise<void>;

async function outage(probe: Program, left: Site, right: Site, die: Act, rise: Act): Promise<Outage> {
  await untilAllWell(probe);
  const victim = await busier(left, right);
  const death = Date.now();
  await die(victim);
  await sleep(WATCHED);
  const result = outageOf(readProbes(probe.output), death);
  await rise(victim);
  // Only with both its links does it offer the other way again, without which the next death would leave none.
  await eventually(`${victim.name} to have its links again`, async () => (await victim.metric('earshot_router_links')) === 2);
  await untilAllWell(probe);
  return result;
}

/** The one of the two that more bytes pass: all connections may go one way, and then only its death says anything. */
async function busier(left: Site, right: Site): Promise<Site> {
  const before = await Promise.all([left, right].map(bytesOf));
  await sleep(1_000);
  const after = await Promise.all([left, right].map(bytesOf));
  const [leftPassed, rightPassed] = after.map((bytes, index) => bytes - (before[index] ?? 0));
  return (leftPassed ?? 0) >= (rightPassed ?? 0) ? left : right;
}

/** Received by the site's host so far. */
async function bytesOf({ process: { pid } }: Site): Promise<number> {
  return Number(/^\s*eth0:\s*(\d+)/m.exec(await readFile(`/proc/${pid}/net/dev`, 'utf8'))?.[1]);
}

export interface Outage {
  /** From the death until the last connection that failed was begun: from then on every one goes well. */
  readonly milliseconds: number;
  /** Percent of the connections begun in that time. */
  readonly lost: number;
}

/** Pure. Connections that were begun just before the death belong to it. */
export function outageOf(probes: readonly Probe[], death: number): Outage {
  const after = probes.filter(({ begun }) => begun >= death - 10);
  const lastFailed = after.findLast(({ well }) => !well);
  if (lastFailed === undefined) return { milliseconds: 0, lost: 0 };
  const meanwhile = after.filter(({ begun }) => begun <= lastFailed.begun);
  return {
    milliseconds: Math.max(0, lastFailed.begun - death),
    lost: (100 * meanwhile.filter(({ well }) => !well).length) / meanwhile.length,
  };
}

/** In the order in which they were begun. */
export function readProbes(text: string): readonly Probe[] {
  return text
    .split('\n')
    .flatMap((line) => {
      const [, begun, well] = /^([\d.]+) ([01])$/.exec(line) ?? [];
      return begun === undefined ? [] : [{ begun: Number(begun), well: well === '1' }];
    })
    .toSorted((a, b) => a.begun - b.begun);
}

async function untilAllWell(probe: Program): Promise<void> {
  await eventually(
    'every new connection to go well for two seconds',
    () => {
      const now = Date.now();
      const latest = readProbes(probe.output).filter(({ begun }) => begun > now - 2_000);
      return latest.length > 100 && latest.every(({ well }) => well);
    },
    { timeoutMs: 30_000, everyMs: 250 },
  );
}
