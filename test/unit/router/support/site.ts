import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import type {
  AccessConfig,
  ConnectorConfig,
  LinkConfig,
  ListenerConfig,
  Router,
  RouterConfig,
  RouterHooks,
  TlsBundle,
} from '../../../../src/router/contract.ts';
import { generateSiteKey } from '../../../../src/identity/site-key.ts';
import { siteIdOf } from '../../../../src/identity/site-id.ts';
import { startRouter } from '../../../../src/router/router.ts';
import { createLogger, type Logger } from '../../../../src/telemetry/log.ts';

export const quiet: Logger = createLogger({ level: process.env.TEST_LOG === undefined ? 'silent' : 'debug', component: 'test' });

/** A config of a site of its own, with nothing in it. */
export function siteConfig(name: string): RouterConfig {
  const { key } = generateSiteKey();
  return {
    site: { id: siteIdOf(key.publicKey), name, namespace: name, platform: 'linux', version: '0.0.0' },
    siteKey: key,
    router: 'main',
    edge: false,
    listeners: [],
    connectors: [],
    links: [],
    accesses: [],
    revoked: { sites: [], serials: [] },
  };
}

export const listener = (routingKey: string, port: number, more: Partial<ListenerConfig> = {}): ListenerConfig => ({
  name: `Listener/${routingKey}`,
  host: '127.0.0.1',
  port,
  destination: { kind: 'key', routingKey },
  observer: 'none',
  ...more,
});

export const connector = (routingKey: string, port: number): ConnectorConfig => ({
  name: `Connector/${routingKey}`,
  routingKey,
  hosts: ['127.0.0.1'],
  port,
});

export const access = (tls: TlsBundle, more: Partial<AccessConfig> = {}): AccessConfig => ({
  name: 'access',
  host: '127.0.0.1',
  port: 0,
  tls,
  role: 'inter-router',
  ...more,
});

export const link = (name: string, port: number, tls: TlsBundle, more: Partial<LinkConfig> = {}): LinkConfig => ({
  name,
  endpoints: [{ host: '127.0.0.1', port }],
  cost: 1,
  tls,
  ...more,
});

export const start = (config: RouterConfig, hooks: RouterHooks = {}): Promise<Router> => startRouter(config, hooks, { log: quiet });

/** Resolves as soon as the router's state matches; rejects with the state after a minute by default. */
export async function until(router: Router, what: string, holds: (state: Router['state']) => boolean, within = 60_000): Promise<void> {
  if (holds(router.state)) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const end = router.onChange(() => {
    if (holds(router.state)) resolve();
  });
  const timer = setTimeout(() => reject(new Error(`Waited in vain for: ${what}. State: ${JSON.stringify(router.state)}`)), within);
  try {
    await promise;
  } finally {
    end();
    clearTimeout(timer);
  }
}

/** The port at which an access listens. */
export async function accessPort(router: Router, name = 'access'): Promise<number> {
  await until(router, `access ${name} listening`, (state) => state.accesses[name]?.listening === true);
  return router.state.accesses[name]?.port ?? 0;
}

export interface EchoServer extends AsyncDisposable {
  readonly port: number;
  readonly sockets: ReadonlySet<Socket>;
}

/** Sends back what it gets, half-close for half-close. */
export async function echoServer(greeting = ''): Promise<EchoServer> {
  const sockets = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    if (greeting !== '') socket.write(greeting);
    socket.pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    // A TCP server that listens has an address.
    port: (server.address() as AddressInfo).port,
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Connects, sends the text, half-closes, and returns all that comes back until the other end does. */
export async function ask(port: number, text: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  const chunks: Buffer[] = [];
  socket.end(text);
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** Connects and waits for the server's greeting. */
export async function greeted(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  await once(socket, 'data');
  return socket;
}
