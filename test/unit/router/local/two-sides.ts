import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { ConnectorConfig, ListenerConfig } from '../../../../src/router/contract.ts';
import type { RequestHead, Session, SessionEvents, StreamHandler } from '../../../../src/http2/contract.ts';
import { createSession } from '../../../../src/http2/session.ts';
import type { LocalLimits, LocalSideOptions } from '../../../../src/router/local/contract.ts';
import { LocalSide } from '../../../../src/router/local/local-side.ts';
import type { RouteDestination } from '../../../../src/routing/contract.ts';
import { roomy } from '../support/memory.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';

export const WEST = '11111111-1111-8111-8111-111111111111';
export const EAST = '22222222-2222-8222-8222-222222222222';
export const WEST_ROUTER = `${WEST}/one`;
export const EAST_ROUTER = `${EAST}/one`;

/** Quick enough for a test; each may set others. */
const LIMITS: Partial<LocalLimits> = { setAsideFirst: 20, setAsideMost: 100, listenFirst: 10, listenMost: 50, linger: 10 };

export const here = (router: string, connectors = 1): RouteDestination => ({ router, cost: 0, connectors, path: [], links: [] });
export const there = (router: string, cost = 1, connectors = 1): RouteDestination => ({
  router,
  cost,
  connectors,
  path: [router],
  links: ['link'],
});

/** Reachability of keys, set by a test. */
export class FixedRouting {
  readonly self: string;
  /** Routers to which the way is silent. */
  readonly silent = new Set<string>();
  readonly byKey = new Map<string, readonly RouteDestination[]>();

  constructor(self: string) {
    this.self = self;
  }

  destinations(routingKey: string): readonly RouteDestination[] {
    return this.byKey.get(routingKey) ?? [];
  }

  hasListener(): boolean {
    return true;
  }

  isSilent(path: RouteDestination['path']): boolean {
    return path.some((router) => this.silent.has(router));
  }

  site(): undefined {
    return undefined;
  }
}

export interface OneSide {
  readonly local: LocalSide;
  readonly routing: FixedRouting;
}

/** A local side that has no links, unless the test gives it `open`. */
export function oneSide(self = WEST_ROUTER, options: Partial<LocalSideOptions> = {}): OneSide {
  const routing = new FixedRouting(self);
  const local = new LocalSide({
    log: createLogger({ level: 'silent', component: 'test' }),
    site: self.slice(0, self.indexOf('/')),
    routing,
    budget: roomy(),
    open: () => {
      throw new Error('no link');
    },
    ...options,
    limits: { ...LIMITS, ...options.limits },
  });
  return { local, routing };
}

/** Two local sides that one session joins: listeners in the west, connectors in the east. */
export interface TwoSides extends AsyncDisposable {
  readonly west: OneSide;
  readonly east: OneSide;
  /** Requests of the west to the east. */
  readonly heads: readonly RequestHead[];
  readonly session: Session;
}

export async function twoSides(options: Partial<LocalSideOptions> = {}): Promise<TwoSides> {
  const [near, far] = await socketPair();
  const heads: RequestHead[] = [];
  const east = oneSide(EAST_ROUTER, options);
  createSession(far, { role: 'server', events: events((stream, head) => east.local.accept(stream, head, { owner: 'site' })) });
  const session = createSession(near, { role: 'client', events: events(() => refuseAll) });
  const west = oneSide(WEST_ROUTER, {
    ...options,
    open: (_to, head, handler) => {
      heads.push(head);
      return session.request(head, handler);
    },
  });
  return {
    west,
    east,
    heads,
    session,
    async [Symbol.asyncDispose]() {
      await west.local[Symbol.asyncDispose]();
      await east.local[Symbol.asyncDispose]();
      session.destroy();
      far.destroy();
    },
  };
}

const refuseAll: StreamHandler = { onResponse() {}, onData() {}, onEnd() {}, onDrain() {}, onReset() {} };

const events = (onRequest: SessionEvents['onRequest']): SessionEvents => ({
  onRequest,
  onReady() {},
  onGoaway() {},
  onClose() {},
  onInternalError(_part, error) {
    throw error;
  },
});

async function socketPair(): Promise<readonly [Socket, Socket]> {
  const server = createServer();
  const accepted = new Promise<Socket>((resolve) => server.once('connection', resolve));
  const near = connect({ port: await listen(server), host: '127.0.0.1', noDelay: true });
  const far = await accepted;
  far.setNoDelay();
  server.close();
  return [near, far];
}

/** @returns the port */
export function listen(server: Server, port = 0, host = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // A server that listens on TCP has an address and a port.
    server.listen(port, host, () => resolve((server.address() as AddressInfo).port));
  });
}

export const listener = (port: number, routingKey: string, changes: Partial<ListenerConfig> = {}): ListenerConfig => ({
  name: `Listener/${routingKey}`,
  host: '127.0.0.1',
  port,
  destination: { kind: 'key', routingKey },
  observer: 'none',
  ...changes,
});

/** Its server sees no connections but those of clients. */
export const connector = (port: number, routingKey: string, changes: Partial<ConnectorConfig> = {}): ConnectorConfig => ({
  ...probedConnector(port, routingKey, changes),
  probe: 'none',
});

/** As people have them: new servers, and those that fail, are probed. */
export const probedConnector = (port: number, routingKey: string, changes: Partial<ConnectorConfig> = {}): ConnectorConfig => ({
  name: `Connector/${routingKey}`,
  routingKey,
  hosts: ['127.0.0.1'],
  port,
  ...changes,
});
