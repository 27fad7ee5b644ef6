import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { checkServerIdentity, connect, type TLSSocket } from 'node:tls';
import { foreignToLinks } from '../../../identity/certificate-purpose.ts';
import { bounded } from '../../../telemetry/boundary.ts';
import type { LinkEndpoint, ProxyConfig } from '../../contract.ts';
import { hostPort } from '../../../text/host-port.ts';
import { lookupKnown } from '../../../net/host-names.ts';
import { limitOutgoingTls } from '../../../net/outgoing-tls.ts';
import { deadlines } from '../../deadlines.ts';
import { LinkError } from '../link-errors.ts';
import type { LinkBundle } from '../bundle.ts';
import { authorizationCode, certificateError, connectError } from '../tls-errors.ts';
import { weaknessOf } from '../../../x509/parts.ts';
import { openTunnel } from './tunnel.ts';

export interface DialOptions {
  readonly endpoint: LinkEndpoint;
  /** Proxy on the way to the endpoint. */
  readonly proxy?: ProxyConfig | undefined;
  readonly bundle: LinkBundle;
  /** The only protocol offered (ALPN). */
  readonly protocol: string;
  /** Milliseconds for name resolution, TCP and TLS together. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /**
   * Whether the peer will prove by its site's key that it is a router of this site. Host names and purpose of its certificate are ignored
   * then.
   */
  readonly sibling?: boolean;
  /** Called when TCP is connected to the endpoint, or a proxy has connected it. */
  readonly onTcp?: (() => void) | undefined;
}

/**
 * Opens TLS 1.3 to an access port with mutual verification: our certificate is presented. The peer's must come from `ca.crt` and name the
 * endpoint's host.
 * @throws LinkError; any other error is a bug in this program
 */
export async function dialTls(options: DialOptions): Promise<TLSSocket> {
  const { proxy, endpoint, deadline, signal } = options;
  if (proxy === undefined) return handshake(options);
  const began = performance.now();
  const tunnel = await openTunnel({ proxy, endpoint, deadline, signal });
  options.onTcp?.();
  return handshake({ ...options, deadline: Math.max(1, Math.round(deadline - performance.now() + began)) }, tunnel);
}

/** @param tunnel open TCP connection to the endpoint, if any */
function handshake(options: DialOptions, tunnel?: Socket): Promise<TLSSocket> {
  const { endpoint, bundle } = options;
  const peer = hostPort(endpoint);
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const socket = connect({
    ...(tunnel === undefined ? { host: endpoint.host, port: endpoint.port, lookup: lookupKnown } : { socket: tunnel }),
    // An IP address is not a valid server name (RFC 6066 section 3).
    ...(isIP(endpoint.host) === 0 ? { servername: endpoint.host } : {}),
    secureContext: bundle.context,
    ALPNProtocols: [options.protocol],
    minVersion: 'TLSv1.3',
    // `problemWith` verifies the peer, since its error can name the certificate.
    rejectUnauthorized: false,
    ...(options.sibling === true ? { checkServerIdentity: () => undefined } : {}),
  });
  limitOutgoingTls(socket, peer);
  const fail = (error: unknown): void => {
    socket.destroy();
    reject(error);
  };
  const faulty = (error: unknown): void => fail(connectError(error, peer));
  const onAbort = bounded(
    'connection/dial-given-up',
    () => fail(new LinkError('closed', `The attempt to reach ${peer} was aborted.`)),
    faulty,
  );
  const late = (): void =>
    fail(new LinkError('timeout', `${peer} did not complete TLS within ${options.deadline / 1_000} s. Is this the right port?`));
  const timer = setTimeout(bounded('connection/dial-deadline', late, faulty), options.deadline);
  const connectDeadline = Math.min(deadlines.connect, options.deadline);
  const unanswered = (): void =>
    fail(new LinkError('timeout', `No answer from ${peer} within ${connectDeadline / 1_000} s. Does a firewall drop packets?`));
  // A tunnel has completed TCP already.
  const connectTimer =
    tunnel === undefined ? setTimeout(bounded('connection/dial-unanswered', unanswered, faulty), connectDeadline) : undefined;
  socket.once(
    'connect',
    bounded('connection/dial-connected', () => {
      clearTimeout(connectTimer);
      options.onTcp?.();
    }),
  );
  if (options.signal.aborted) onAbort();
  options.signal.addEventListener('abort', onAbort, { once: true });
  socket.setNoDelay(true);
  const onError = (error: Error): void => fail(connectError(error, peer));
  const onClose = (): void => fail(new LinkError('lost', `${peer} closed the connection before TLS was set up. Is this the right port?`));
  const onSecure = (): void => {
    const problem = problemWith(socket, options);
    if (problem !== undefined) fail(problem);
    else resolve(socket);
  };
  socket.once('error', bounded('connection/dial-error', onError, faulty));
  socket.once('close', bounded('connection/dial-close', onClose, faulty));
  // A fault of the peer's certificate ends this attempt only.
  socket.once('secureConnect', bounded('connection/dial-secure', onSecure, faulty));
  return promise.finally(() => {
    clearTimeout(timer);
    clearTimeout(connectTimer);
    options.signal.removeEventListener('abort', onAbort);
  });
}

function problemWith(socket: TLSSocket, { endpoint, protocol, sibling = false }: DialOptions): LinkError | undefined {
  const peer = `the peer at ${hostPort(endpoint)}`;
  const certificate = socket.getPeerX509Certificate();
  if (!socket.authorized) {
    const code = authorizationCode(socket);
    return certificateError({ code, certificate, peer, now: Date.now() });
  }
  if (certificate === undefined) return new LinkError('tls-failed', `${peer} presented no certificate.`);
  // Node.js checked this for `authorized`. It is repeated to be explicit, since nothing else authenticates the peer.
  const host = sibling ? undefined : checkServerIdentity(endpoint.host, socket.getPeerCertificate());
  if (host !== undefined) return certificateError({ code: 'ERR_TLS_CERT_ALTNAME_INVALID', certificate, peer, now: Date.now() });
  const weakness = weaknessOf(certificate.publicKey);
  if (weakness !== undefined) return new LinkError('tls-weak', `The certificate of ${peer} has ${weakness}. Issue a new one there.`);
  if (!sibling && foreignToLinks(certificate) !== undefined) {
    return new LinkError('tls-wrong-purpose', `The certificate of ${peer} is for applications, not for the access of a site.`);
  }
  if (socket.alpnProtocol !== protocol) {
    return new LinkError('not-earshot', `The peer at ${hostPort(endpoint)} speaks TLS, but not the link protocol. Is this the right port?`);
  }
  return undefined;
}
