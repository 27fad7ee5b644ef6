import assert from 'node:assert/strict';
import type { Router, RouterConfig } from '../../../../src/router/contract.ts';
import { freePort } from '../../support/free-port.ts';
import { testAuthority, type TestAuthority } from './certificates.ts';
import { access, accessPort, ask, connector, echoServer, link, listener, siteConfig, start, until, type EchoServer } from './site.ts';

/** A site with a server behind `key`, and another that has a listener for it, and opens the link. */
export interface Pair extends AsyncDisposable {
  readonly server: Router;
  readonly client: Router;
  readonly serverConfig: RouterConfig;
  /** Port on which the server accepts links. */
  readonly access: number;
  /** Port on which the client listens. */
  readonly port: number;
  /** Holds it to be of use still, where the server sends no greeting. */
  service(): Promise<void>;
}

export async function pair(authority: Pick<TestAuthority, 'issue'>, greeting = ''): Promise<Pair> {
  await using stack = new AsyncDisposableStack();
  const echo = stack.use(await echoServer(greeting));
  const port = await freePort();
  const serverConfig = { ...siteConfig('server'), accesses: [access(await authority.issue())], connectors: [connector('key', echo.port)] };
  const server = stack.use(await start(serverConfig));
  const at = await accessPort(server);
  const clientConfig = {
    ...siteConfig('client'),
    listeners: [listener('key', port)],
    links: [link('server', at, await authority.issue())],
  };
  const client = stack.use(await start(clientConfig));
  await until(client, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  const owned = stack.move();
  return {
    server,
    client,
    serverConfig,
    access: at,
    port,
    service: async () => assert.equal(await ask(port, 'still served'), 'still served'),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Left and right have no link to each other: the middle carries what left's listener takes to right's connector. */
export interface Row extends AsyncDisposable {
  readonly left: Router;
  readonly right: Router;
  readonly leftConfig: RouterConfig;
  readonly rightConfig: RouterConfig;
  readonly echo: EchoServer;
  /** Port on which left listens. */
  readonly port: number;
}

export async function row(greeting = ''): Promise<Row> {
  await using stack = new AsyncDisposableStack();
  const authority = await testAuthority();
  const echo = stack.use(await echoServer(greeting));
  const port = await freePort();
  const middle = stack.use(await start({ ...siteConfig('middle'), accesses: [access(await authority.issue())] }));
  const at = await accessPort(middle);
  const leftConfig = { ...siteConfig('left'), links: [link('middle', at, await authority.issue())], listeners: [listener('key', port)] };
  const rightConfig = {
    ...siteConfig('right'),
    links: [link('middle', at, await authority.issue())],
    connectors: [connector('key', echo.port)],
  };
  const [left, right] = [stack.use(await start(leftConfig)), stack.use(await start(rightConfig))];
  await until(left, 'the listener', (state) => state.listeners['Listener/key']?.listening === true);
  await until(right, 'three sites', (state) => state.network.length === 3);
  const owned = stack.move();
  return { left, right, leftConfig, rightConfig, echo, port, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
