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
import { figuresOf } from '../link-figures.ts';
import { linkFields } from '../link-log.ts';
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
import { sentence } from '../../../text/sentence.ts';

/** Milliseconds after which a link counts as steady and is reopened at once when it ends. An earlier end counts as a failure. */
const STEADY = 5_000;
/** Most milliseconds before the expiry of the peer's certificate at which a new link is opened. */
const EARLY = 3_600_000;
/** Least milliseconds before it: expiry is checked every second, and opening a link takes time. */
const LATEST = 2_500;
/** Milliseconds, and round trips, that a link stays up beside its successor to another router, until routing has arrived over that one. */
const [HANDOVER, HANDOVER_ROUND_TRIPS] = [1_000, 3];
/** Milliseconds in place of these if the other end has announced its shutdown. */
const FAREWELL = 12_000;
/**
 * Most connections of replaced links, as many as an access keeps of a site. The other end can cause a new link every few seconds, and
 * decides how long the earlier ones carry something.
 */
const MOST_REPLACED = CONNECTIONS_OF_PEER - PLACES_OF_LINK;
/**
 * Most connections beside which a link is opened while another is silent. Half of what an access keeps of a site, which may have two
 * routers.
 */
const MOST_BESIDE_SILENT = limitTable.connectionsBesideSilent.value;
/** Milliseconds between two checks whether there are fewer. */
const RECHECK = 1_000;
/** Milliseconds for connections to finish after their link was removed. */
const CLOSE_DEADLINE = 60_000;

/**
 * Keeps a link to a target open. It waits while a link fits, and otherwise opens one, with backoff. A link that no longer fits (a new
 * certificate, other endpoints) is retired only when its successor is up. So no connection is lost.
 *
 * Invariants: at most one attempt runs, that of `#run`; a link that an aborted one still opens is cut. Only a link that came up replaces
 * `#current`; earlier ones stay in `#replaced` while they carry something. Once stopped, it makes no attempt, and `#current` stays.
 * `#standby` is up, and is silent unless `#settling` is set.
 */
export class Dialer {
  readonly name: string;
  readonly #host: LinkHost;
  #target: DialTarget;
  #current: Current | undefined;
  /** A silent link that was replaced. It is used again if it recovers, since open connections are on it. */
  #standby: Current | undefined;
  /** Timer to close one of two working links. */
  #settling: NodeJS.Timeout | undefined;
  #timesOpened = 0;
  #problem: Problem | undefined;
  #lastProblem: LinkState['lastProblem'];
  #attempts = 0;
  /** Text about the current attempt, if it is slow. */
  #slow: string | undefined;
  /** Peer of the last link that fell silent. */
  #silentPeer: string | undefined;
  #failures = 0;
  #nextAt = 0;
  readonly #stop = new AbortController();
  #attempt: AbortController | undefined;
  #wake: () => void = () => {};
  /** Replaced links, with the revision of their bundle. */
  readonly #replaced = new Map<OpenedLink, number>();
  readonly #revisions: Revisions;
  /** Endpoints announced by the current or last site of the link. */
  #learned: Learned | undefined;
  /** Whether they were announced over this link at any time. */
  #wasNotified = false;
  readonly #onLearned: (learned: Learned) => void;
  /** Whether the peer's certificate is about to expire. */
  #isEnding = false;

  /** @param onLearned called when a site announces its endpoints over this link */
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
    const announced = this.#learned === undefined ? [] : this.#target.ofLearned(this.#learned);
    return {
      operational: up,
      ...(this.site === undefined ? {} : { remoteSiteId: this.site }),
      ...(current === undefined ? {} : { remoteSiteName: current.opened.link.peer.site.name }),
      ...(current === undefined || !up ? {} : { endpoint: current.peer }),
      ...(announced.length === 0 ? {} : { announced }),
      ...(silentSince === undefined || !up ? {} : { silentSince }),
      ...(this.#slow === undefined ? {} : { slow: this.#slow }),
      ...(this.#problem === undefined ? {} : { problem: this.#problem }),
      attempts: this.#attempts,
      ...(this.#lastProblem === undefined ? {} : { lastProblem: this.#lastProblem }),
      get figures() {
        return current === undefined ? undefined : figuresOf(current.opened.link);
      },
    };
  }

  /** Number of times that its link came up. */
  get timesOpened(): number {
    return this.#timesOpened;
  }

  /** The link, if it is up. */
  get opened(): OpenedLink | undefined {
    return this.#current?.opened.link.state === 'up' ? this.#current.opened : undefined;
  }

  /** Whether it has stopped and all connections of its links have ended. */
  get idle(): boolean {
    return this.#stop.signal.aborted && !this.#carriesAny;
  }

  /** ID of the current or last site of the link. */
  get site(): string | undefined {
    return this.#current?.opened.link.peer.site.id ?? this.#learned?.site;
  }

  /** Endpoints that the current or last site announced over this link, or over another one with the same announcements. */
  get announced(): Learned | undefined {
    return this.#wasNotified ? this.#learned : undefined;
  }

  /** Handles an announcement of endpoints over this link. */
  notify(learned: Learned): void {
    this.#wasNotified = true;
    this.learn(learned);
  }

  /** A link that is up stays where it is, and an attempt continues. So a peer cannot keep this site dialing by its announcements. */
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

  /** Handles that a link, possibly of another dialer, has become silent or is no longer silent. */
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
      // Another endpoint, or another connection to the same one, may work; then new streams use that.
      this.#silentPeer = current.peer;
      this.#planNext(current);
    }
  }

  /** Exchanges the current link and the standby, which is better. */
  #swap(): void {
    const current = this.#current;
    clearTimeout(this.#settling);
    this.#current = this.#standby;
    this.#standby = current?.opened.link.state === 'up' ? current : undefined;
    if (this.#fits()) this.#attempt?.abort();
    this.#host.changed();
  }

  /**
   * Both links work from here. The other end may still consider one of them silent; if the other link closed at once, no path would lead
   * here.
   */
  #settleLater(recovered: Current): void {
    const settle = bounded('link/settled', () => this.#commit());
    this.#settling = setTimeout(settle, handoverOf(recovered.opened.link)).unref();
  }

  /** Keeps the link that carries more. The connections of a closed link continue, but only a bounded number of such links is kept. */
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

  /** Handles the end of a link, possibly of another dialer. */
  linkDown(link: Link): void {
    if (this.#standby?.opened.link === link) this.#dropStandby();
    const current = this.#current;
    if (current === undefined || current.opened.link !== link || this.#stop.signal.aborted) return;
    this.#planNext(current);
    this.#setProblem({ code: 'lost', message: sentence(`The link to ${current.peer} ended: ${link.reason ?? 'no reason is known'}`) });
    this.#silentPeer = current.opened.silent ? current.peer : undefined;
    if (this.#standby !== undefined) {
      this.#swap();
      this.#keep(current);
    }
    this.#host.log.warn({ linkName: this.name, link: link.id, reason: link.reason }, 'link lost');
    this.#host.changed();
    this.#wake();
  }

  /** Handles that the other end of a link, possibly of another dialer, is about to shut down. */
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
      this.#setProblem(problemOf(error));
    }
  }

  /**
   * Opens a new link before the peer's certificate expires, and cuts a link whose certificate has expired if no successor presents a new
   * one.
   */
  cutExpired(now: number): void {
    for (const { link } of this.#opened()) {
      if (link.expires > now || this.#host.links.vouchFor(link.peer.site.id, true, now)) continue;
      const error = expiredError(this.#current?.peer ?? link.router, new Date(link.expires), now);
      this.#host.log.warn({ linkName: this.name, link: link.id, error }, 'link closed');
      link.cut(error);
      this.#setProblem(problemOf(error));
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

  /** All links: the current one, the standby, and replaced ones while they carry something. */
  *#opened(): Iterable<OpenedLink> {
    for (const opened of this.#replaced.keys()) {
      if (opened.link.connections.size === 0) this.#replaced.delete(opened);
      else yield opened;
    }
    if (this.#standby !== undefined) yield this.#standby.opened;
    if (this.#current !== undefined) yield this.#current.opened;
  }

  /** Stops making attempts; what the links carry may finish. */
  drain(deadline = CLOSE_DEADLINE): void {
    this.stop();
    for (const { link } of this.#opened()) link.retire('the link was removed');
    if (this.#carriesAny)
      setTimeout(
        bounded('link/drain-deadline', () => this.destroy()),
        deadline,
      ).unref();
  }

  /** Stops making attempts. */
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

  /** Silent links may recover and resume their connections, so none of them is cut to make room for a new link. */
  #hasRoomBeside(): boolean {
    if (this.opened?.link.isSilent !== true) return true;
    let open = PLACES_OF_LINK;
    for (const { link } of this.#opened()) open += link.connections.size;
    return open <= MOST_BESIDE_SILENT;
  }

  /** Schedules a link to replace this one. */
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
      this.#attempts += 1;
      const [host, last, learned, onLearned, { signal }] = [this.#host, this.#silentPeer, this.#learned, this.#onLearned, attempt];
      const onSlow = (peer: string, hasTcp: boolean): void => this.#reportSlow(peer, hasTcp);
      const { opened, peer } = await openFirst({ host, name: this.name, target, last, learned, onLearned, onSlow, signal });
      if (attempt.signal.aborted) {
        opened.link.cut(new LinkError('closed', 'The link attempt was aborted.'));
        return;
      }
      if (opened.link.state !== 'up')
        throw new LinkError('lost', sentence(`The link to ${peer} ended: ${opened.link.reason ?? 'no reason is known'}`));
      this.#replace({ opened, target, revision, peer, upAt: performance.now(), renewAt: renewAt(opened.link.expires, Date.now()) });
      linkMetrics.attempts.inc({ outcome: 'up' });
    } catch (error) {
      if (attempt.signal.aborted) return;
      const reason = error instanceof LinkError ? error : new LinkError('tls-failed', `The link cannot be opened.`, error);
      if (!(error instanceof LinkError))
        this.#host.log.error({ linkName: this.name, error }, 'link attempt failed with an unexpected error');
      linkMetrics.attempts.inc({ outcome: reason.code });
      this.#failures += 1;
      this.#nextAt = performance.now() + retryDelay(reason.code, this.#failures, Math.random());
      // Another router of the site may only be starting, or may have been stopped for good.
      const level = target instanceof SiblingTarget ? 'info' : 'warn';
      if (this.#problem?.message !== reason.message) this.#host.log[level]({ linkName: this.name, error: reason }, 'link not open');
      this.#setProblem(problemOf(reason));
      this.#host.changed();
    } finally {
      this.#attempt = undefined;
      this.#slow = undefined;
    }
  }

  #setProblem(problem: Problem): void {
    this.#problem = problem;
    this.#lastProblem = { ...problem, at: Date.now() };
  }

  /** Not a problem yet: on a slow path the attempt succeeds. */
  #reportSlow(peer: string, hasTcp: boolean): void {
    const within = `within ${deadlines.slowAttempt / 1_000} s, and the attempt continues.`;
    this.#slow = hasTcp
      ? `${peer} has not completed the link ${within} Is the path or the peer slow?`
      : `${peer} has not answered ${within} Does a firewall drop packets?`;
    this.#host.changed();
  }

  /** Starts one attempt in an event-loop iteration: preparing its certificates takes milliseconds, and a config may bring many links. */
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
    // The cost may have changed since the attempt began.
    this.#announceCost();
    if (old !== undefined) this.#putAside(old, next.opened.link);
    // The peer may have been revoked since the last check.
    this.dropRevoked();
    this.#cutOutdated();
    this.#host.log.info({ ...linkFields(next.opened.link), peer: next.peer }, 'link up');
    this.#host.changed();
  }

  #putAside(old: Current, next: Link): void {
    const { link } = old.opened;
    const mayComeBack = link.state === 'up' && link.isSilent && !link.leaving && this.#target.servedBy(old.target, old.peer);
    // The link that has been silent longer carries the older connections.
    if (mayComeBack && this.#standby === undefined) this.#standby = old;
    else this.#retire(old, next);
  }

  /** Retires the standby for good; what it carries continues. */
  #dropStandby(): void {
    const standby = this.#standby;
    this.#standby = undefined;
    clearTimeout(this.#settling);
    if (standby === undefined) return;
    standby.opened.link.retire('another link has replaced it');
    this.#keep(standby);
  }

  /** Another router's routes arrive a moment after its link. Until then the old link stays up. */
  #retire(retired: Current, next: Link): void {
    const old = retired.opened;
    const retire = (): void => old.link.retire('a newer connection has replaced it');
    if (old.link.router === next.router) retire();
    // A peer that shuts down closes the link itself, in time.
    else setTimeout(bounded('link/handover', retire, retire), old.link.leaving ? FAREWELL : handoverOf(next)).unref();
    this.#keep(retired);
  }

  /** Keeps a replaced link while it carries something. */
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
      this.#host.log.warn({ linkName: this.name, link: link.id, connections: size }, 'earlier link closed: newer ones carry too much');
      link.cut(new LinkError('closed', 'Too many links replaced this one and still have connections.'));
    }
  }

  /** Cuts replaced links only: a link that is up continues until its successor is up. */
  #cutOutdated(): void {
    for (const [{ link }, revision] of this.#replaced) {
      const error = this.#revisions.endOf(revision, this.#target.priorRevisions);
      if (error === undefined) continue;
      this.#host.log.info(
        { linkName: this.name, link: link.id, connections: link.connections.size },
        'link with an earlier certificate closed',
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
  /** Revision of its bundle. */
  readonly revision: number;
  readonly peer: string;
  /** Time of `performance.now()`. */
  readonly upAt: number;
  /** Time in milliseconds since 1970 to open a new link, shortly before the peer's certificate expires. */
  readonly renewAt: number;
}

/**
 * In the last quarter of the remaining time and the last hour, since a peer that renews has done so by then. Early enough for a periodic
 * check.
 */
function renewAt(expires: number, now: number): number {
  return expires - Math.min(EARLY, Math.max(LATEST, (expires - now) / 4));
}
