import { connect, type Socket } from 'node:net';
import { bounded } from '../../../telemetry/boundary.ts';
import type { SiblingConfig } from '../../contract.ts';
import { LinkError } from '../link-errors.ts';
import { codeOf, connectError } from '../tls-errors.ts';
import { KnownTarget, type DialEndpoint, type DialTarget } from './dial-endpoints.ts';

/** Another router's socket as a dialer's target. A first line names the protocol, in place of ALPN. */
export class SiblingTarget extends KnownTarget {
  readonly #path: string;

  constructor(path: string) {
    super();
    this.#path = path;
  }

  endpoints(): readonly DialEndpoint[] {
    return [{ peer: this.#path, dial: (protocol, deadline, signal) => dialUnix(this.#path, protocol, deadline, signal) }];
  }

  equals(other: DialTarget): boolean {
    return other instanceof SiblingTarget && other.#path === this.#path;
  }
}

function dialUnix(path: string, protocol: string, deadline: number, signal: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ path, allowHalfOpen: true });
  const fail = (error: LinkError): void => {
    socket.destroy();
    reject(error);
  };
  const faulty = (error: unknown): void => fail(connectError(error, path));
  const onAbort = bounded(
    'connection/sibling-given-up',
    () => fail(new LinkError('closed', `The attempt to reach ${path} was aborted.`)),
    faulty,
  );
  const late = (): void => fail(new LinkError('timeout', `No answer at ${path} within ${deadline / 1_000} s.`));
  const timer = setTimeout(bounded('connection/sibling-deadline', late, faulty), deadline);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  const onError = bounded(
    'connection/sibling-error',
    (error: Error) =>
      fail(
        codeOf(error) === 'ENOENT' ? new LinkError('refused', `The router at ${path} is not running.`, error) : connectError(error, path),
      ),
    faulty,
  );
  // Only after the write: the other end may have gone, and nothing else would report that.
  const onWritten = (error: Error | null | undefined): void => {
    if (error === undefined || error === null) resolve(socket);
  };
  const onConnect = (): void => {
    socket.write(`${protocol}\n`, bounded('connection/sibling-written', onWritten, faulty));
  };
  socket.on('error', onError);
  socket.once('connect', bounded('connection/sibling-connect', onConnect, faulty));
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  });
}

/** Only the router whose socket has the smaller path opens the link, so there is one for each pair. */
export const dialedFrom = (config: SiblingConfig & { readonly kind: 'unix' }): readonly string[] =>
  config.others.filter((other) => other > config.socket);
