/** One seed: its world, its history, and what did not hold. */
import { enter } from './current.ts';
import { drawHistory, type Event } from './history.ts';
import {
  closedPorts,
  costs,
  disagreements,
  endingCertificates,
  inventedKeys,
  leftovers,
  hasConnector,
  reachableFrom,
  remains,
  revokedTalks,
  standstills,
  foreignConnections,
  strayConnections,
  transitOfGuests,
  unaskedResets,
  unlinkedConnections,
  staleVisitors,
  unannounced,
} from './invariants.ts';
import { forgetRead } from './node/read-once.ts';
import { perform } from './perform.ts';
import { drawPlan, type WorldPlan } from './plan.ts';
import { Random } from './random.ts';
import { overdueRenewals, revokedCertificates, unansweredQuestions, watchRenewals } from './renewals.ts';
import type { Site } from './site.ts';
import type { Part, Talker } from './traffic.ts';
import { World } from './world.ts';

export interface Outcome {
  readonly seed: number;
  readonly plan: WorldPlan;
  readonly events: readonly Event[];
  /** Broken invariants, first to last; empty if all hold. */
  readonly wrong: readonly string[];
  readonly digest: number;
  /** Simulated milliseconds, and events of the simulation. */
  readonly lasted: number;
  readonly ran: number;
  readonly talks: number;
}

/** Milliseconds between two looks. */
const LOOK = 200;
/** Numbers of connections that are made to see whether all is well. */
const PROBES_FROM = 1_000_000;

export interface RunOptions {
  /** Instead of those of the seed. */
  readonly events?: readonly Event[];
  readonly onTrace?: (line: string) => void;
}

export async function simulate(seed: number, options: RunOptions = {}): Promise<Outcome> {
  const plan = drawPlan(new Random(seed, 0));
  const events = options.events ?? drawHistory(plan, new Random(seed, 1));
  const world = new World(seed, plan);
  world.onTrace = options.onTrace;
  const onError = (error: unknown): void => void world.loop.thrown.push(error);
  process.on('uncaughtException', onError);
  process.on('unhandledRejection', onError);
  try {
    const wrong = await live(world, events);
    const { now, ran } = world.loop;
    return { seed, plan, events, wrong, digest: world.digest, lasted: now, ran, talks: world.conversations.size };
  } finally {
    process.off('uncaughtException', onError);
    process.off('unhandledRejection', onError);
    enter(undefined);
    forgetRead();
  }
}

async function live(world: World, events: readonly Event[]): Promise<readonly string[]> {
  const { loop } = world;
  watchRenewals(world);
  world.isPeaceful = isPeaceful(world, events);
  const begun = await settled(world, [disagreements, strayConnections]);
  if (begun.length > 0) return begun;
  const start = loop.now;
  let end = start;
  for (const event of events) {
    loop.at(start + event.at, undefined, () => perform(world, event));
    const lasts = ('pause' in event ? event.pause : 0) + ('lasts' in event ? event.lasts : 0);
    end = Math.max(end, start + event.at + Math.max(lasts, 1_100));
  }
  // Connections that began by a certificate continue when that ends.
  if (world.isPeaceful) end = Math.max(end, ...Object.values(world.plan.renewal?.ends ?? {}).map((seconds) => seconds * 1_000 + AFTER_END));
  await loop.run(end, () => loop.thrown.length > 0 || world.faults.length > 0);
  world.heal();
  const quiet = await settled(world, [endingCertificates, ...ALWAYS]);
  if (quiet.length > 0) return quiet;
  if (relocate(world)) {
    const found = await settled(world, ALWAYS);
    if (found.length > 0) return found;
  }
  const isScarce = world.isScarce || isCrowded(world);
  const served = isScarce ? [] : await serves(world);
  if (served.length > 0) return served;
  leave(world);
  const left = await settled(world, [standstills]);
  if (left.length > 0) return left;
  close(world);
  const empty = await settled(world, [leftovers, strayConnections, foreignConnections]);
  if (empty.length > 0) return empty;
  // Scarce resources are plentiful now.
  const servedAtLast = isScarce ? await serves(world) : [];
  if (servedAtLast.length > 0) return servedAtLast;
  for (const site of world.sites) site.drain(0);
  world.stopServers();
  world.visitor?.close();
  for (const endpoint of world.unauthenticated.endpoints) endpoint.reset();
  return settled(world, [remains]);
}

/** Milliseconds after the end of a certificate until all by which something may have begun has been looked at. */
const AFTER_END = 1_500;

/** By which no connection is touched. */
const PEACEFUL: ReadonlySet<Event['kind']> = new Set([
  'talk',
  'visit',
  'leave',
  'renew-link',
  'renew-access',
  'renew-siblings',
  'ask-renewal',
  'change-cost',
]);

const isPeaceful = ({ sites, isScarce, plan }: World, events: readonly Event[]): boolean =>
  !isScarce &&
  plan.priorRevisions === undefined &&
  plan.renewal?.foreign === undefined &&
  events.every(({ kind }) => PEACEFUL.has(kind) || ((kind === 'hold' || kind === 'stall') && plan.slowPaths !== undefined)) &&
  sites.every(({ plan: { lies, slow, sibling } }) => lies === undefined && slow === undefined && sibling === undefined);

/** Invariants of a quiet world. */
const ALWAYS: readonly Invariant[] = [
  disagreements,
  inventedKeys,
  costs,
  closedPorts,
  unannounced,
  standstills,
  unaskedResets,
  revokedTalks,
  transitOfGuests,
  unlinkedConnections,
  staleVisitors,
  revokedCertificates,
  overdueRenewals,
  unansweredQuestions,
];

/** Sites that have moved are where they were no longer, and all their links are cut: the other ends have to find them. @returns whether any has moved */
function relocate(world: World): boolean {
  const moving = world.sites.filter(({ plan }) => plan.moves === true);
  for (const site of moving) {
    site.leaveFormer();
    for (const endpoint of site.machine.endpoints) if (!endpoint.isLoopback) world.sever(endpoint);
  }
  if (moving.length > 0) world.isPeaceful = false;
  // Some have only what they wrote down.
  const callers = world.sites.filter(({ links }) => links.some(({ to }) => world.sites[to]?.plan.moves === true));
  for (const [number, caller] of callers.entries()) if (number % 2 === 0) world.restart(caller);
  return moving.length > 0;
}

/** Looks in a row at which nothing may be wrong: a router that comes back is reached by what it said before it went, and then not, for a moment. */
const LOOKS = 2;

type Invariant = (world: World) => readonly string[];

/** Milliseconds until it holds: two to three times as long as it takes in the slowest of some thousand worlds. */
const PATIENCE = new Map<Invariant, number>([
  [strayConnections, 4_000],
  [revokedTalks, 5_000],
  [revokedCertificates, 5_000],
  [unlinkedConnections, 6_000],
  [staleVisitors, 10_000],
  [disagreements, 8_000],
  [closedPorts, 8_000],
  [unannounced, 8_000],
  [costs, 12_000],
  [endingCertificates, 12_000],
  [leftovers, 15_000],
  [remains, 6_000],
  [foreignConnections, 25_000],
  [standstills, 25_000],
]);
/** A router whose clock ran fast has removed unreachable routers, and gets their unchanged state only when everything is compared. */
const PATIENCE_WITH_CLOCKS = 16_000;
/** With a liar, others have less time for each other; also for checks without a time of their own. */
const LONGEST_PATIENCE = 40_000;

/** If a link takes eight round trips of 3 s to come up, and is given up after 30 s: time to find that, and another path. */
const SLOW_PATIENCE = 90_000;

/** All connections may share one of a link, and a small buffer of the kernel makes that slow. */
function slowPatience(world: World): number {
  return SLOW_PATIENCE + world.network.timeFor(unreceived(world));
}

/** Bytes that are still to be sent or received. */
function unreceived(world: World): number {
  let bytes = 0;
  for (const { talk, client, server } of world.conversations.values()) {
    if (client === undefined || client.gone || server?.gone === true) continue;
    const sends = (one: Part, other: Part): number => (one.sends !== 'echo' ? one.sends : other.sends === 'echo' ? 0 : other.sends);
    bytes += Math.max(0, sends(talk.client, talk.server) - (server?.received ?? 0));
    bytes += Math.max(0, sends(talk.server, talk.client) - client.received);
  }
  return bytes;
}

/** @param slow patience with a world whose paths are slow */
function patienceFor(world: World, invariant: Invariant, slow: number): number {
  // A link that can be renewed no more may just have been.
  const renewed = invariant === endingCertificates ? (world.plan.renewal?.lifetime ?? 0) * 1_000 : 0;
  if (world.plan.slowPaths !== undefined) return slow;
  const patience = world.hasLiar ? LONGEST_PATIENCE : renewed + (PATIENCE.get(invariant) ?? LONGEST_PATIENCE);
  return world.hasHurried ? Math.max(patience, PATIENCE_WITH_CLOCKS) : patience;
}

/** Runs on until nothing is wrong any more. @returns what has been for longer than it may be, without a pause or with some */
async function settled(world: World, invariants: readonly Invariant[]): Promise<readonly string[]> {
  const start = world.loop.now;
  /** When it held last: now and then a client comes and is refused. */
  const held = new Map<Invariant, number>();
  let left = LOOKS;
  const slow = slowPatience(world);
  const longest = world.plan.slowPaths === undefined ? LONGEST_PATIENCE : slow;
  for (;;) {
    await world.loop.run(world.loop.now + LOOK, () => world.loop.thrown.length > 0);
    const lost = broken(world);
    if (lost.length > 0) return lost;
    const { now } = world.loop;
    const wrong = invariants.map((invariant) => ({ invariant, what: invariant(world) })).filter(({ what }) => what.length > 0);
    for (const invariant of invariants) if (!wrong.some((one) => one.invariant === invariant)) held.set(invariant, now);
    left = wrong.length === 0 ? left - 1 : LOOKS;
    if (left === 0) return [];
    const isLate = (invariant: Invariant): boolean =>
      now - (held.get(invariant) ?? start) >= patienceFor(world, invariant, slow) || now - start >= longest;
    const late = wrong.flatMap(({ invariant, what }) => (isLate(invariant) ? what : []));
    if (late.length > 0) return late;
  }
}

/** States that cannot be repaired. */
function broken({ loop, faults }: World): readonly string[] {
  return [...faults, ...loop.thrown.map((error) => `thrown: ${error instanceof Error ? error.stack : String(error)}`)];
}

/**
 * A liar may be on the shortest path, and be cut off while a client is served. A link may just be renewed that keeps nothing of its earlier
 * certificate, or a standard client may come to a router that has just drained: another try is served then.
 */
const TRIES = 3;
/** Milliseconds: a try lasts for as long as it takes until certificates are renewed some times, so that the next would meet a renewal where this one did. */
const BETWEEN_TRIES = 1_700;

async function serves(world: World): Promise<readonly string[]> {
  world.isOver = false;
  const { priorRevisions, visitor } = world.plan;
  const tries = world.hasLiar || priorRevisions !== undefined || visitor !== undefined ? TRIES : 1;
  for (let tried = 1; ; tried += 1) {
    const first = PROBES_FROM * tried;
    probe(world, first);
    const wrong = await settled(world, [() => unserved(world, first), standstills]);
    if (wrong.length === 0 || tried === tries || broken(world).length > 0) return wrong;
    await world.loop.run(world.loop.now + BETWEEN_TRIES, () => world.loop.thrown.length > 0);
  }
}

/** Each listener that has somewhere to go is asked once. */
function probe(world: World, first: number): void {
  let id = first;
  for (const site of world.sites) {
    if (site.router === undefined) continue;
    if (mayBeRefused(world, site)) continue;
    const reachable = [...reachableFrom(world, site)];
    for (const key of site.listeners) {
      const keys = site.keysOf(key);
      if (!keys.some((one) => hasConnector(reachable, one)) || keys.some((one) => mayBeMisled(world, site, one))) continue;
      world.talk(site, key, { id, ...PROBE });
      id += 1;
    }
  }
  probeVisitor(world, id);
}

/** A client of an admitted visitor is served as well. */
function probeVisitor(world: World, id: number): void {
  const { visitor } = world;
  if (visitor === undefined) return;
  const { site, to } = visitor;
  const isRevoked = world.sites.some(({ revokedSites, revokedSerials }) => revokedSites.has(site.id) || revokedSerials.size > 0);
  // An edge site passes on nothing of others.
  if (to.router === undefined || to.plan.edge || !to.access.isWanted || isRevoked || mayBeRefused(world, to)) return;
  const key = [...reachableFrom(world, to)].flatMap(({ connectors }) => [...connectors]).find((one) => !mayBeMisled(world, to, one));
  if (key !== undefined) world.talk(to, key, { id, ...PROBE }, visitor);
}

const PART = { chunk: 1_000, pause: 0, ends: true, reads: { kind: 'all' } } as const;
const PROBE = { client: { ...PART, sends: 3_000 }, server: { ...PART, sends: 'echo' } } as const;

/** A site on the path has revoked another that may be on it: a router does not know the revocations of others. */
function mayBeRefused(world: World, site: Site): boolean {
  const reachable = [...reachableFrom(world, site, true)];
  return reachable.some(({ id, revokedSites }) => id !== site.id && reachable.some((other) => revokedSites.has(other.id)));
}

/** A liar knows the site with that key, or is that site. */
function mayBeMisled(world: World, site: Site, key: number): boolean {
  const isHonest = (one: Site): boolean => one.plan.lies !== true;
  if (world.sites.every(isHonest)) return false;
  const reachable = reachableFrom(world, site);
  return !isHonest(site) || !world.sites.every((other) => !other.connectors.has(key) || (isHonest(other) && reachable.has(other)));
}

/** Connections of one listener that may use all that it gets of a link: no other client is served by it until some have ended. */
const MANY = 16;

function isCrowded(world: World): boolean {
  const isHere = (one: Talker | undefined): boolean => one !== undefined && !one.gone && !one.endpoint.over;
  const open = [...world.conversations.values()].filter(({ client, server }) => isHere(client) && isHere(server));
  const ofListeners = Map.groupBy(open, ({ site, key }) => `${world.sites[site]?.id} ${key}`);
  return ofListeners.values().some(({ length }) => length >= MANY);
}

function unserved(world: World, first: number): string[] {
  return [...world.conversations.values()].flatMap(({ talk, site, key, client }) =>
    talk.id < first || (client?.sawEnd === true && client.received === 3_000)
      ? []
      : [`a client of site-${site} gets no answer for key-${key}`],
  );
}

/** One end of each remaining connection leaves: silently, or by a reset. */
function leave(world: World): void {
  for (const { talk, client, server } of world.conversations.values()) {
    const [one, other] = talk.id % 2 === 0 ? [client, server] : [server, client];
    const leaving = one !== undefined && !one.gone ? one : other;
    leaving?.leave('reset');
  }
}

/** Remaining ends leave too, as do ends that meet only now. */
function close(world: World): void {
  world.isOver = true;
  for (const { client, server } of world.conversations.values()) for (const end of [client, server]) end?.leave('close');
  world.visitor?.leave();
}
