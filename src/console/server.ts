/** HTTP server of the console: the page and its API. It changes nothing; a probe sends traffic. */
import { ConsoleAddresses } from './access.ts';
import { LOOPBACK, listenForConsole, type ConsoleTls } from './listen.ts';
import { RequestHandler, type RequestHandlerOptions } from './request-handler.ts';

export interface ConsoleServerOptions extends RequestHandlerOptions {
  /** Port on the loopback address; 0 for any free one. */
  readonly port: number;
  /** Further addresses of the console, such as that of a proxy. */
  readonly publicUrls: readonly URL[];
  /** Certificate and key in PEM, with which the server listens on all addresses. Default: HTTP on the loopback address. */
  readonly tls?: ConsoleTls;
}

export interface ConsoleServer extends AsyncDisposable {
  readonly port: number;
  /** @returns a link that one page can open within five minutes */
  createLink(): string;
  /** Applies to new connections. Ends the open ones if the authority of the proxies changed. No-op without `tls`. */
  setTls(tls: ConsoleTls): void;
}

/** @throws Error if the port cannot be opened, or if certificate and key do not fit */
export async function serveConsole({ port, publicUrls, tls, ...options }: ConsoleServerOptions): Promise<ConsoleServer> {
  await using stack = new AsyncDisposableStack();
  const handler = stack.use(new RequestHandler(options));
  // `kubectl port-forward` may use any port of the user's machine.
  const addressesAt = (own: number): ConsoleAddresses =>
    new ConsoleAddresses(options.users === undefined ? own : undefined, publicUrls, options.users?.acceptsAnyHost);
  const hasProxies = tls?.proxyCa !== undefined;
  let addresses = addressesAt(port);
  const opened = await listenForConsole(
    (request, response) => handler.handle(request, response, { addresses, hasProxies, admitted: (socket) => opened.admitted(socket) }),
    port,
    tls,
  );
  stack.defer(() => opened.close());
  // The port that was free.
  addresses = addressesAt(opened.port);
  const page = publicUrls[0]?.href.replace(/\/*$/, '/') ?? `http://${LOOPBACK}:${opened.port}/`;
  const owned = stack.move();
  return {
    port: opened.port,
    createLink: () => `${page}#t=${handler.createToken()}`,
    setTls: opened.setTls,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
