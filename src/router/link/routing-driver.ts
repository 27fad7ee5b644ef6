import type { Logger } from '../../telemetry/log.ts';
import { bounded } from '../../telemetry/boundary.ts';
import { CpuBudget } from '../../limits/cpu-budget.ts';
import { DelayedCall } from '../../limits/loop/delayed-call.ts';
import { RoutingError } from '../../routing/errors.ts';
import type { Outgoing, OwnFacts, Routing } from '../../routing/contract.ts';
import type { Link } from './link.ts';
import type { Links } from './links.ts';

const TICK = 1_000;
/** Milliseconds before deferred messages are released: see `ownReleases`. The routers that need them may be without a path until then. */
const SOON = 200;
/**
 * Bytes queued for a peer above which it gets no updates. They would arrive late, and a router with endless updates could get peers on
 * slower paths disconnected for not reading. Omitted updates are found when both ends compare, and then only the latest counts.
 */
const MOST_WAITING = 262_144;
/**
 * CPU-time budget of change notifications: part of the time, and milliseconds of burst. Each notification visits all listeners, and peers
 * decide how often. A router that has just started and compiled nothing needs tens of milliseconds for each of the first ones. It is not
 * ready before its listeners are open.
 */
const NOTICE_TIME = { part: 0.1, burst: 500, most: 50 } as const;

export interface RoutingFeedOptions {
  readonly log: Logger;
  readonly routing: Routing;
  readonly links: Links;
  /** Called when routes have changed, at most once in an event-loop iteration and within a CPU-time budget. */
  readonly onChange: () => void;
}

/** Feeds events to `Routing`, which is pure, and sends its messages over the links. */
export class RoutingDriver implements Disposable {
  readonly #options: RoutingFeedOptions;
  readonly #timer: NodeJS.Timeout;
  #version: number;
  /** Links for which updates were omitted. */
  readonly #missed = new Set<string>();
  readonly #noticeTime = new CpuBudget(NOTICE_TIME.part, NOTICE_TIME.burst, NOTICE_TIME.most);
  readonly #notices = new DelayedCall({
    name: 'look/routing-change',
    call: () => this.#notify(),
    delay: () => this.#noticeTime.wait(performance.now()),
    // The next change or the next tick a second later notifies again.
    onError: () => {
      this.#version = -1;
    },
  });
  #soon: NodeJS.Timeout | undefined;
  #next: NodeJS.Immediate | undefined;
  #disposed = false;

  constructor(options: RoutingFeedOptions) {
    this.#options = options;
    this.#version = options.routing.version;
    const tick = (): void => {
      this.#logMissed();
      this.#run((now) => options.routing.tick(now));
    };
    this.#timer = setInterval(bounded('look/routing-tick', tick), TICK);
  }

  setFacts(facts: OwnFacts): void {
    this.#run((now) => this.#options.routing.setFacts(facts, now));
  }

  /** The link is up, its cost has changed, or it has become silent or is no longer silent. */
  up(link: Link): void {
    const { routing } = this.#options;
    const { router, cost, confined, isSilent } = link;
    const adjacency = { router, site: link.peer.site, link: link.id, cost, confined, isSilent };
    this.#run((now) => routing.adjacencyUp(adjacency, now));
  }

  down(link: Link): void {
    this.#run((now) => this.#options.routing.adjacencyDown(link.id, now));
  }

  /** Treats these sites as unreachable from now on. */
  block(sites: ReadonlySet<string>): void {
    this.#run(() => {
      this.#options.routing.block(sites);
      return [];
    });
  }

  /** @throws RoutingError to disconnect the peer */
  receive(link: Link, message: Buffer): void {
    this.#run((now) => this.#options.routing.receive(link.id, message, now));
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    clearInterval(this.#timer);
    this.#isReleased();
    this.#notices.end();
  }

  #run(step: (now: number) => readonly Outgoing[]): void {
    if (this.#disposed) return;
    const { routing, log } = this.#options;
    try {
      for (const outgoing of step(Date.now())) this.#send(outgoing);
    } catch (error) {
      // Messages before an invalid one may have changed something too.
      this.#notices.request();
      if (!(error instanceof RoutingError)) log.error({ error }, 'routing failed');
      throw error;
    }
    if (routing.version !== this.#version) this.#notices.request();
    const { waiting } = routing;
    if (waiting === 'a turn') this.#next ??= setImmediate(this.#release);
    if (waiting === 'a while') this.#soon ??= setTimeout(this.#release, SOON);
  }

  #send({ link, message, isNews = false }: Outgoing): void {
    const stream = this.#options.links.get(link)?.routing;
    if (stream === undefined) return;
    if (isNews && stream.queued > MOST_WAITING) this.#missed.add(link);
    else stream.send(message);
  }

  #logMissed(): void {
    const { links, routing } = this.#options;
    for (const link of this.#missed) {
      const stream = links.get(link)?.routing;
      if (stream !== undefined && stream.queued > MOST_WAITING / 2) continue;
      this.#missed.delete(link);
      if (stream !== undefined) routing.missed(link);
    }
  }

  /** If it throws, the next tick releases. */
  readonly #release = bounded(
    'look/routing-release',
    () => {
      this.#isReleased();
      this.#run((now) => this.#options.routing.release(now));
    },
    () => this.#isReleased(),
  );

  #isReleased(): void {
    clearTimeout(this.#soon);
    clearImmediate(this.#next);
    this.#soon = undefined;
    this.#next = undefined;
  }

  #notify(): void {
    this.#version = this.#options.routing.version;
    const began = performance.now();
    this.#options.onChange();
    const now = performance.now();
    this.#noticeTime.spend(now - began, now);
  }
}
