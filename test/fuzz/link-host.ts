import assert from 'node:assert/strict';
import type { Random } from '../../bench/routing/random.ts';
import type { Party } from '../../src/identity/revocation.ts';
import type { RequestHead, Stream, StreamHandler } from '../../src/http2/contract.ts';
import type { Hello } from '../../src/router/link/session/hello.ts';
import type { LinkHost } from '../../src/router/link/host.ts';
import type { Link } from '../../src/router/link/link.ts';
import { LoopQuota, PeerLoopQuotas } from '../../src/limits/loop/loop-quota.ts';
import { Links } from '../../src/router/link/links.ts';
import { Memory } from '../../src/memory/memory.ts';
import { createClosingSlots } from '../../src/router/link/session/connection.ts';
import type { Liveness } from '../../src/router/link/session/liveness.ts';
import { refuse } from '../../src/router/link/refusal.ts';
import { isVia, writeVia } from '../../src/router/via.ts';
import { relay } from '../../src/router/link/relay.ts';
import { nextStep } from '../../src/router/link/route.ts';
import { ROUTE_FIELD } from '../../src/router/wire.ts';
import type { Outgoing, Routing } from '../../src/routing/contract.ts';
import { createRouting } from '../../src/routing/routing.ts';
import { logInternalErrors, seam } from '../../src/telemetry/boundary.ts';
import { messageTime } from '../../src/routing/limits.ts';
import { KeyedCpuBudget } from '../../src/limits/cpu-budget.ts';
import { createLogger } from '../../src/telemetry/log.ts';
import { SITES } from './link-words.ts';
import { StreamUser } from './session-user.ts';

const NOW = 1_700_000_000_000;
const quiet = createLogger({ level: 'silent', component: 'fuzz' });

/** Unexpected errors, for the end of the case. */
let unexpected: unknown[] = [];
logInternalErrors(quiet);
seam.seen = (error) => unexpected.push(error);

/** A router around one peer: what links ask of it is real, but for the local side, where each key has someone who takes the connection. */
export class FuzzedHost implements LinkHost {
  readonly log = quiet;
  readonly self = `${SITES[0].site.id}/main`;
  readonly siteKey = SITES[0].siteKey;
  readonly links = new Links();
  readonly liveness: Liveness;
  readonly memory = new Memory({ bytes: Infinity, peers: Infinity }, quiet);
  readonly turns = new PeerLoopQuotas();
  readonly closing = createClosingSlots();
  readonly dials = new LoopQuota(() => 1);
  readonly messageTime = new KeyedCpuBudget(messageTime.part, messageTime.burst);
  readonly hooks = {};
  readonly draining = false;
  readonly relayed = { open: 0, total: 0, failed: 0, bytes: 0 };
  readonly users: StreamUser[] = [];
  ups = 0;
  messages = 0;
  readonly #random: Random;
  readonly #routing: Routing;
  #downs = 0;

  constructor(random: Random, liveness: Liveness) {
    this.#random = random;
    this.liveness = liveness;
    const { site, siteKey } = SITES[0];
    // Signatures count as right in every second case, so that what is behind them is reached too.
    const trusting = random.below(2) === 0;
    this.#routing = createRouting({
      router: 'main',
      site,
      siteKey: { ...siteKey, sign: () => Buffer.alloc(64, 1) },
      verify: () => trusting,
    });
  }

  readonly events = {
    onUp: (link: Link): void => {
      this.ups += 1;
      this.#send(this.#routing.adjacencyUp({ router: link.router, site: link.peer.site, link: link.id, cost: link.cost }, NOW));
    },
    onDown: (link: Link): void => {
      this.#downs += 1;
      this.links.delete(link);
      this.#send(this.#routing.adjacencyDown(link.id, NOW));
    },
    onClosed: (): void => {},
    onSilence: (): void => {},
    onLeaving: (): void => {},
    onCost: (link: Link): void => {
      if (link.state === 'up')
        this.#send(this.#routing.adjacencyUp({ router: link.router, site: link.peer.site, link: link.id, cost: link.cost }, NOW));
    },
  };

  hello(link: Hello['link']): Hello {
    return { versions: [1], router: 'main', site: SITES[0].site, edge: false, link };
  }

  isRevoked(): boolean {
    return false;
  }

  connect(stream: Stream, head: RequestHead, from: Party, owner: string): StreamHandler {
    if (!isVia(head.fields)) return refuse(stream, 400, 'http_request_error');
    const step = nextStep(head.fields[ROUTE_FIELD], this.self, false);
    if (step.kind === 'refuse') return refuse(stream, step.status, 'http_request_error', step.reason);
    if (step.kind === 'forward') {
      const whose = { owner, key: head.authority };
      const onward = { ...head, fields: { ...writeVia(head.fields, from, SITES[0].site.id), [ROUTE_FIELD]: step.rest } };
      const open = (to: RequestHead, handler: StreamHandler): Stream => this.links.openTo(step.next, false, to, handler, whose);
      return relay(stream, onward, open, this.relayed, { memory: this.memory, log: this.log, ...whose });
    }
    const user = new StreamUser(this.#random, false);
    user.stream = stream;
    this.users.push(user);
    user.act();
    return user;
  }

  routingMessage(link: Link, message: Buffer): void {
    this.messages += 1;
    this.#send(this.#routing.receive(link.id, message, NOW + this.messages));
  }

  siblingMessage(): void {}

  changed(): void {}

  /** Users behind the router act. */
  act(): void {
    for (const user of this.users) user.act();
  }

  /** Whether each connection was notified of its end. */
  get isOver(): boolean {
    return this.users.every((user) => user.isOver);
  }

  /** @throws AssertionError where something of a peer that is gone is left */
  check(): void {
    const [error] = unexpected;
    unexpected = [];
    if (error !== undefined) throw error;
    assert.equal([...this.links.all].length, 0, 'no link is left');
    assert.ok(this.#downs >= this.ups, 'each link that was up went down');
    assert.equal(this.relayed.open, 0, 'nothing passes through any more');
    assert.ok(this.isOver, 'each connection was notified of its end');
  }

  [Symbol.dispose](): void {
    this.memory[Symbol.dispose]();
  }

  #send(outgoing: readonly Outgoing[]): void {
    for (const { link, message } of outgoing) this.links.get(link)?.routing.send(message);
  }
}
