/** One seed: its cluster, its history, and what did not hold. */
import type { Listener } from '../../src/api/listeners/index.ts';
import { Random } from '../simulate/random.ts';
import { CALM } from './api-server.ts';
import { Cluster } from './cluster.ts';
import { drawFight, drawHistory, drawRetained, drawWaiting, type Event } from './history.ts';
import { perform } from './perform.ts';
import { drawPlan, type ClusterPlan } from './plan.ts';
import { CONTEST, wrongs } from './rules.ts';

export interface Outcome {
  readonly seed: number;
  readonly events: readonly Event[];
  /** Broken rules, first to last; empty if all hold. */
  readonly wrong: readonly string[];
  readonly digest: number;
  /** Simulated milliseconds, and events of the simulation. */
  readonly lasted: number;
  readonly ran: number;
}

/** Milliseconds between two looks: the longest are for what has to fail and be tried again. */
const LOOKS = [200, 300, 500, 1_000, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 40_000];
/** Milliseconds until patience reports what it waits for, and until an unanswered request is given up. */
const PATIENCE = 45_000;
/** Then it is no longer reported. */
const FIGHT_ENDS = 150_000;
const QUIET = 80_000;
const LONG_QUIET = 3_600_000;
/** Writes for each change of anything else, and for the beginning. */
const FACTOR = 12;
const FEW = 300;
const MINUTE = 60_000;
/** Writes of one object in a minute, while something changes it back. */
const MOST_REPAIRS = 6;
/** Services made for one Listener that is gone. */
const MOST_ORPHANS = 2;

export interface PlayOptions {
  /** Instead of those of the seed. */
  readonly events?: readonly Event[];
  readonly onTrace?: (line: string) => void;
}

export async function play(seed: number, options: PlayOptions = {}): Promise<Outcome> {
  const plan = drawPlan(new Random(seed, 0), new Random(seed, 3), new Random(seed, 5));
  const events = options.events ?? drawEvents(seed, plan);
  const cluster = new Cluster(seed, plan);
  cluster.onTrace = options.onTrace;
  const onError = (error: unknown): void => void cluster.loop.thrown.push(error);
  process.on('uncaughtException', onError);
  process.on('unhandledRejection', onError);
  try {
    for (let node = 0; node < plan.nodes; node += 1) cluster.addNode(`node-${node}`);
    const wrong = await live(cluster, events, plan.long);
    return { seed, events, wrong, digest: cluster.digest, lasted: cluster.loop.now, ran: cluster.loop.ran };
  } finally {
    process.off('uncaughtException', onError);
    process.off('unhandledRejection', onError);
    cluster.leave();
  }
}

function drawEvents(seed: number, plan: ClusterPlan): readonly Event[] {
  if (plan.waits) return drawWaiting(plan, new Random(seed, 1));
  return [...drawHistory(plan, new Random(seed, 1)), ...drawFight(new Random(seed, 4)), ...drawRetained(plan, new Random(seed, 6))];
}

async function live(cluster: Cluster, events: readonly Event[], long: boolean): Promise<readonly string[]> {
  const { loop, api } = cluster;
  let end = 0;
  for (const event of events) {
    loop.at(event.at, undefined, () => perform(cluster, event));
    end = Math.max(end, event.at + ('lasts' in event ? event.lasts : 0));
  }
  await loop.run(end + 1, () => broken(cluster).length > 0);
  // Nothing disturbs from now on.
  api.trouble = CALM;
  api.isDown = false;
  cluster.runsRechecks = false;
  cluster.log('world', 'nothing disturbs any more');
  if (events.some(({ kind }) => kind === 'fight')) {
    cluster.runRechecks();
    await loop.run(loop.now + FIGHT_ENDS, () => broken(cluster).length > 0);
  }
  const impatient = await settled(cluster);
  if (impatient.length > 0) return impatient;
  cluster.log('world', 'pending rechecks run');
  cluster.runRechecks();
  await loop.run(loop.now + (hasContest(cluster) ? FIGHT_ENDS : PATIENCE), () => broken(cluster).length > 0);
  const before = { ...api.counts };
  await loop.run(loop.now + (long ? LONG_QUIET : QUIET), () => broken(cluster).length > 0);
  const lost = [...broken(cluster), ...wrongs(cluster, { patient: true })];
  if (lost.length > 0) return lost;
  // The API server's refusals are retried later and later; their messages, which differ each time, are reported of the Listener and of mounts.
  const reported = (api.counts.refused - before.refused) * (1 + cluster.store.all('podlisteners').length);
  const writes = api.counts.writes - before.writes - reported;
  return writes > 0 ? [`${writes} writes while nothing happens`] : [];
}

/** Whether a Listener reports that something else keeps changing its Service back. */
function hasContest({ store }: Cluster): boolean {
  const conditions = store.all<Listener>('listeners').flatMap(({ status }) => status?.conditions ?? []);
  return conditions.some(({ message }) => CONTEST.test(message));
}

/** Looks again and again, for as long as what failed may take to be tried again. @returns what is wrong for good */
async function settled(cluster: Cluster): Promise<readonly string[]> {
  const { loop } = cluster;
  let wrong: readonly string[] = [];
  for (const pause of LOOKS) {
    await loop.run(loop.now + pause, () => broken(cluster).length > 0);
    wrong = [...broken(cluster), ...wrongs(cluster, { patient: false })];
    const isAtRest = loop.waiting.world + loop.waiting.turn === 0;
    if ((wrong.length === 0 && isAtRest) || broken(cluster).length > 0) return wrong;
  }
  return wrong;
}

/** In any minute but the first. */
function mostInAMinute(times: readonly number[]): number {
  const later = times.filter((at) => at >= (times[0] ?? 0) + MINUTE);
  return Math.max(0, ...later.map((from) => later.filter((at) => at >= from && at < from + MINUTE).length));
}

/** States that cannot be repaired. */
function broken(cluster: Cluster): readonly string[] {
  const { loop, faults, api, store, orphans } = cluster;
  const { writes, refused } = api.counts;
  const most = FEW + FACTOR * (store.writes - writes);
  const spins = writes + refused > most ? [`${writes} writes and ${refused} refused ones, for ${store.writes} changes in all`] : [];
  const mostOrphans = Math.max(0, ...orphans.values());
  const fights = [...api.fights].flatMap(([id, times]) => {
    const count = mostInAMinute(times);
    return count > MOST_REPAIRS ? [`${count} writes of ${id} in a minute, while something changes it back`] : [];
  });
  const past = mostOrphans > MOST_ORPHANS ? [`${mostOrphans} Services were created for one Listener that is gone`] : [];
  return [
    ...faults,
    ...cluster.mishaps,
    ...spins,
    ...past,
    ...fights,
    ...cluster.late,
    ...loop.thrown.map((error) => `thrown: ${error instanceof Error ? error.stack : String(error)}`),
  ];
}
