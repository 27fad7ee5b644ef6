/** Invariants of a quiet world: each function returns violations, and nothing if all is well. */
import { wallClockOf } from './current.ts';
import type { Host } from './endpoint.ts';
import { inside } from './inside.ts';
import { listenerPort, ROLES, routingKey, type DesiredLink, type Site } from './site.ts';
import type { Talker } from './traffic.ts';
import type { Conversation, World } from './world.ts';

/** All routers that can reach each other know each other and their keys. */
export function disagreements(world: World): string[] {
  return world.sites.flatMap((site) => {
    const { router } = site;
    if (router === undefined) return [`${site.machine.name} is off`];
    if (site.plan.lies === true) return [];
    const [surely, perhaps] = [reachableFrom(world, site), reachableFrom(world, site, true)];
    // State announced only by a liar may be long outdated.
    const isLiedTo = [...perhaps].some(({ plan }) => plan.lies === true);
    const found = new Map(router.state.network.map((record) => [`${record.site.id}/${record.router}`, record]));
    return world.sites.flatMap((other) => {
      const record = found.get(`${other.id}/${other.name}`);
      if (isLiedTo && isHiddenByLies(world, other)) return [];
      if (record === undefined)
        return surely.has(other) && other.plan.lies !== true ? [`${site.machine.name} does not know ${other.machine.name}`] : [];
      if (isLiedTo && (other.plan.lies === true || !surely.has(other))) return [];
      if (!perhaps.has(other)) return [`${site.machine.name} believes that it reaches ${other.machine.name}`];
      const said = new Set(record.keys.filter(({ connectors }) => connectors > 0).map((key) => key.routingKey));
      const wants = new Set([...other.connectors].map(routingKey));
      if (said.symmetricDifference(wants).size === 0) return [];
      return [`${site.machine.name} believes that ${other.machine.name} has ${[...said].join(' ')}, not ${[...wants].join(' ')}`];
    });
  });
}

/** No router believes keys of a site that it never announced. */
export function inventedKeys(world: World): string[] {
  const honest = new Map(world.sites.filter(({ plan }) => plan.lies !== true).map((site) => [`${site.id}/${site.name}`, site]));
  return [...honest.values()].flatMap(({ machine, router }) =>
    (router?.state.network ?? []).flatMap(({ site, router: name, keys }) => {
      const other = honest.get(`${site.id}/${name}`);
      const never = keys.filter(({ routingKey: key, connectors }) => connectors > 0 && other?.everHad.has(key) === false);
      return never.map((key) => `${machine.name} believes that ${other?.machine.name} has ${key.routingKey}, which it never had`);
    }),
  );
}

/** Both ends of a link say what it costs, as the one that opens it wants. */
export function costs(world: World): string[] {
  return world.sites.flatMap((from) =>
    from.links.flatMap((link) => {
      const to = world.sites[link.to];
      // The other one of a machine may have opened it.
      if (to === undefined || to.mate !== undefined || from.mate !== undefined || !mustBeUp(from, to, link)) return [];
      const announced = [from, to].map((site) => {
        const others = site === from ? to.id : from.id;
        return (site.router?.state.network[0]?.links ?? []).filter(({ siteId }) => siteId === others).map(({ cost }) => cost);
      });
      const isAnnounced = announced.every((all) => all.includes(link.desiredCost));
      return isAnnounced
        ? []
        : [`${link.name} costs ${link.desiredCost}, and its ends say ${announced.map((all) => all.join(' ')).join(' and ')}`];
    }),
  );
}

/** Sites that paths lead to, this one included. @param perhaps also those to which they may */
export function reachableFrom(world: World, from: Site, perhaps = false): ReadonlySet<Site> {
  const found = new Set([from]);
  for (const site of found) {
    if (site !== from && (site.plan.edge || (site.plan.lies === true && !perhaps))) continue;
    for (const other of world.sites) {
      const isLinked = siblings(site, other, perhaps) || linkBetween(site, other, perhaps) || linkBetween(other, site, perhaps);
      if (isLinked && other.router !== undefined && !from.revokedSites.has(other.id)) found.add(other);
    }
  }
  return found;
}

/** Routers of one site are linked, unless one shows a certificate that has ended. */
const siblings = (one: Site, other: Site, perhaps: boolean): boolean =>
  one.isSiblingOf(other) && !areParted(one, other) && (perhaps || (one.siblingEnds ?? other.siblingEnds) === undefined);

const linkBetween = (from: Site, to: Site, perhaps: boolean): boolean =>
  from.links.some((link) => link.to === to.index && (perhaps ? mayBeUp(from, to, link) : mustBeUp(from, to, link)));

const areParted = ({ machine }: Site, other: Site): boolean => machine.network.path(machine, other.machine).isGone;

/** Under an older certificate a link that is up goes on, also where the new one is of no use. */
function mayBeUp(from: Site, to: Site, link: DesiredLink): boolean {
  return (
    !link.deleted &&
    to.access.isWanted &&
    !areAtOdds(from, to) &&
    !areParted(from, to) &&
    from.router !== undefined &&
    to.router !== undefined
  );
}

/** Nothing but the end of its certificate keeps it from being up. */
export function mayStay(from: Site, to: Site, link: DesiredLink): boolean {
  if (!mayBeUp(from, to, link) || (link.role === 'edge' && !from.saysEdge) || !from.knows(link, to)) return false;
  return !to.revokedSerials.has(from.bundleOf(link).serial) && !from.revokedSerials.has(to.accessBundle.serial);
}

/** A certificate that has been renewed so often, each time in vain, is renewed ever more rarely. */
const IN_VAIN = 2;

/** Its certificate is renewed over the link, and its signer will sign. */
export function isRenewable(from: Site, to: Site, link: DesiredLink): boolean {
  if (!from.disk.bundles.has(link.name) || to.isForeign || !mayStay(from, to, link)) return false;
  return to.issued.successorsOf(from.bundleOf(link).serial) < IN_VAIN;
}

const hasEnded = (from: Site, link: DesiredLink): boolean =>
  wallClockOf(from.machine) >= wallClockOf(undefined, (from.endsOf(link) ?? Infinity) * 1_000);

function mustBeUp(from: Site, to: Site, link: DesiredLink): boolean {
  if (!mayStay(from, to, link)) return false;
  const ends = from.endsOf(link);
  return ends === undefined || [from, to].every(({ machine }) => wallClockOf(machine) + SOON < wallClockOf(undefined, ends * 1_000));
}

/** A router that cannot reach it, by a revocation of its own or of a site in between, and has no capacity for invented routers, passes none of its records on. */
const isHiddenByLies = (world: World, other: Site): boolean =>
  world.sites.some((site) => site.revokedSites.size > 0 && !reachableFrom(world, site).has(other));

/** With a liar, others may not learn of sites that a third site revoked. */
function isToldOf(world: World, other: Site): boolean {
  return other.plan.lies !== true && !(world.hasLiar && isHiddenByLies(world, other));
}

export const hasConnector = (sites: readonly Site[], key: number): boolean => sites.some(({ connectors }) => connectors.has(key));

/** Each router has opened all ports that its site wants, those of listeners where a connector can be reached. */
export function closedPorts(world: World): string[] {
  return world.sites.flatMap((site) => {
    const { machine, accessPorts, listeners, plan: own } = site;
    // Others may have nothing more to do with it.
    if (own.lies === true) return [];
    const reachable = [...reachableFrom(world, site)].filter((other) => isToldOf(world, other));
    const served = [...listeners].filter((number) => site.keysOf(number).some((key) => hasConnector(reachable, key)));
    const closed = [...accessPorts, ...served.map(listenerPort)].filter((port) => !machine.listens(port));
    return closed.map((port) => `${machine.name} does not listen at its port ${port}`);
  });
}

/** A site linked to one that moves has its link, and knows where that is reached. */
export function unannounced(world: World): string[] {
  return world.sites.flatMap((site) =>
    site.links.flatMap((link) => {
      const to = world.sites[link.to];
      if (to?.plan.moves !== true || !mustBeUp(site, to, link)) return [];
      const { operational, announced } = site.router?.state.links[link.name] ?? {};
      // Among links by both roles, one without announced endpoints follows those of the others.
      const knows = announced?.some(({ port }) => ROLES.some((role) => port === to.portOf(role))) === true;
      return operational === true && knows ? [] : [`${link.name} is not up, or ${site.machine.name} does not know where its other end is`];
    }),
  );
}

/** Milliseconds before the end of a certificate. */
const SOON = 3_000;

/** A certificate that is about to end takes with it what its link carries, which is no fault: what is asked of the world waits for that. */
export function endingCertificates(world: World): string[] {
  const isToEnd = (seconds: number | undefined, ...ends: readonly (Site | undefined)[]): boolean =>
    seconds !== undefined &&
    ends.some((end) => end !== undefined && wallClockOf(end.machine) <= wallClockOf(undefined, seconds * 1_000) + ENDED);
  return world.sites.flatMap((site) => {
    const links = site.links.filter((link) => {
      const to = world.sites[link.to];
      // Either of two on one machine may renew it for both.
      const goesOn = to !== undefined && !hasEnded(site, link) && [site, site.mate ?? site].some((one) => isRenewable(one, to, link));
      return !link.deleted && !goesOn && isToEnd(site.endsOf(link), site, to);
    });
    const names = links.map(({ name }) => name);
    const { sibling } = site.plan;
    const isSibling = sibling !== undefined && isToEnd(sibling.ends, site, world.sites[sibling.index]);
    return [...names, ...(isSibling ? ['its sibling'] : [])].map(
      (name) => `a certificate of ${site.machine.name} for ${name} is still to end`,
    );
  });
}

/** Milliseconds after the end of a certificate until its link is surely gone. */
const ENDED = 1_000;

/** Each connection is whole, or over at both ends; and none stalls while an end reads. */
export function standstills(world: World): string[] {
  return [...world.conversations.values()].flatMap((conversation) => {
    const wrong = troubleOf(conversation);
    return wrong === undefined ? [] : [`connection ${conversation.talk.id}: ${wrong}`];
  });
}

function troubleOf(conversation: Conversation): string | undefined {
  const { client, server } = conversation;
  if (conversation.refused === true) return undefined;
  if (client === undefined) return 'its client still connects';
  if (server === undefined) {
    // An end is no answer in TLS either, if no client was admitted.
    const isEnd = conversation.cut === true || conversation.tooLate !== undefined;
    const isNotified = client.gone || client.endpoint.over || (isEnd && client.endpoint.ended);
    return isNotified ? undefined : 'no server has it, and its client was not notified';
  }
  return (
    client.fault ??
    server.fault ??
    (conversation.cut === true ? undefined : (truncated(client, server) ?? truncated(server, client))) ??
    unended(client, server, conversation.cut === true) ??
    unended(server, client, conversation.cut === true) ??
    stuck(client, server) ??
    stuck(server, client)
  );
}

const nameOf = ({ isClient }: Talker): string => (isClient ? 'client' : 'server');

/** An orderly end comes after all that was sent. */
function truncated(reader: Talker, sender: Talker): string | undefined {
  if (!reader.sawEnd) return undefined;
  if (sender.endpoint.hasReset && !sender.finished) return `the ${nameOf(reader)} saw an orderly end where its peer has reset`;
  return reader.received === sender.sent ? undefined : `the ${nameOf(reader)} saw an end after ${reader.received} of ${sender.sent} bytes`;
}

/**
 * What was reset at one end is over at the other, whether that one reads or not. But the kernel of a router that was killed ends it as if in
 * order; and a socket that was ended and is not read cannot be asked (`SocketEndpoint.ask`).
 */
function unended(one: Talker, other: Talker, isCut: boolean): string | undefined {
  const isReset = one.wasReset || one.endpoint.hasReset;
  if (!isReset || other.gone || other.endpoint.over || (isCut && other.endpoint.ended)) return undefined;
  // If both have sent their ends, the stream between their routers is over, and no claim about it is possible.
  if (one.finished && other.finished) return undefined;
  // Its router has ended it then, whether that has arrived or not.
  if (other.finished && !other.isReading) return undefined;
  return `the ${nameOf(one)} was reset, and the ${nameOf(other)} goes on`;
}

function stuck(sender: Talker, reader: Talker): string | undefined {
  // Whether what came before its end was all, `truncated` says.
  if (!reader.isReading || reader.endpoint.over || reader.sawEnd) return undefined;
  if (reader.received < sender.sent) return `the ${nameOf(reader)} reads, and has ${reader.received} of ${sender.sent} bytes`;
  if (!sender.gone && sender.hasMore) return `the ${nameOf(sender)} cannot go on after ${sender.sent} bytes, all read`;
  return sender.finished && !reader.sawEnd ? `the ${nameOf(reader)} does not see the end` : undefined;
}

/** Without events that reset connections, none is reset unless an end leaves. */
export function unaskedResets(world: World): string[] {
  if (!world.isPeaceful) return [];
  return [...world.conversations.values()].flatMap(({ talk, client, server, isLeft }) =>
    isLeft !== true && client?.wasReset === true && server?.wasReset === true ? [`connection ${talk.id} was reset at both ends`] : [],
  );
}

/** A revoked site has no connections with a site that revoked it, and none through such a site. */
export function revokedTalks(world: World): string[] {
  if (world.sites.every(({ revokedSites }) => revokedSites.size === 0)) return [];
  return [...world.conversations.values()].flatMap(({ talk, site, serverSite, visitor, client, server }) => {
    const [one, other] = [world.sites[site], world.sites[serverSite ?? site]];
    if (one === undefined || other === undefined || client === undefined || server === undefined) return [];
    const goesOn = !client.gone && !client.endpoint.over && !server.gone && !server.endpoint.over;
    // All of it has arrived where it is not read, or has left the router that revokes: that has nothing of it any more.
    const hasPassed = client.endpoint.ended && server.endpoint.ended;
    if (!goesOn || hasPassed) return [];
    // The router does not see clients that a visitor has left behind.
    const left = visitor === undefined && one.revokedSites.has(other.id) ? [client] : [];
    const revokes = [...left, ...(other.revokedSites.has(one.id) ? [server] : [])];
    const isRevoked = revokes.some(({ endpoint }) => !endpoint.ended || !endpoint.peer.closed);
    const guest = visitor?.site.id;
    const isCutOff = revokes.length === 0 && !(client.finished && server.finished) && !mayTalk(world, [one], other, guest);
    return isRevoked || isCutOff ? [`connection ${talk.id} is of a site that is revoked, or passes one, and goes on`] : [];
  });
}

/** Whether a path leads from the last of these sites to that one on which no site has revoked another. @param guest whose certificate admitted it at the first */
function mayTalk(world: World, passed: readonly Site[], to: Site, guest?: string): boolean {
  const last = passed.at(-1);
  if (last === undefined || (guest !== undefined && last.revokedSites.has(guest))) return false;
  if (last === to) return true;
  if (passed.length > 1 && last.plan.edge) return false;
  return world.sites.some((next) => {
    if (passed.some((one) => one === next || areAtOdds(one, next))) return false;
    const isLinked = siblings(last, next, true) || linkBetween(last, next, true) || linkBetween(next, last, true);
    return isLinked && mayTalk(world, [...passed, next], to, guest);
  });
}

const areAtOdds = (one: Site, other: Site): boolean => one.revokedSites.has(other.id) || other.revokedSites.has(one.id);

/** A guest of ports for edge sites carries no transit. */
export function transitOfGuests(world: World): string[] {
  return world.sites
    .filter(({ isGuest, router }) => isGuest && router !== undefined && inside(router).relayed.total > 0)
    .map(({ machine }) => `${machine.name} came in as an edge site, and carries connections between others`);
}

/** Between machines there are the connections of links that are up, and no others. */
export function strayConnections(world: World): string[] {
  return world.sites.flatMap(({ machine, router }) => {
    const open = [...machine.endpoints].filter(({ isLoopback, peer }) => !isLoopback && isOfSite(world, peer.machine)).length;
    let known = 0;
    for (const link of router === undefined ? [] : inside(router).links.all) if (link.state === 'up') known += link.connections.size;
    return open === known ? [] : [`${machine.name} has ${open} connections to others, and links need ${known}`];
  });
}

const isOfSite = ({ sites }: World, machine: Host): boolean => sites.some((site) => site.machine === machine);

const renewedSince = ({ generationsTold }: Site, generation: number): number =>
  [...generationsTold].filter((announced) => announced > generation).length;

/** A visitor whose certificate is revoked, who came too many certificates of the access ago, or whose access is gone, has no connection. */
export function staleVisitors({ visitor, plan: { priorRevisions = Infinity } }: World): string[] {
  if (visitor === undefined) return [];
  const { shown, site, to } = visitor;
  const stale = [...shown.values()].filter(
    ({ serial, generation }) =>
      !to.access.isWanted ||
      to.revokedSites.has(site.id) ||
      to.revokedSerials.has(serial) ||
      [to, ...(to.mate === undefined ? [] : [to.mate])].every((one) => renewedSince(one, generation) > priorRevisions),
  );
  return stale.map(({ serial }) => `a visitor of ${to.machine.name} with the certificate ${serial} is still there`);
}

/** Machines of no site have left: no router keeps any of their connections. */
export function foreignConnections(world: World): string[] {
  return world.sites.flatMap(({ machine }) => {
    const left = [...machine.endpoints].filter(({ isLoopback, peer }) => !isLoopback && !isOfSite(world, peer.machine)).length;
    return left === 0 ? [] : [`${machine.name} has ${left} connections to machines of no site`];
  });
}

/** Between two machines is nothing where no link is wanted: what a link carries when it is taken away ends soon after. */
export function unlinkedConnections(world: World): string[] {
  return world.sites.flatMap((site) =>
    world.sites.flatMap((other) => {
      const isWanted =
        other === site ||
        site.isSiblingOf(other) ||
        [...site.links, ...other.links].some(
          ({ from, to, deleted }) => !deleted && world.sites[to]?.access.isWanted === true && isOf(from, to, site, other),
        );
      const open = isWanted ? 0 : [...site.machine.endpoints].filter(({ peer }) => peer.machine === other.machine).length;
      return open === 0 ? [] : [`${site.machine.name} has ${open} connections to ${other.machine.name}, to which it has no link`];
    }),
  );
}

const isOf = (from: number, to: number, one: Site, other: Site): boolean =>
  (isAt(one, from) && isAt(other, to)) || (isAt(other, from) && isAt(one, to));

const isAt = ({ index, mate }: Site, site: number): boolean => index === site || mate?.index === site;

/** Without connections, links hold nothing of any owner. */
export function leftovers(world: World): string[] {
  return world.sites.flatMap(({ machine, router, account }) => {
    if (router === undefined) return [];
    const { links, relayed } = inside(router);
    const wrong = relayed.open === 0 ? [] : [`${machine.name} passes ${relayed.open} connections on`];
    const unknown = new Set<object>(account.holders);
    for (const link of links.all) {
      for (const connection of link.connections) {
        unknown.delete(connection);
        const { session } = connection;
        const { streams, windows, queued, shares } = session as unknown as Accounts;
        const own = session.openStreams > 0 ? 1 : 0;
        if (streams.size > own) wrong.push(`${machine.name} has ${streams.size} streams open over ${link.id}`);
        for (const [name, value] of Object.entries(windows.held))
          if (value !== 0) wrong.push(`${machine.name} counts ${value} ${name} over ${link.id}`);
        if (shares.owners.total !== 0) wrong.push(`${machine.name} counts ${shares.owners.total} streams of owners over ${link.id}`);
        if (queued > 0) wrong.push(`${machine.name} has ${queued} bytes to send over ${link.id}`);
      }
    }
    if (unknown.size > 0) wrong.push(`${machine.name} counts the memory of ${unknown.size} connections that are gone`);
    if (account.charged !== 0) wrong.push(`${machine.name} counts ${account.charged} bytes of requests that are gone`);
    const sockets = [...machine.endpoints].filter(({ isLoopback }) => isLoopback).length;
    return sockets === 0 ? wrong : [...wrong, `${machine.name} has ${sockets} sockets of clients and servers`];
  });
}

interface Accounts {
  readonly streams: ReadonlyMap<number, unknown>;
  readonly windows: { readonly held: Readonly<Record<string, number>> };
  readonly queued: number;
  readonly shares: { readonly owners: { readonly total: number } };
}

/** All routers have closed: nothing is left. */
export function remains({ loop, network, sites }: World): string[] {
  const wrong = sites.flatMap(({ machine, account: { holders, charged } }) =>
    holders.size === 0 && charged === 0
      ? []
      : [`${machine.name} counts the memory of ${holders.size} connections, and ${charged} bytes of requests, and has closed`],
  );
  if (loop.waiting.timer > 0) wrong.push(`${loop.waiting.timer} timers run on`);
  if (network.endpoints > 0) wrong.push(`${network.endpoints} sockets are open`);
  const listening = network.machines.values().reduce((sum, { listeners }) => sum + listeners.size, 0);
  if (listening > 0) wrong.push(`${listening} ports are open`);
  return wrong;
}
