import { connect, type Socket } from 'node:net';
import { bounded } from '../../../telemetry/boundary.ts';
import type { LinkEndpoint, ProxyConfig } from '../../contract.ts';
import { hostPort } from '../../../text/host-port.ts';
import { lookupKnown } from '../../../net/host-names.ts';
import { LinkError } from '../link-errors.ts';
import { codeOf } from '../tls-errors.ts';

export interface TunnelOptions {
  readonly proxy: ProxyConfig;
  readonly endpoint: LinkEndpoint;
  /** Milliseconds for the proxy's name, TCP and its response together. */
  readonly deadline: number;
  readonly signal: AbortSignal;
}

/** Most bytes of a response's head. */
const MOST_BYTES = 16_384;
/** End of a head, with CRLF or with bare LF (RFC 9112 section 2.2). */
const HEAD_END = /\r?\n\r?\n$/;

/**
 * Requests a tunnel from a proxy (HTTP CONNECT, RFC 9110 section 9.3.6), which resolves the endpoint's name. Errors show only the status of
 * its response, since the proxy knows the credentials and could echo them.
 * @throws LinkError
 */
export function openTunnel({ proxy, endpoint, deadline, signal }: TunnelOptions): Promise<Socket> {
  const at = hostPort(proxy);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host: proxy.host, port: proxy.port, lookup: lookupKnown, noDelay: true });
  const fail = (error: LinkError): void => {
    socket.destroy();
    reject(error);
  };
  const faulty = (error: unknown): void => fail(proxyError(error, at));
  const onAbort = bounded(
    'connection/tunnel-given-up',
    () => fail(new LinkError('closed', `The attempt to reach ${at} was aborted.`)),
    faulty,
  );
  const late = (): void => fail(new LinkError('timeout', `No answer from the proxy at ${at} within ${deadline / 1_000} s.`));
  const timer = setTimeout(bounded('connection/tunnel-deadline', late, faulty), deadline);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  let head = '';
  const readHead = (): void => {
    // Byte by byte, so that nothing has to be put back.
    for (let byte: unknown = socket.read(1); byte instanceof Uint8Array; byte = socket.read(1)) {
      head += String.fromCharCode(byte[0] ?? 0);
      if (head.length > MOST_BYTES) return fail(notProxy(at));
      if (!HEAD_END.test(head.slice(-4))) continue;
      const refusal = refusalIn(head, proxy, endpoint);
      if (refusal === undefined) resolve(socket);
      else fail(refusal);
      return undefined;
    }
  };
  const onClose = (): void =>
    fail(head === '' ? new LinkError('lost', `The proxy at ${at} closed the connection without a response.`) : notProxy(at));
  const onReadable = bounded('connection/tunnel-readable', readHead, faulty);
  const onError = bounded('connection/tunnel-error', faulty, faulty);
  const onEnd = bounded('connection/tunnel-end', onClose, faulty);
  const request = requestOf(proxy, endpoint);
  const ask = (): boolean => socket.write(request);
  socket.once('connect', bounded('connection/tunnel-connect', ask, faulty));
  socket.on('readable', onReadable);
  socket.on('error', onError);
  socket.once('end', onEnd);
  socket.once('close', onEnd);
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    socket.removeListener('readable', onReadable);
    socket.removeListener('end', onEnd);
    socket.removeListener('close', onEnd);
  });
}

function requestOf({ username, password }: ProxyConfig, endpoint: LinkEndpoint): string {
  const to = hostPort(endpoint);
  const isOpen = username === undefined && password === undefined;
  const credentials = Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64');
  return `CONNECT ${to} HTTP/1.1\r\nHost: ${to}\r\n${isOpen ? '' : `Proxy-Authorization: Basic ${credentials}\r\n`}\r\n`;
}

/** @returns undefined if the tunnel is open */
function refusalIn(head: string, proxy: ProxyConfig, endpoint: LinkEndpoint): LinkError | undefined {
  const at = hostPort(proxy);
  const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |\r|\n)/.exec(head)?.[1]);
  if (status >= 200 && status < 300) return undefined;
  if (status === 407) {
    const what =
      proxy.username === undefined ? 'requires username and password; put them' : 'rejects the username and password; correct them';
    return new LinkError('proxy-refused', `The proxy at ${at} ${what} in the Secret that the link names (status 407).`);
  }
  const to = hostPort(endpoint);
  if (status >= 500 && status < 600) return new LinkError('unreachable', `The proxy at ${at} cannot reach ${to} (status ${status}).`);
  if (status >= 300 && status < 500) {
    return new LinkError(
      'proxy-refused',
      `The proxy at ${at} does not permit connections to ${to} (status ${status}). Ask its administrator.`,
    );
  }
  return notProxy(at);
}

const notProxy = (at: string): LinkError =>
  new LinkError('not-a-proxy', `The server at ${at} is not an HTTP proxy. Correct host and port in the Secret that the link names.`);

function proxyError(error: unknown, at: string): LinkError {
  if (error instanceof LinkError) return error;
  const code = codeOf(error);
  switch (code) {
    case 'ECONNREFUSED':
      return new LinkError(
        'refused',
        `Connection refused: nothing is listening at the proxy ${at}. Is it running, and is this its port?`,
        error,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_NODATA':
    case 'EAI_NONAME':
      return new LinkError('name-unknown', `The host name of the proxy ${at} cannot be resolved (${code}).`, error);
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
    case 'ETIMEDOUT':
      return new LinkError('unreachable', `Unreachable: there is no route to the proxy ${at} (${code}).`, error);
    default:
      return new LinkError('lost', `The connection to the proxy ${at} broke (${code}).`, error);
  }
}
