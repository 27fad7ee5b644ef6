/** Events of a world: drawn from its seed, as plain data, so that a part can be tried alone. */
import type { DiskTrouble } from './disk.ts';
import type { SlowPaths, WorldPlan } from './plan.ts';
import type { Random } from './random.ts';
import type { Manner } from './shaker.ts';
import { PRETENCES, type Pretence } from './unauthenticated-client.ts';
import { HEADER_BYTES, type Part, type Reading, type Talk } from './traffic.ts';

export type Happening =
  /** Clients come to a listener, one after the other. */
  | { readonly kind: 'talk'; readonly site: number; readonly key: number; readonly talks: readonly Talk[] }
  /** Clients come to the world's visitor. */
  | { readonly kind: 'visit'; readonly key: number; readonly talks: readonly Talk[] }
  /** The machine of the visitor loses its power. */
  | { readonly kind: 'lose-visitor' }
  /** Some who have no certificate come to an access, and stay for as long as they may. */
  | {
      readonly kind: 'unauthenticated';
      readonly site: number;
      readonly role: 'inter-router' | 'edge';
      readonly pretences: readonly Pretence[];
    }
  /** A router has no file descriptors left for more connections. */
  | { readonly kind: 'starve'; readonly site: number; readonly lasts: number }
  | { readonly kind: 'leave'; readonly talk: number; readonly end: 'client' | 'server'; readonly how: 'reset' | 'close' }
  /** Nothing passes between two machines for a while, or nothing to one of them. */
  | { readonly kind: 'hold'; readonly one: number; readonly other: number; readonly lasts: number; readonly deaf?: number }
  /** The same of the connections that they have: new ones work. TCP waits before it sends again, as after a pause. */
  | { readonly kind: 'stall'; readonly one: number; readonly other: number; readonly lasts: number; readonly isOneWay: boolean }
  /** Nothing passes between two machines ever again. */
  | { readonly kind: 'part'; readonly one: number; readonly other: number }
  /** A machine loses its power, and is an hour behind when it is back. */
  | { readonly kind: 'step-back'; readonly site: number; readonly lasts: number }
  /** All connections between two machines are reset. */
  | { readonly kind: 'cut'; readonly one: number; readonly other: number }
  | { readonly kind: 'kill'; readonly site: number; readonly how: 'process' | 'power' | 'drain'; readonly lasts: number }
  /** The dialing end of a link shows a new certificate from now on. */
  | { readonly kind: 'renew-link'; readonly link: string }
  | { readonly kind: 'renew-access'; readonly site: number }
  /** No link to it is accepted. */
  | { readonly kind: 'access'; readonly site: number; readonly lasts: number }
  /** A client with the certificate of a link comes, and comes again to resume its session. */
  | { readonly kind: 'revisit'; readonly link: string; readonly pause: number }
  /** A router shows its sibling a new certificate. */
  | { readonly kind: 'renew-siblings'; readonly site: number }
  /** The dialing end shows one that ends so many seconds after the world's begin. */
  | { readonly kind: 'end-certificate'; readonly link: string; readonly seconds: number }
  /** A request to renew a link's certificate now. */
  | { readonly kind: 'ask-renewal'; readonly link: string }
  /** A site's disk is slow, or full. */
  | { readonly kind: 'disk'; readonly site: number; readonly trouble: DiskTrouble; readonly lasts: number }
  | { readonly kind: 'delete-link'; readonly link: string; readonly lasts: number }
  | { readonly kind: 'change-cost'; readonly link: string; readonly cost: number }
  | { readonly kind: 'revoke'; readonly by: number; readonly site: number; readonly what: 'site' | 'serial'; readonly lasts: number }
  | { readonly kind: 'listener'; readonly site: number; readonly key: number; readonly lasts: number }
  | { readonly kind: 'connector'; readonly site: number; readonly key: number; readonly lasts: number }
  | { readonly kind: 'server'; readonly site: number; readonly key: number; readonly lasts: number }
  /** It says no longer that it is an edge site, to which it was let in as one. */
  | { readonly kind: 'no-edge'; readonly site: number; readonly lasts: number }
  /** It takes links, and ends their routing streams as soon as they are made; then it is replaced by one that works. */
  | { readonly kind: 'rude'; readonly site: number; readonly lasts: number }
  /** It is reached somewhere else from now on, and for a while where it was. */
  | { readonly kind: 'move'; readonly site: number; readonly lasts: number }
  /** A router says that it leaves, and does so a while later. */
  | { readonly kind: 'retire'; readonly site: number; readonly pause: number; readonly lasts: number }
  /** A process stands still: its machine has other work to do. */
  | { readonly kind: 'freeze'; readonly site: number; readonly lasts: number }
  /** A wall clock runs fast for a while. */
  | { readonly kind: 'clock'; readonly site: number; readonly rate: number; readonly lasts: number };

export type Event = Happening & { readonly at: number };

/** It lasts to the end. */
export const ENDLESS = -1;
/** Milliseconds between two clients of one crowd. */
export const APART = 5;
/** Milliseconds that a sender takes at most. */
const LONGEST = 2_000;
/** Milliseconds in which all of it begins, after the links have come up. */
const SPAN = 3_000;

export function drawHistory(plan: WorldPlan, random: Random): Event[] {
  if (plan.slowPaths !== undefined) return drawSlowHistory(plan, plan.slowPaths, random);
  const events: Event[] = [];
  const talkers = { next: 1 };
  const groups = random.int(2, 8);
  for (let group = 0; group < groups; group += 1) events.push(...talks(plan, random, talkers, group === 0 && random.chance(0.25)));
  const [site, key] = [random.int(0, plan.sites.length - 1), random.int(0, plan.keys - 1)];
  if (random.chance(0.7)) events.push({ at: 0, kind: 'talk', site, key, talks: [patient(talkers.next++, random)] });
  const mood = drawMood(plan, random);
  const disturbances = random.pick([0, 1, 2, 3, 5, 8]);
  for (let number = 0; number < disturbances; number += 1) {
    const happening = disturbance(plan, mood, random);
    if (happening !== undefined) events.push({ at: random.int(0, SPAN), ...happening });
  }
  if (random.chance(0.3)) events.push(...pair(plan, mood, random));
  const guest = plan.sites.findIndex(({ edge }) => edge);
  if (guest !== -1 && random.chance(0.4)) events.push({ at: random.int(0, SPAN / 2), kind: 'no-edge', site: guest, lasts: SPAN });
  events.push(...siblings(plan, random));
  // Last, so that all worlds without are what they were.
  if (plan.tls.listeners.length > 0) secure(plan, events, talkers, random);
  events.push(...accesses(plan, random), ...moves(plan, random), ...pauses(plan, events, random), ...estranged(plan, talkers, random));
  deafen(events, random);
  events.push(...visits(plan, talkers, random), ...crowds(plan, random), ...rushes(plan, talkers, random));
  events.push(...renewals(plan, random));
  return events.sort((one, other) => one.at - other.at);
}

/** Milliseconds: a pause of 10 s, after which TCP may wait as long again before it goes on. */
const [LONGEST_PAUSE, BETWEEN_PAUSES] = [20_000, 8_000];

/** Clients that stay for a minute, while nothing passes now and then. Then, perhaps, nothing ever passes again. */
function drawSlowHistory(plan: WorldPlan, { part }: SlowPaths, random: Random): Event[] {
  const talkers = { next: 1 };
  const events: Event[] = [];
  for (let group = random.int(1, 4); group > 0; group -= 1) events.push(...talks(plan, random, talkers, false));
  for (const [site, { listeners }] of plan.sites.entries()) {
    const key = random.pick(listeners);
    if (key === undefined) continue;
    events.push({ at: random.int(0, SPAN), kind: 'talk', site, key, talks: [lasting(talkers.next++, random)] });
  }
  for (const { from: one, to: other } of plan.links) {
    let at = random.int(0, SPAN);
    for (let left = random.int(0, 2); left > 0; left -= 1) {
      const lasts = random.scaled(500, LONGEST_PAUSE);
      events.push({ at, kind: 'hold', one, other, lasts });
      at += lasts + BETWEEN_PAUSES + random.int(0, SPAN);
    }
  }
  if (random.chance(0.3)) events.push(...pausesInRow(plan, talkers, random));
  const link = part ? random.pick(plan.links) : undefined;
  if (link !== undefined) events.push({ at: SPAN + random.int(0, 30_000), kind: 'part', one: link.from, other: link.to });
  return events.sort((one, other) => one.at - other.at);
}

function lasting(id: number, random: Random): Talk {
  const client: Part = { sends: random.scaled(10_000, 40_000), chunk: 1_000, pause: 1_500, ends: false, reads: { kind: 'all' } };
  return { id, client, server: { ...client, sends: 'echo', pause: 0 } };
}

/** The open streams of a link stall again and again, and each time clients come that stay. */
function pausesInRow({ links: drawn, sites }: WorldPlan, talkers: { next: number }, random: Random): Event[] {
  const link = random.pick(drawn);
  if (link === undefined) return [];
  const { from: one, to: other } = link;
  const asking = [one, other].flatMap((site) => {
    const { listeners = [], connectors = [] } = sites[site] ?? {};
    return listeners.filter((key) => !connectors.includes(key)).map((key) => ({ site, key }));
  });
  const events: Event[] = [];
  let at = SPAN;
  for (let left = random.int(3, 20); left > 0; left -= 1) {
    const lasts = random.int(3_000, 10_000);
    events.push({ at, kind: 'stall', one, other, lasts, isOneWay: random.chance(0.3) });
    for (const client of asking)
      events.push({ at: at + random.int(1_000, lasts), kind: 'talk', ...client, talks: [lasting(talkers.next++, random)] });
    at += lasts + random.int(500, 4_000);
  }
  return events;
}

/** Routers that leave in order, stand still or come back in the past, and machines between which nothing passes any more. */
function pauses(plan: WorldPlan, others: readonly Event[], random: Random): Event[] {
  const drawn = random.unit();
  const [at, site] = [random.int(0, SPAN), random.int(0, plan.sites.length - 1)];
  if (drawn < 0.1) return [{ at, kind: 'retire', site, pause: random.scaled(10, 2_000), lasts: random.scaled(50, 3_000) }];
  if (drawn < 0.25) return [{ at, kind: 'freeze', site, lasts: random.scaled(200, 8_000) }];
  // By a clock that is an hour behind no certificate ends while the world lasts.
  const isEnding =
    plan.renewal !== undefined ||
    others.some(({ kind }) => kind === 'end-certificate') ||
    plan.sites.some(({ sibling }) => sibling?.ends !== undefined);
  if (drawn < 0.3) {
    const [key, lasts] = [random.int(0, plan.keys - 1), random.scaled(50, 3_000)];
    // Its announcements by the fast clock are outdated.
    const changed: Event = { at: at + lasts + random.int(0, 1_000), kind: 'connector', site, key, lasts: ENDLESS };
    return isEnding ? [] : [{ at, kind: 'step-back', site, lasts }, changed];
  }
  const link = drawn < 0.37 ? random.pick(plan.links) : undefined;
  return link === undefined ? [] : [{ at, kind: 'part', one: link.from, other: link.to }];
}

/** Many clients who are served quickly, or are gone before they are. */
function rushes(plan: WorldPlan, talkers: { next: number }, random: Random): Event[] {
  const site = random.int(0, plan.sites.length - 1);
  const key = random.pick(plan.sites[site]?.listeners ?? []);
  if (key === undefined || random.chance(0.9)) return [];
  const at = random.int(0, SPAN);
  const part: Part = { sends: HEADER_BYTES, chunk: 100, pause: 0, ends: true, reads: { kind: 'all' } };
  const created = Array.from({ length: random.int(30, 90) }, (): Talk => ({ id: talkers.next++, client: part, server: part }));
  const leaving = random.chance(0.6) ? created : [];
  const left = leaving.map(({ id }, number): Event => {
    return { at: at + number * APART + random.scaled(1, 12), kind: 'leave', talk: id, end: 'client', how: 'reset' };
  });
  return [{ at, kind: 'talk', site, key, talks: created }, ...left];
}

/** Unauthenticated clients at an access, and routers that cannot admit any. */
function crowds(plan: WorldPlan, random: Random): Event[] {
  const [drawn, at, site] = [random.unit(), random.int(0, SPAN), random.int(0, plan.sites.length - 1)];
  const pretences = Array.from({ length: random.scaled(1, 40) }, () => random.pick(PRETENCES));
  const events: Event[] = [];
  if (drawn < 0.08) events.push({ at, kind: 'unauthenticated', site, role: random.pick(['inter-router', 'edge']), pretences });
  if (drawn > 0.05 && drawn < 0.12) events.push({ at: random.int(0, SPAN), kind: 'starve', site, lasts: random.scaled(50, 4_000) });
  return events;
}

/** About when a link's certificate is due, something happens to it, to its requester or to its signer. */
function renewals({ renewal, links }: WorldPlan, random: Random): Event[] {
  if (renewal === undefined) return [];
  const { ends, lifetime } = renewal;
  return links.flatMap(({ name: link, from, to }): Event[] => {
    const end = ends[link];
    if (end === undefined || random.chance(0.4)) return [];
    // From the world's begin on: it takes half a second, mostly, until all links are up.
    const at = Math.max(0, (end - lifetime / 2) * 1_000 - 500 + random.int(-300, 600));
    const lasts = random.scaled(50, 3_000);
    const site = random.pick([from, to]);
    const troubles: readonly Happening[] = [
      { kind: 'ask-renewal', link },
      { kind: 'disk', site, trouble: random.pick(['slow', 'slow', 'full']), lasts },
      { kind: 'revoke', by: to, site: from, what: random.pick(['site', 'serial']), lasts: random.chance(0.5) ? ENDLESS : lasts },
      { kind: 'cut', one: from, other: to },
      { kind: 'hold', one: from, other: to, lasts },
      { kind: 'kill', site, how: random.pick(['process', 'power', 'drain']), lasts },
      { kind: 'freeze', site, lasts },
      { kind: 'delete-link', link, lasts: random.chance(0.3) ? ENDLESS : lasts },
      { kind: 'renew-link', link },
      { kind: 'renew-access', site: to },
      { kind: 'change-cost', link, cost: random.int(1, 5) },
    ];
    const later = (): number => at + random.int(0, 300);
    if (random.chance(0.2)) {
      // The requester is answered, once the answer can be recorded.
      const trouble = random.pick(['slow', 'full'] as const);
      return [
        { at, kind: 'disk', site: from, trouble, lasts },
        { at: later(), kind: 'ask-renewal', link },
      ];
    }
    if (random.chance(0.2)) {
      // It is being signed.
      const revoked = {
        kind: 'revoke',
        by: to,
        site: from,
        what: random.pick(['site', 'serial', 'serial'] as const),
        lasts: ENDLESS,
      } as const;
      return [
        { at, kind: 'disk', site: to, trouble: 'slow', lasts: 2_000 },
        { at: at + random.int(300, 1_500), ...revoked },
      ];
    }
    return Array.from({ length: random.pick([1, 1, 2]) }, () => ({ at: later(), ...random.pick(troubles as [Happening]) }));
  });
}

/** Clients of the visitor, and events at their destinations. */
function visits(plan: WorldPlan, talkers: { next: number }, random: Random): Event[] {
  const link = plan.links.find(({ name }) => name === plan.visitor);
  if (link === undefined) return [];
  const { name, from, to: site } = link;
  const at = random.int(0, SPAN);
  const lasts = random.chance(0.5) ? ENDLESS : random.scaled(50, 5_000);
  const groups = Array.from({ length: random.int(1, 4) }, (): Event => {
    const created = Array.from({ length: random.int(1, 3) }, () => drawTalk(talkers.next++, random, false));
    const patients = random.chance(0.5) ? [patient(talkers.next++, random)] : [];
    return { at: random.int(0, SPAN), kind: 'visit', key: random.int(0, plan.keys - 1), talks: [...created, ...patients] };
  });
  const troubles: readonly Happening[] = [
    { kind: 'lose-visitor' },
    { kind: 'revoke', by: site, site: from, what: random.pick(['site', 'serial']), lasts },
    { kind: 'revoke', by: random.int(0, plan.sites.length - 1), site: random.pick([from, site]), what: 'site', lasts },
    { kind: 'access', site, lasts },
    { kind: 'renew-access', site },
    { kind: 'renew-link', link: name },
    { kind: 'kill', site, how: random.pick(['process', 'power', 'drain']), lasts: random.scaled(50, 3_000) },
  ];
  const trouble = random.chance(0.7) ? random.pick(troubles) : undefined;
  return trouble === undefined ? groups : [...groups, { at, ...trouble }];
}

/** Lets one of two partitioned machines still receive the other's packets. */
function deafen(events: Event[], random: Random): void {
  for (const [number, event] of events.entries())
    if (event.kind === 'hold' && random.chance(0.4)) events[number] = { ...event, deaf: random.chance(0.5) ? event.one : event.other };
}

/** On a connection that passes two sites at least, one site revokes another to which it has no link. */
function estranged(plan: WorldPlan, talkers: { next: number }, random: Random): Event[] {
  const wanted = plan.sites.flatMap(({ listeners }, site) => listeners.map((key) => ({ site, key })));
  const far = wanted.flatMap(({ site, key }) => {
    const way = wayTo(plan, site, (other) => plan.sites[other]?.connectors.includes(key) === true);
    return way.length > 3 ? [{ site, key, way }] : [];
  });
  const chosen = random.pick(far);
  if (chosen === undefined || random.chance(0.5)) return [];
  const { site, key, way } = chosen;
  const at = random.int(500, SPAN);
  const [revoked = site, , by = site] = random.chance(0.5) ? way : way.toReversed();
  return [
    { at: at - 400, kind: 'talk', site, key, talks: [patient(talkers.next++, random)] },
    { at, kind: 'revoke', by, site: revoked, what: 'site', lasts: random.chance(0.7) ? ENDLESS : random.scaled(50, 5_000) },
  ];
}

/** The sites from one to the nearest matching one, both included; empty without any. */
function wayTo({ links }: WorldPlan, from: number, isMeant: (site: number) => boolean): readonly number[] {
  const ways = new Map([[from, [from]]]);
  for (const [last, way] of ways) {
    if (isMeant(last)) return way;
    for (const { from: one, to: other } of links)
      for (const next of one === last ? [other] : other === last ? [one] : []) if (!ways.has(next)) ways.set(next, [...way, next]);
  }
  return [];
}

/** Certificates by which routers of one site know each other are replaced: those that end, and now and then others. */
function siblings(plan: WorldPlan, random: Random): Event[] {
  return plan.sites.flatMap(({ sibling }, site): Event[] =>
    sibling !== undefined && (sibling.ends !== undefined || random.chance(0.5))
      ? [{ at: random.int(0, SPAN), kind: 'renew-siblings', site }]
      : [],
  );
}

/** Some clients of listeners with TLS are slow, and some of their destinations disappear during the handshake. */
function secure(plan: WorldPlan, events: Event[], talkers: { next: number }, random: Random): void {
  const { listeners } = plan.tls;
  for (const [number, event] of events.entries()) {
    if (event.kind !== 'talk' || !listeners.includes(event.key)) continue;
    events[number] = { ...event, talks: event.talks.map((talk) => (random.chance(0.3) ? { ...talk, manner: drawManner(random) } : talk)) };
  }
  const among = plan.sites.flatMap((site, index) =>
    site.listeners.filter((key) => listeners.includes(key)).map((key) => ({ site: index, key })),
  );
  const chosen = random.pick(among);
  if (chosen === undefined || random.chance(0.4)) return;
  const at = random.int(0, SPAN);
  const created = Array.from({ length: random.int(2, 6) }, (): Talk => {
    const manner: Manner = { before: random.pick(['first', 'last']), pause: random.scaled(10, 400) };
    return { ...drawTalk(talkers.next++, random, false), manner };
  });
  events.push({ at, kind: 'talk', ...chosen, talks: created });
  const goes = { at: at + random.scaled(5, 300), lasts: random.scaled(50, 2_000), key: chosen.key };
  if (random.chance(0.4)) events.push({ ...goes, kind: 'listener', site: chosen.site });
  else
    for (const [site, { connectors }] of plan.sites.entries())
      if (connectors.includes(chosen.key)) events.push({ ...goes, kind: 'connector', site });
}

/** Milliseconds after which what a link has left has mostly gone. */
const AWAY = 300;

/** An access goes while a link is being made to it, or is renewed and visited. */
function accesses(plan: WorldPlan, random: Random): Event[] {
  const [drawn, at] = [random.unit(), random.int(0, SPAN)];
  const link = random.pick(plan.links);
  if (link === undefined || drawn > 0.3) return [];
  const { name, to: site } = link;
  if (drawn < 0.15)
    return [
      { at, kind: 'renew-access', site },
      { at: at + random.int(1, 500), kind: 'revisit', link: name, pause: random.int(50, 1_000) },
    ];
  const lasts = random.chance(0.6) ? ENDLESS : random.scaled(50, 5_000);
  return [
    { at, kind: 'delete-link', link: name, lasts: AWAY },
    { at: at + AWAY + random.scaled(1, 100), kind: 'access', site, lasts },
  ];
}

/** Sites that may move do so once or twice. */
function moves(plan: WorldPlan, random: Random): Event[] {
  return plan.sites.flatMap(({ moves: isMoving }, site): Event[] =>
    isMoving === true
      ? Array.from({ length: random.pick([1, 1, 2]) }, () => {
          const lasts = random.chance(0.5) ? ENDLESS : random.scaled(1, 5_000);
          return { at: random.int(0, SPAN), kind: 'move', site, lasts };
        })
      : [],
  );
}

const drawManner = (random: Random): Manner => ({
  before: random.pick(['first', 'last']),
  pause: random.chance(0.15) ? 'ever' : random.scaled(1, 5_000),
});

function talks(plan: WorldPlan, random: Random, talkers: { next: number }, isCrowd: boolean): Event[] {
  const site = random.int(0, plan.sites.length - 1);
  const key = random.pick(plan.sites[site]?.listeners ?? []);
  if (key === undefined) return [];
  const at = random.int(0, SPAN);
  const count = isCrowd ? random.int(8, 30) : random.int(1, 3);
  const created: Talk[] = Array.from({ length: count }, () => drawTalk(talkers.next++, random, isCrowd));
  const leaving = created
    .filter(() => random.chance(0.3))
    .map(({ id }): Event => {
      const end = random.chance(0.6) ? 'client' : 'server';
      return { at: at + random.scaled(1, 4_000), kind: 'leave', talk: id, end, how: random.chance(0.6) ? 'reset' : 'close' };
    });
  const talk: Event = { at, kind: 'talk', site, key, talks: created };
  if (!isCrowd) return [talk, ...leaving];
  // An earlier client that continues.
  const before: Event = { at: Math.max(0, at - 500), kind: 'talk', site, key, talks: [patient(talkers.next++, random)] };
  return [before, talk, ...leaving];
}

function patient(id: number, random: Random): Talk {
  const part = { chunk: 1_000, pause: 100, ends: false, reads: { kind: 'all' } } as const;
  return { id, client: { ...part, sends: random.scaled(10_000, 40_000) }, server: { ...part, pause: 0, sends: 'echo' } };
}

/** @param isStuck its server reads nothing of what is sent without end */
function drawTalk(id: number, random: Random, isStuck: boolean): Talk {
  if (isStuck) {
    const client: Part = { sends: 400_000, chunk: 65_536, pause: 0, ends: random.chance(0.5), reads: { kind: 'all' } };
    return { id, client, server: { sends: 0, chunk: 1, pause: 0, ends: false, reads: { kind: 'stops', after: HEADER_BYTES } } };
  }
  const client = drawPart(random, false);
  return { id, client, server: drawPart(random, true) };
}

function drawPart(random: Random, isServer: boolean): Part {
  const sends = isServer && random.chance(0.4) ? 'echo' : Math.max(bytes(random), isServer ? 0 : HEADER_BYTES);
  const chunk = random.pick([100, 1_000, 16_384, 65_536]);
  const most = sends === 'echo' ? 0 : (LONGEST * chunk) / Math.max(1, sends);
  return {
    sends,
    chunk,
    pause: random.chance(0.5) ? 0 : Math.min(most, random.scaled(1, 100)),
    ends: random.chance(0.7),
    reads: reading(random),
  };
}

const bytes = (random: Random): number => (random.chance(0.1) ? 0 : random.scaled(8, random.chance(0.15) ? 600_000 : 30_000));

function reading(random: Random): Reading {
  const drawn = random.unit();
  if (drawn < 0.7) return { kind: 'all' };
  if (drawn < 0.85) return { kind: 'slow', bytes: random.scaled(5_000, 65_536), every: random.int(1, 20) };
  return { kind: 'stops', after: random.pick([HEADER_BYTES, random.scaled(HEADER_BYTES, 50_000)]) };
}

/** Disturbances of a world: a few kinds, repeated at the same places, since most mistakes take two that meet. */
interface Mood {
  readonly kinds: readonly Disturbance[];
  readonly site: number;
  readonly link: string;
  /** At no other link. */
  readonly always?: boolean;
}

const DISTURBANCES = [
  'hold',
  'cut',
  'kill',
  'renew-link',
  'renew-access',
  'end-certificate',
  'delete-link',
  'change-cost',
  'revoke',
  'listener',
  'connector',
  'server',
  'clock',
  'no-edge',
  'rude',
] as const satisfies readonly Happening['kind'][];
type Disturbance = (typeof DISTURBANCES)[number];

const OF_LINKS: readonly Disturbance[] = ['hold', 'cut', 'renew-link', 'renew-access', 'end-certificate', 'delete-link', 'change-cost'];

function drawMood(plan: WorldPlan, random: Random): Mood {
  const some = DISTURBANCES.filter(() => random.chance(0.3));
  return {
    kinds: some.length === 0 ? DISTURBANCES : some,
    site: random.int(0, plan.sites.length - 1),
    link: random.pick(plan.links)?.name ?? '',
  };
}

/** Two things that happen to one link, one after the other. */
function pair(plan: WorldPlan, mood: Mood, random: Random): Event[] {
  const at = random.int(0, SPAN);
  return [0, random.scaled(1, 1_500)].flatMap((later) => {
    const happening = disturbance(plan, { ...mood, kinds: OF_LINKS, always: true }, random);
    return happening === undefined ? [] : [{ at: at + later, ...happening }];
  });
}

function disturbance(plan: WorldPlan, mood: Mood, random: Random): Happening | undefined {
  const site = random.chance(0.5) ? mood.site : random.int(0, plan.sites.length - 1);
  const link = mood.always === true || random.chance(0.6) ? plan.links.find(({ name }) => name === mood.link) : random.pick(plan.links);
  const key = random.int(0, plan.keys - 1);
  const lasts = random.scaled(50, 5_000);
  const kind = random.pick(mood.kinds);
  if (link === undefined || kind === undefined) return undefined;
  const { name, from, to } = link;
  switch (kind) {
    case 'hold':
      return { kind, one: from, other: to, lasts };
    case 'cut':
      return { kind, one: from, other: to };
    case 'kill':
      return { kind, site, how: random.pick(['process', 'power', 'drain']), lasts };
    case 'renew-link':
      return { kind, link: name };
    case 'renew-access':
      return { kind, site: to };
    case 'end-certificate':
      return { kind, link: name, seconds: random.int(4, 10) };
    case 'delete-link':
      return { kind, link: name, lasts: random.chance(0.5) ? ENDLESS : lasts };
    case 'change-cost':
      return { kind, link: name, cost: random.int(1, 5) };
    case 'revoke': {
      const by = random.int(0, plan.sites.length - 1);
      return { kind, by, site, what: random.pick(['site', 'serial']), lasts: random.chance(0.5) ? ENDLESS : lasts };
    }
    case 'no-edge':
      return { kind, site: plan.sites.findIndex(({ edge }) => edge), lasts };
    case 'rude':
      return { kind, site: to, lasts };
    case 'clock':
      // Two clocks that are seconds apart do not agree on what is due, of what lasts for ten.
      if (plan.renewal !== undefined) return { kind, site, rate: random.pick([0.2, 5]), lasts: Math.min(lasts, 300) };
      return { kind, site, rate: random.pick([0.2, 5, 20]), lasts };
    default:
      return { kind, site, key, lasts };
  }
}
