import { performance } from 'node:perf_hooks';
import { isDeepStrictEqual } from 'node:util';
import { bounded, detached } from '../../../telemetry/boundary.ts';
import type { Learned, LinkState, Problem } from '../../contract.ts';
import { deadlines } from '../../deadlines.ts';
import { LinkError } from '../link-errors.ts';
import { limitTable } from '../../../limits/table.ts';
import type { LinkHost } from '../host.ts';
import { writeCost } from '../session/hello.ts';
import type { Link } from '../link.ts';
import { linkMetrics } from '../link-metrics.ts';
import type { OpenedLink } from './outgoing.ts';
import { retryDelay } from './retry.ts';
import { waysOn } from '../refusal.ts';
import { Revisions } from '../revisions.ts';
import { SiblingTarget } from './sibling-target.ts';
import { expiredError } from '../tls-errors.ts';
import { openFirst, type DialTarget } from './dial-endpoints.ts';
import { CONNECTIONS_OF_PEER, PLACES_OF_LINK } from '../accept/places.ts';
import { problemOf } from '../../../errors/problem.ts';

/** A link that was up for so long is opened anew at once; one that breaks sooner counts as a failure. */
const STEADY = 5_000;
/** Milliseconds before the end of the peer's certificate, at most. */
const EARLY = 3_600_000;
/** The same at least: ends are looked for every second, and a link takes its time to open. */
const LATEST = 2_500;
/** Milliseconds that a link stays up beside one to another router that takes its place, and round trips: until routing has come over that. */
const [HANDOVER, HANDOVER_ROUND_TRIPS] = [1_000, 3];
/** The same where the other end has said that it goes. */
const FAREWELL = 12_000;
/**
 * Connections of links that have been replaced: as many as an access keeps of a site. The other end can have its link made anew every few seconds, and how long
 * those before carry something is for it to say.
 */
const MOST_REPLACED = CONNECTIONS_OF_PEER - PLACES_OF_LINK;
/** Connections with which no link is opened beside a silent one: half of what an access keeps of a site, which may have two routers. */
const MOST_BESIDE_SILENT = limitTable.connectionsBesideSilent.value;
/** Milliseconds between two looks whether there are fewer. */
const RECHECK = 1_000;
/** What connections may take to finish when their link is taken away. */
const CLOSE_DEADLINE = 60_000;

/**
 * Keeps a link to a target. While it has one that fits it waits; otherwise it opens one, with backoff. A link that no longer
 * fits (a new certificate, other endpoints) is retired only when its successor is up, so that no connection is lost.
 *
 * Invariants: at most one attempt runs at a time, that of `#run`; what an aborted one opens nevertheless is cut. `#current` is replaced
 * by a link that came up, and by nothing else; those before it are in `#replaced` as long as they carry something. Once stopped it makes no
 * attempt, and `#current` stays. `#standby` is up; it is silent, or `#settling` is set.
 */
export class Dialer {
  readonly name: string;
  readonly #host: LinkHost;
  #target: DialTarget;
  #current: Current | undefined;
  /** A silent link whose place another took: it comes back if it recovers, since open connections are on it. */
  #standby: Current | undefined;
  /** Takes one of two links down that work. */
  #settling: NodeJS.Timeout | undefined;
  #timesOpened = 0;
  #problem: Problem | undefined;
  /** Where the last link fell silent. */
  #silentPeer: string | undefined;
  #failures = 0;
  #nextAt = 0;
  readonly #stop = new AbortController();
  #attempt: AbortController | undefined;
  #wake: () => void = () => {};
  /** With the revision of each. */
  readonly #replaced = new Map<OpenedLink, number>();
  readonly #revisions: Revisions;
  /** Where the site that the link is with, or was with last, says that it is reached. */
  #learned: Learned | undefined;
  /** It said so over this link, at some time. */
  #wasNotified = false;
  readonly #onLearned: (learned: Learned) => void;
  /** The peer's certificate is about to end. */
  #isEnding = false;

  /** @param onLearned a site says over this link where it is reached */
  constructor(host: LinkHost, name: string, target: DialTarget, onLearned: (learned: Learned) => void = () => {}) {
    this.name = name;
    this.#onLearned = onLearned;
    this.#host = host;
    this.#target = target;
    this.#revisions = new Revisions(target.tls);
    this.#remember(target.remembered);
    this.#start();
  }

  get state(): LinkState {
    const current = this.#current;
    const up = current?.opened.link.state === 'up';
    const silentSince = current?.opened.link.silentSince;
    const told = this.#learned === undefined ? [] : this.#target.ofLearned(this.#learned);
    return {
      operational: up,
      ...(this.site === undefined ? {} : { remoteSiteId: this.site }),
      ...(current === undefined ? {} : { remoteSiteName: current.opened.link.peer.site.name }),
      ...(current === undefined || !up ? {} : { endpoint: current.peer }),
      ...(told.length === 0 ? {} : { told }),
      ...(silentSince === undefined || !up ? {} : { silentSince }),
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
    };
  }

  /** How often its link has come up. */
  get timesOpened(): number {
    return this.#timesOpened;
  }

  /** The link that is up. */
  get opened(): OpenedLink | undefined {
    return this.#current?.opened.link.state === 'up' ? this.#current.opened : undefined;
  }

  /** It makes no attempts any more, and nothing of its link is left. */
  get idle(): boolean {
    return this.#stop.signal.aborted && !this.#carriesAny;
  }

  /** That it is with, or was with last. */
  get site(): string | undefined {
    return this.#current?.opened.link.peer.site.id ?? this.#learned?.site;
  }

  /** What the site that it is with, or was with last, said over this link, or over one that had been told the same. */
  get told(): Learned | undefined {
    return this.#wasNotified ? this.#learned : undefined;
  }

  /** The site at the other end says where it is reached. */
  tell(learned: Learned): void {
    this.#wasNotified = true;
    this.learn(learned);
  }

  /** A link that is up stays where it is, and an attempt goes on: so nobody can keep this site dialing by what he says. */
  learn(learned: Learned): void {
    if (isDeepStrictEqual(this.#learned, learned)) return;
    this.#learned = learned;
    this.#host.changed();
  }

  apply(target: DialTarget): void {
    const before = this.#target;
    this.#target = target;
    this.#revisions.apply(target.tls);
    this.#cutOutdated();
    if (!target.beginsAs(before)) this.#remember(undefined);
    this.#announceCost();
    const standby = this.#standby;
    if (standby !== undefined && !target.servedBy(standby.target, standby.peer)) this.#dropStandby();
    if (this.#fits() || target.equals(before)) return;
    this.#attempt?.abort();
    this.#failures = 0;
    this.#nextAt = 0;
    this.#wake();
  }

  #announceCost(): void {
    const { cost } = this.#target;
    for (const link of [this.opened?.link, this.#standby?.opened.link]) {
      if (link?.state !== 'up' || link.cost === cost) continue;
      link.cost = cost;
      link.routing.send(writeCost(cost));
      this.#host.events.onCost(link);
    }
  }

  /** A link begins or ceases to be silent: perhaps this one's. */
  linkSilence(link: Link): void {
    if (this.#stop.signal.aborted) return;
    if (link === this.#standby?.opened.link) this.#standbySilence(this.#standby);
    else if (link === this.#current?.opened.link) this.#currentSilence(this.#current);
    else return;
    this.#wake();
  }

  #standbySilence(standby: Current): void {
    clearTimeout(this.#settling);
    if (standby.opened.link.isSilent) return;
    if (this.opened === undefined || this.opened.link.isSilent) this.#swap();
    else this.#settleLater(standby);
  }

  #currentSilence(current: Current): void {
    const { link } = current.opened;
    if (!link.isSilent) {
      if (!this.#fits()) return;
      this.#attempt?.abort();
      this.#problem = undefined;
    } else if (this.#standby?.opened.link.isSilent === false) {
      this.#swap();
    } else {
      // Another endpoint may work, or another connection to the same: then new connections use it.
      this.#silentPeer = current.peer;
      this.#planNext(current);
    }
  }

  /** The standby is better than the current link. */
  #swap(): void {
    const current = this.#current;
    clearTimeout(this.#settling);
    this.#current = this.#standby;
    this.#standby = current?.opened.link.state === 'up' ? current : undefined;
    if (this.#fits()) this.#attempt?.abort();
    this.#host.changed();
  }

  /** Both links work here. The other end may still take one of them for silent: then no path would lead here if the other went at once. */
  #settleLater(recovered: Current): void {
    const settle = bounded('link/settled', () => this.#commit());
    this.#settling = setTimeout(settle, handoverOf(recovered.opened.link)).unref();
  }

  /** The link that carries more stays: a link that is taken down carries its connections on, but a bounded number of such links is kept. */
  #commit(): void {
    const [current, standby] = [this.#current, this.#standby];
    if (current === undefined || standby === undefined || this.#stop.signal.aborted) return;
    if (this.#fits() && current.opened.link.openStreams >= standby.opened.link.openStreams) {
      this.#dropStandby();
    } else {
      this.#standby = undefined;
      this.#current = standby;
      this.#retire(current, standby.opened.link);
    }
    this.#host.changed();
    this.#wake();
  }

  /** A link has gone down: perhaps this one's. */
  linkDown(link: Link): void {
    if (this.#standby?.opened.link === link) this.#dropStandby();
    const current = this.#current;
    if (current === undefined || current.opened.link !== link || this.#stop.signal.aborted) return;
    this.#planNext(current);
    this.#problem = { code: 'lost', message: `The link to ${current.peer} ended: ${link.reason ?? 'no reason is known'}.` };
    this.#silentPeer = current.opened.silent ? current.peer : undefined;
    if (this.#standby !== undefined) {
      this.#swap();
      this.#keep(current);
    }
    this.#host.log.warn({ linkName: this.name, link: link.id, reason: link.reason }, 'link lost');
    this.#host.changed();
    this.#wake();
  }

  /** The other end of a link is about to go: perhaps this one's. */
  linkLeaving(link: Link): void {
    const current = this.#current;
    if (current === undefined || current.opened.link !== link || this.#stop.signal.aborted) return;
    this.#planNext(current);
    this.#wake();
  }

  dropRevoked(): void {
    for (const { link, peers } of this.#opened()) {
      if (!peers.some((party) => this.#host.isRevoked(party))) continue;
      const error = new LinkError('revoked', `Site ${link.peer.site.name} is revoked here. ${waysOn(link.peer.site.id)}`);
      link.cut(error);
      this.#problem = problemOf(error);
    }
  }

  /** A link is opened anew before the peer's certificate ends, and cut where it has ended and no successor shows a new one. */
  cutExpired(now: number): void {
    for (const { link } of this.#opened()) {
      if (link.expires > now || this.#host.links.vouchFor(link.peer.site.id, true, now)) continue;
      const error = expiredError(this.#current?.peer ?? link.router, new Date(link.expires), now);
      this.#host.log.warn({ linkName: this.name, link: link.id, error }, 'link cut off');
      link.cut(error);
      this.#problem = problemOf(error);
    }
    if (this.#current === undefined || this.#current.renewAt > now || this.#isEnding) return;
    this.#isEnding = true;
    this.#wake();
  }

  #remember(learned: Learned | undefined): void {
    this.#learned = learned;
    this.#wasNotified = learned !== undefined;
  }

  get #carriesAny(): boolean {
    return [...this.#opened()].some(({ link }) => link.connections.size > 0);
  }

  /** The link, and those that it has replaced as long as they carry something. */
  *#opened(): Iterable<OpenedLink> {
    for (const opened of this.#replaced.keys()) {
      if (opened.link.connections.size === 0) this.#replaced.delete(opened);
      else yield opened;
    }
    if (this.#standby !== undefined) yield this.#standby.opened;
    if (this.#current !== undefined) yield this.#current.opened;
  }

  /** No more attempts; what the link carries may finish. */
  drain(deadline = CLOSE_DEADLINE): void {
    this.stop();
    for (const { link } of this.#opened()) link.retire('the link has been taken away');
    if (this.#carriesAny)
      setTimeout(
        bounded('link/drain-deadline', () => this.destroy()),
        deadline,
      ).unref();
  }

  /** No more attempts. */
  stop(): void {
    this.#stop.abort();
    this.#attempt?.abort();
    this.#wake();
  }

  destroy(): void {
    this.stop();
    for (const { link } of this.#opened()) link.cut(new LinkError('closed', 'The link has been closed.'));
  }

  #fits(): boolean {
    const current = this.#current;
    if (current === undefined || this.#isEnding) return false;
    const { link } = current.opened;
    return link.state === 'up' && !link.leaving && !link.isSilent && this.#target.servedBy(current.target, current.peer);
  }

  /** A silent link may recover, and so may those before it. None of them is cut for the next: its connections may go on soon. */
  #hasRoomBeside(): boolean {
    if (this.opened?.link.isSilent !== true) return true;
    let open = PLACES_OF_LINK;
    for (const { link } of this.#opened()) open += link.connections.size;
    return open <= MOST_BESIDE_SILENT;
  }

  /** One in the place of this. */
  #planNext({ upAt }: Current): void {
    const steady = performance.now() - upAt >= STEADY;
    this.#failures = steady ? 0 : this.#failures + 1;
    this.#nextAt = this.#failures === 0 ? 0 : performance.now() + retryDelay('lost', this.#failures, Math.random());
  }

  #start(): void {
    detached(
      'link/dialer',
      () => this.#run(),
      () => {
        this.#failures += 1;
        this.#nextAt = performance.now() + retryDelay('lost', this.#failures, Math.random());
        this.#start();
      },
    );
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const wait = this.#nextAt - performance.now();
      if (this.#fits()) await this.#woken();
      else if (wait > 0) await this.#woken(wait);
      else if (!this.#hasRoomBeside()) await this.#woken(RECHECK);
      else await this.#try();
    }
  }

  async #try(): Promise<void> {
    const target = this.#target;
    const revision = this.#revisions.now;
    const attempt = new AbortController();
    this.#attempt = attempt;
    try {
      await this.#turn();
      if (attempt.signal.aborted) return;
      const [host, last, learned, onLearned, { signal }] = [this.#host, this.#silentPeer, this.#learned, this.#onLearned, attempt];
      const onSlow = (peer: string): void => this.#logSlow(peer);
      const { opened, peer } = await openFirst({ host, target, last, learned, onLearned, onSlow, signal });
      if (attempt.signal.aborted) {
        opened.link.cut(new LinkError('closed', 'The link was given up.'));
        return;
      }
      if (opened.link.state !== 'up')
        throw new LinkError('lost', `The link to ${peer} ended: ${opened.link.reason ?? 'no reason is known'}.`);
      this.#replace({ opened, target, revision, peer, upAt: performance.now(), renewAt: renewAt(opened.link.expires, Date.now()) });
      linkMetrics.attempts.inc({ outcome: 'up' });
    } catch (error) {
      if (attempt.signal.aborted) return;
      const reason = error instanceof LinkError ? error : new LinkError('tls-failed', `The link cannot be opened.`, error);
      if (!(error instanceof LinkError)) this.#host.log.error({ linkName: this.name, error }, 'link attempt failed unexpectedly');
      linkMetrics.attempts.inc({ outcome: reason.code });
      this.#failures += 1;
      this.#nextAt = performance.now() + retryDelay(reason.code, this.#failures, Math.random());
      // Another router of the site may only have to start, or be stopped for good.
      const level = target instanceof SiblingTarget ? 'info' : 'warn';
      if (this.#problem?.message !== reason.message) this.#host.log[level]({ linkName: this.name, error: reason }, 'link not open');
      this.#problem = problemOf(reason);
      this.#host.changed();
    } finally {
      this.#attempt = undefined;
    }
  }

  #logSlow(peer: string): void {
    if (this.#problem !== undefined) return;
    const words = `No link over ${peer} within ${deadlines.slowAttempt / 1_000} s; the attempt goes on. Does a firewall drop its packets?`;
    this.#problem = { code: 'timeout', message: words };
    this.#host.changed();
  }

  /** One attempt begins in a turn of the event loop: to make its certificates ready takes milliseconds, and a config may bring many links. */
  #turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { dials } = this.#host;
    dials.wait(() => {
      dials.spend();
      resolve();
    });
    return promise;
  }

  #replace(next: Current): void {
    const old = this.#current;
    this.#current = next;
    this.#timesOpened += 1;
    if (this.#learned?.site !== this.site) this.#remember(undefined);
    this.#isEnding = false;
    this.#problem = undefined;
    // It was opened for the cost of a moment ago.
    this.#announceCost();
    if (old !== undefined) this.#putAside(old, next.opened.link);
    // The peer may have been revoked since it was looked at last.
    this.dropRevoked();
    this.#cutOutdated();
    this.#host.log.info(
      {
        linkName: this.name,
        link: next.opened.link.id,
        peer: next.peer,
        router: next.opened.link.router,
        site: next.opened.link.peer.site.name,
      },
      'link up',
    );
    this.#host.changed();
  }

  #putAside(old: Current, next: Link): void {
    const { link } = old.opened;
    const mayComeBack = link.state === 'up' && link.isSilent && !link.leaving && this.#target.servedBy(old.target, old.peer);
    // The one that has been silent longer carries the older connections.
    if (mayComeBack && this.#standby === undefined) this.#standby = old;
    else this.#retire(old, next);
  }

  /** It does not come back; what it carries goes on. */
  #dropStandby(): void {
    const standby = this.#standby;
    this.#standby = undefined;
    clearTimeout(this.#settling);
    if (standby === undefined) return;
    standby.opened.link.retire('another link has taken its place');
    this.#keep(standby);
  }

  /** What another router knows of the network comes a moment after its link: until then the old one leads there. */
  #retire(retired: Current, next: Link): void {
    const old = retired.opened;
    const retire = (): void => old.link.retire('a newer connection has taken its place');
    if (old.link.router === next.router) retire();
    // One whose other end goes is taken down by that, in good time.
    else setTimeout(bounded('link/handover', retire, retire), old.link.leaving ? FAREWELL : handoverOf(next)).unref();
    this.#keep(retired);
  }

  /** For as long as it carries something. */
  #keep({ opened, revision }: Current): void {
    if (opened.link.connections.size > 0) this.#replaced.set(opened, revision);
    this.#cutEarliest();
  }

  #cutEarliest(): void {
    let excess = -MOST_REPLACED;
    for (const { link } of this.#replaced.keys()) excess += link.connections.size;
    for (const { link } of this.#replaced.keys()) {
      const { size } = link.connections;
      if (excess <= 0) return;
      if (size === 0) continue;
      excess -= size;
      this.#host.log.warn({ linkName: this.name, link: link.id, connections: size }, 'earlier link cut off: newer ones carry too much');
      link.cut(new LinkError('closed', 'Too many links have taken the place of this one, and carry something still.'));
    }
  }

  /** Only what has been replaced: a link that is up goes on until another is there. */
  #cutOutdated(): void {
    for (const [{ link }, revision] of this.#replaced) {
      const error = this.#revisions.endOf(revision, this.#target.priorRevisions);
      if (error === undefined) continue;
      this.#host.log.info(
        { linkName: this.name, link: link.id, connections: link.connections.size },
        'link of an earlier certificate cut off',
      );
      link.cut(error);
    }
  }

  #woken(milliseconds?: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = milliseconds === undefined ? undefined : setTimeout(resolve, milliseconds);
    this.#wake = resolve;
    return promise.finally(() => clearTimeout(timer));
  }
}

const handoverOf = ({ roundTrip = 0 }: Link): number => Math.max(HANDOVER, HANDOVER_ROUND_TRIPS * roundTrip);

interface Current {
  readonly opened: OpenedLink;
  readonly target: DialTarget;
  /** Of its bundle. */
  readonly revision: number;
  readonly peer: string;
  /** performance.now() */
  readonly upAt: number;
  /** Milliseconds since 1970: when a new one should be opened, as the peer's certificate ends soon after. */
  readonly renewAt: number;
}

/** In the last quarter of what is left, and the last hour: a peer that renews has done so by then. Not so late that no look falls into it. */
function renewAt(expires: number, now: number): number {
  return expires - Math.min(EARLY, Math.max(LATEST, (expires - now) / 4));
}
