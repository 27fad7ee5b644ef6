import { APART, ENDLESS, type Happening } from './history.ts';
import { hostOf } from './certificates.ts';
import { createSecureContext, type SecureContext } from './node/secure-context.ts';
import { beRude } from './rude.ts';
import { PROMPT, Shaker } from './shaker.ts';
import type { Site } from './site.ts';
import { intrude } from './unauthenticated-client.ts';
import type { Conversation, World } from './world.ts';

/** Milliseconds that a router may take to drain. */
const DRAIN = 500;
const HOUR = 3_600_000;

/** Lets it happen, now. What lasts a while is undone after that. */
export function perform(world: World, happening: Happening): void {
  const { loop, network, sites } = world;
  const after = (milliseconds: number, run: () => void): void => {
    if (milliseconds !== ENDLESS) loop.after(milliseconds, undefined, run);
  };
  const site = 'site' in happening ? sites[happening.site] : undefined;
  switch (happening.kind) {
    case 'talk':
    case 'visit': {
      const visitor = happening.kind === 'visit' ? world.visitor : undefined;
      const to = visitor?.to ?? site;
      if (to === undefined) break;
      for (const [number, talk] of happening.talks.entries()) after(number * APART, () => world.talk(to, happening.key, talk, visitor));
      break;
    }
    case 'unauthenticated':
      if (site !== undefined)
        for (const pretence of happening.pretences)
          intrude(world.unauthenticated, site.machine.host, site.portOf(happening.role), pretence);
      break;
    case 'starve':
      if (site === undefined) break;
      site.machine.isStarved = true;
      after(happening.lasts, () => {
        site.machine.isStarved = false;
      });
      break;
    case 'lose-visitor':
      if (world.visitor !== undefined) world.loseVisitor(world.visitor);
      break;
    case 'leave':
      leave(world.conversations.get(happening.talk), happening.end, happening.how);
      break;
    case 'stall':
      between(sites[happening.one], sites[happening.other], (one, other) => {
        const path = network.path(one.machine, other.machine);
        const ofPair = [...one.machine.endpoints].filter(({ peer }) => peer.machine.host === other.machine.host);
        path.stall(ofPair.flatMap((endpoint) => (happening.isOneWay ? [endpoint] : [endpoint, endpoint.peer])));
        after(happening.lasts, () => path.release());
      });
      break;
    case 'hold':
    case 'part':
    case 'cut':
      between(sites[happening.one], sites[happening.other], (one, other) => {
        if (happening.kind === 'cut') {
          for (const endpoint of one.machine.endpoints) if (endpoint.peer.machine.host === other.machine.host) world.sever(endpoint);
          return;
        }
        const path = network.path(one.machine, other.machine);
        if (happening.kind === 'part') {
          path.end();
          return;
        }
        const deaf = [one, other].filter(({ index }) => happening.deaf === undefined || happening.deaf === index);
        path.hold(deaf.map(({ machine }) => machine));
        after(happening.lasts, () => path.release());
      });
      break;
    case 'kill':
      if (site?.router === undefined) break;
      world.kill(site, happening.how, DRAIN);
      after(Math.max(happening.lasts, happening.how === 'drain' ? 2 * DRAIN : 0), () => {
        world.setPower(site, true);
        for (const one of [site, site.mate]) one?.start();
      });
      break;
    case 'renew-link':
    case 'end-certificate':
    case 'delete-link':
    case 'ask-renewal':
    case 'change-cost':
      changeLink(world, happening, after);
      break;
    case 'renew-access':
      if (site === undefined) break;
      site.access.generation += 1;
      site.apply();
      break;
    case 'access':
      if (site === undefined) break;
      setAccess(site, false);
      after(happening.lasts, () => setAccess(site, true));
      break;
    case 'revisit':
      visit(world, happening.link, (context) => {
        if (context !== undefined) after(happening.pause, () => visit(world, happening.link, () => {}, context));
      });
      break;
    case 'disk': {
      if (site === undefined) break;
      const { disk } = site;
      disk.trouble = happening.trouble;
      after(happening.lasts, () => {
        disk.trouble = undefined;
      });
      break;
    }
    case 'renew-siblings':
      if (site === undefined) break;
      site.siblingGeneration += 1;
      site.siblingEnds = undefined;
      site.apply();
      break;
    case 'revoke':
      if (site !== undefined) revoke(world, sites[happening.by], site, happening.what, (undo) => after(happening.lasts, undo));
      break;
    case 'listener':
    case 'connector':
      if (site !== undefined)
        toggle(site, happening.kind === 'listener' ? site.listeners : site.connectors, happening.key, happening.lasts, after);
      break;
    case 'server':
      if (site === undefined) break;
      world.stopServing(site, happening.key);
      after(happening.lasts, () => world.serve(site, happening.key));
      break;
    case 'no-edge':
      if (site?.isGuest === true) {
        setEdge(site, false);
        after(happening.lasts, () => setEdge(site, true));
      }
      break;
    case 'rude':
      if (site?.router !== undefined) beRude(world, site, site.router, happening.lasts);
      break;
    case 'step-back':
      if (site === undefined) break;
      perform(world, { kind: 'kill', site: happening.site, how: 'power', lasts: happening.lasts });
      site.machine.clock.ahead -= HOUR;
      break;
    case 'retire':
      site?.leave();
      after(happening.pause, () => perform(world, { kind: 'kill', site: happening.site, how: 'drain', lasts: happening.lasts }));
      break;
    case 'freeze':
      // Work that was postponed until then stays so.
      if (site !== undefined) site.machine.busyUntil = Math.max(site.machine.busyUntil, loop.now + happening.lasts);
      break;
    case 'move':
      site?.move();
      after(happening.lasts, () => site?.leaveFormer());
      break;
    case 'clock':
      if (site === undefined) break;
      world.setClock(site, happening.rate);
      after(happening.lasts, () => world.setClock(site, 1));
  }
}

function leave(conversation: Conversation | undefined, end: 'client' | 'server', how: 'reset' | 'close'): void {
  if (conversation === undefined) return;
  conversation.isLeft = true;
  if (end === 'client') conversation.shaker?.leave(how);
  conversation[end]?.leave(how);
}

function between(one: Site | undefined, other: Site | undefined, run: (one: Site, other: Site) => void): void {
  if (one !== undefined && other !== undefined && one !== other) run(one, other);
}

type LinkChange = Extract<Happening, { readonly link: string }>;

function changeLink(world: World, happening: LinkChange, after: (milliseconds: number, run: () => void) => void): void {
  const found = world.link(happening.link);
  if (found === undefined) return;
  const { site, link } = found;
  const { renewal } = world.plan;
  const to = world.sites[link.to];
  const isRenewed = site.disk.bundles.has(link.name);
  const asked = site.agent === undefined ? (site.mate ?? site) : site;
  switch (happening.kind) {
    case 'ask-renewal':
      if (isRenewed) site.disk.asked.set(link.name, { number: (site.disk.asked.get(link.name)?.number ?? 0) + 1 });
      // In a turn of its own process, which may stand still.
      world.loop.soon(asked.machine, () => asked.agent?.request());
      return;
    case 'renew-link':
      if (isRenewed && renewal !== undefined && to !== undefined) {
        site.giveBundle(link, to, Math.floor(world.loop.now / 1_000) + renewal.lifetime);
        break;
      }
      link.generation += 1;
      link.ends = undefined;
      break;
    case 'end-certificate':
      if (isRenewed && to !== undefined) site.giveBundle(link, to, happening.seconds);
      else link.ends = happening.seconds;
      break;
    case 'change-cost':
      link.desiredCost = happening.cost;
      break;
    case 'delete-link':
      link.deleted = true;
      site.forget(link);
      after(happening.lasts, () => {
        link.deleted = false;
        site.apply();
      });
  }
  site.apply();
}

function revoke(world: World, by: Site | undefined, site: Site, what: 'site' | 'serial', after: (undo: () => void) => void): void {
  if (by === undefined || by.id === site.id) return;
  // All routers of a site know its revocations.
  const all = world.sites.filter(({ id }) => id === by.id);
  const shown = site.links.map((link) => site.bundleOf(link).serial);
  const names = what === 'site' ? [site.id] : [...new Set([...shown, ...by.issued.serialsOf(site.id)])];
  const apply = (change: (set: Set<string>, name: string) => void): void => {
    for (const router of all) {
      for (const name of names) change(what === 'site' ? router.revokedSites : router.revokedSerials, name);
      router.apply();
    }
  };
  apply((set, name) => set.add(name));
  after(() => apply((set, name) => set.delete(name)));
}

function setAccess(site: Site, has: boolean): void {
  site.access.isWanted = has;
  site.apply();
}

/** Milliseconds. */
const VISITORS_PATIENCE = 5_000;

/** @param done with what the access showed. @param known what it showed before */
function visit(world: World, name: string, done: (shown: SecureContext | undefined) => void, known?: SecureContext): void {
  const found = world.link(name);
  if (found === undefined) return;
  const { site, link } = found;
  const to = world.sites[link.to];
  if (to === undefined) return;
  const own = createSecureContext(site.bundleOf(link));
  world.network.connect(site.machine, { host: hostOf(link.to), port: to.portOf(link.role) }, (result) => {
    if (typeof result === 'string') return;
    const shaker = new Shaker(
      result,
      PROMPT,
      { isServer: false, context: own, ...(known === undefined ? {} : { session: { of: known, client: own } }) },
      (isSecure) => {
        if (shaker.answer?.resumed === true)
          world.faults.push(`a client that came to ${name} before was admitted without verification of its certificate`);
        result.close();
        done(isSecure ? shaker.answer?.context : undefined);
      },
    );
    shaker.begin();
    // A machine that has lost its power says nothing any more.
    world.loop.after(VISITORS_PATIENCE, site.machine, () => shaker.leave('close'));
  });
}

function setEdge(site: Site, edge: boolean): void {
  site.saysEdge = edge;
  site.apply();
}

function toggle(site: Site, among: Set<number>, key: number, lasts: number, after: (milliseconds: number, run: () => void) => void): void {
  const had = among.has(key);
  const set = (has: boolean): void => {
    if (has) among.add(key);
    else among.delete(key);
    site.apply();
  };
  set(!had);
  after(lasts, () => set(had));
}
