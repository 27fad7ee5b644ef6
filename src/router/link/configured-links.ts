import { limitTable } from '../../limits/table.ts';
import { isDeepStrictEqual } from 'node:util';
import type { AccessConfig, EndedPeerState, Learned, PeerState, RouterConfig, RouterState, SiblingConfig } from '../contract.ts';
import { guard } from '../../telemetry/boundary.ts';
import { Access } from './accept/access.ts';
import { SiblingAccess } from './accept/sibling-access.ts';
import type { DialTarget } from './dial/dial-endpoints.ts';
import { Dialer } from './dial/dialer.ts';
import { LinkTarget } from './dial/link-target.ts';
import type { OpenedLink } from './dial/outgoing.ts';
import { dialedFrom, SiblingTarget } from './dial/sibling-target.ts';
import { tlsTargets } from './dial/tls-sibling-target.ts';
import type { LinkHost } from './host.ts';
import type { Link } from './link.ts';
import { figuresOf } from './link-figures.ts';
import { writeEndpoints } from './session/announced-endpoints.ts';
import { routerOf, siteOf } from '../../routing/names.ts';

/** Most ended links that are remembered, since peers decide how many there are. */
const MOST_ENDED = limitTable.endedLinks.value;
/** Milliseconds for which an ended link is remembered: no command of this site removes it, and its site may never come back. */
const REMEMBERED = 86_400_000;

const endKey = (dialed: boolean, siteId: string): string => `${dialed ? 'out' : 'in'} ${siteId}`;

/**
 * Creates a router's links from its config. There is a dialer for each link and for each sibling that it dials, an access for each port,
 * and one for siblings. Parts that the config no longer names are drained, and kept until nothing of them is left.
 */
export class ConfiguredLinks {
  readonly #host: LinkHost;
  readonly #dialers = new Map<string, Dialer>();
  readonly #siblings = new Map<string, Dialer>();
  readonly #accesses = new Map<string, Access>();
  #siblingAccess: SiblingAccess | Access | undefined;
  #reachedAt: RouterConfig['reachedAt'];
  readonly #leaving = new Set<Dialer | Access | SiblingAccess>();
  /** Last ended link by direction and site, most recent last. */
  readonly #ended = new Map<string, EndedPeerState & { readonly dialed: boolean }>();

  constructor(host: LinkHost) {
    this.#host = host;
  }

  get state(): Pick<RouterState, 'links' | 'linksOpened' | 'accesses' | 'incoming' | 'endedIncoming' | 'siblings'> {
    const incoming = this.#incoming().map(({ link, serial, address }) => peerStateOf(link, serial, address));
    const linksOpened = this.#dialers.values().reduce((sum, { timesOpened }) => sum + timesOpened, 0);
    const endedIncoming = [...this.#ended.values()].flatMap(({ dialed, ...end }) => (dialed ? [] : [end]));
    return {
      links: statesOf(this.#dialers),
      linksOpened,
      accesses: statesOf(this.#accesses),
      incoming,
      endedIncoming,
      ...this.#siblingState,
    };
  }

  /** Links that other sites opened to this one and that are up. */
  #incoming(): readonly { readonly link: Link; readonly serial: string; readonly address: string }[] {
    return [...this.#accesses.values()].flatMap((access) =>
      [...access.incoming].flatMap(({ link, serial, address }) => (link?.state === 'up' ? [{ link, serial, address }] : [])),
    );
  }

  /** Empty for routers on one machine: they share its files and can always link to each other. */
  get #siblingState(): Pick<RouterState, 'siblings'> {
    if (!(this.#siblingAccess instanceof Access)) return {};
    const { problem } = this.#siblingAccess.state;
    const links = new Map([...this.#siblings].map(([id, dialer]) => [routerOf(id), dialer]));
    return { siblings: { ...(problem === undefined ? {} : { problem }), links: statesOf(links) } };
  }

  /** Applies a new config, and ends what has been revoked. */
  apply(config: RouterConfig, sharesPorts: boolean): void {
    this.#applyAccesses(config, sharesPorts);
    this.#applyDialers(this.#dialers, new Map(config.links.map((link) => [link.name, new LinkTarget(link)])));
    this.#applySiblings(config);
    this.#applyReachedAt(config);
    for (const part of [...this.#parts(), ...this.#leaving]) part.dropRevoked();
  }

  /** A configured link, if it is up. */
  opened(name: string): OpenedLink | undefined {
    return this.#dialers.get(name)?.opened;
  }

  linkUp(link: Link): void {
    this.#ended.delete(endKey(link.dialed, link.peer.site.id));
    this.#notify(link);
  }

  linkDown(link: Link): void {
    this.#rememberEnd(link);
    for (const dialers of [this.#dialers, this.#siblings]) for (const dialer of dialers.values()) dialer.linkDown(link);
  }

  /** Reason for the end of the last link with the site, if none is up. */
  linkEnd(siteId: string): string | undefined {
    if (this.#host.links.all.some((link) => link.state === 'up' && link.peer.site.id === siteId)) return undefined;
    const ends = [this.#ended.get(endKey(true, siteId)), this.#ended.get(endKey(false, siteId))].filter((end) => end !== undefined);
    return ends.sort((one, other) => other.until - one.until)[0]?.reason;
  }

  /** Remembers only the last link with a site in each direction, not one that a newer link replaced. */
  #rememberEnd({ peer, upSince, dialed, cost, address = '', reason = 'no reason is known' }: Link): void {
    const { id, name } = peer.site;
    if (upSince === undefined || id === siteOf(this.#host.self)) return;
    if (this.#host.links.all.some((other) => other.dialed === dialed && other.state === 'up' && other.peer.site.id === id)) return;
    const key = endKey(dialed, id);
    this.#ended.delete(key);
    this.#ended.set(key, { dialed, siteId: id, siteName: name, address, cost, since: upSince, until: Date.now(), reason });
    if (this.#ended.size > MOST_ENDED) for (const oldest of this.#ended.keys().take(1)) this.#ended.delete(oldest);
  }

  linkSilence(link: Link): void {
    for (const dialers of [this.#dialers, this.#siblings]) for (const dialer of dialers.values()) dialer.linkSilence(link);
  }

  linkLeaving(link: Link): void {
    for (const dialer of this.#dialers.values()) dialer.linkLeaving(link);
  }

  /** Ends what a certificate no longer allows, and forgets drained parts and old links. Called periodically. */
  cutExpired(now: number): void {
    for (const [key, { until }] of this.#ended) {
      if (now - until < REMEMBERED) break;
      this.#ended.delete(key);
      this.#host.changed();
    }
    for (const part of [...this.#parts(), ...this.#leaving]) guard('look/expired', part, () => part.cutExpired(now));
    for (const leaving of this.#leaving) if (leaving.idle) this.#leaving.delete(leaving);
  }

  /** Opens no more links; existing ones continue. */
  stop(): void {
    for (const part of this.#parts()) part.stop();
  }

  destroy(): void {
    for (const part of [...this.#parts(), ...this.#leaving]) part.destroy();
  }

  #applyReachedAt({ reachedAt }: RouterConfig): void {
    if (isDeepStrictEqual(reachedAt, this.#reachedAt)) return;
    this.#reachedAt = reachedAt;
    for (const link of this.#host.links.all) if (link.state === 'up') this.#notify(link);
  }

  /** Sends a site that linked here the current endpoints of this one for its role. If none are known, the site keeps those that it has. */
  #notify(link: Link): void {
    if (link.dialed || link.peer.site.id === siteOf(this.#host.self)) return;
    const role = link.confined ? 'edge' : 'inter-router';
    const endpoints = (this.#reachedAt ?? []).filter((endpoint) => endpoint.role === role);
    if (endpoints.length > 0) link.routing.send(writeEndpoints(endpoints));
  }

  /**
   * Endpoints from one router of a site also apply to the links to its other routers, which may be down because the site has moved. Links
   * with other endpoints are left alone, since they came in by another role.
   */
  #learn(from: string, learned: Learned): void {
    const before = this.#dialers.get(from)?.announced;
    for (const [name, dialer] of this.#dialers) {
      if (name === from) dialer.notify(learned);
      else if (dialer.site === learned.site && (dialer.announced === undefined || isDeepStrictEqual(dialer.announced, before)))
        dialer.learn(learned);
    }
  }

  #parts(): readonly (Dialer | Access | SiblingAccess)[] {
    const siblingAccess = this.#siblingAccess === undefined ? [] : [this.#siblingAccess];
    return [...this.#accesses.values(), ...siblingAccess, ...this.#dialers.values(), ...this.#siblings.values()];
  }

  #applyAccesses({ accesses }: RouterConfig, sharesPorts: boolean): void {
    const desired = new Map(accesses.map((access) => [access.name, access]));
    for (const [name, access] of this.#accesses) if (!desired.has(name)) this.#leave(this.#accesses, name, access);
    for (const [name, access] of desired) {
      const known = this.#accesses.get(name);
      if (known === undefined) this.#accesses.set(name, new Access(this.#host, access, { sharesPort: sharesPorts }));
      else known.apply(access, sharesPorts);
    }
  }

  #applySiblings(config: RouterConfig): void {
    const { siblings } = config;
    const known = this.#siblingAccess;
    if (known !== undefined && !isFor(known, siblings)) {
      known.drain();
      this.#leaving.add(known);
      this.#siblingAccess = undefined;
    }
    if (siblings?.kind === 'unix') this.#siblingAccess ??= new SiblingAccess(this.#host, siblings.socket);
    if (siblings?.kind === 'tls') this.#applyTlsSiblings(siblings);
    this.#applyDialers(this.#siblings, siblingTargets(config));
  }

  #applyTlsSiblings({ port, tls }: SiblingConfig & { readonly kind: 'tls' }): void {
    const access: AccessConfig = { name: 'siblings', port, tls, role: 'inter-router' };
    if (this.#siblingAccess instanceof Access) this.#siblingAccess.apply(access, false);
    else this.#siblingAccess = new Access(this.#host, access, { siblingsOnly: true });
  }

  #applyDialers(dialers: Map<string, Dialer>, desired: ReadonlyMap<string, DialTarget>): void {
    for (const [name, dialer] of dialers) if (!desired.has(name)) this.#leave(dialers, name, dialer);
    for (const [name, target] of desired) {
      const known = dialers.get(name);
      const onLearned = (learned: Learned): void => this.#learn(name, learned);
      if (known === undefined) dialers.set(name, new Dialer(this.#host, name, target, dialers === this.#dialers ? onLearned : undefined));
      else known.apply(target);
    }
  }

  #leave<T extends Dialer | Access>(from: Map<string, T>, name: string, leaving: T): void {
    from.delete(name);
    leaving.drain();
    this.#leaving.add(leaving);
  }
}

function peerStateOf(link: Link, serial: string, address: string): PeerState {
  const { peer, cost, upSince, silentSince } = link;
  const { id: siteId, name: siteName } = peer.site;
  return {
    siteId,
    siteName,
    serial,
    address,
    cost,
    ...(upSince === undefined ? {} : { since: upSince }),
    ...(silentSince === undefined ? {} : { silentSince }),
    get figures() {
      return figuresOf(link);
    },
  };
}

function isFor(access: SiblingAccess | Access, siblings: SiblingConfig | undefined): boolean {
  return access instanceof SiblingAccess ? siblings?.kind === 'unix' && siblings.socket === access.path : siblings?.kind === 'tls';
}

function siblingTargets(config: RouterConfig): ReadonlyMap<string, DialTarget> {
  const { siblings } = config;
  switch (siblings?.kind) {
    case 'unix':
      return new Map(dialedFrom(siblings).map((path) => [path, new SiblingTarget(path)]));
    case 'tls':
      return new Map(tlsTargets(config, siblings).map((target) => [target.router, target]));
    case undefined:
      return new Map();
  }
}

function statesOf<T>(parts: ReadonlyMap<string, { readonly state: T }>): Readonly<Record<string, T>> {
  return Object.fromEntries([...parts].map(([name, { state }]) => [name, state]));
}
