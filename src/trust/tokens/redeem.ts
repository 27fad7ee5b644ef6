import { request as httpsRequest, type RequestOptions } from 'node:https';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { connect, TLSSocket } from 'node:tls';
import { bounded } from '../../telemetry/boundary.ts';
import { checkBundle, isAboutDates } from '../../identity/bundle-check.ts';
import { refuseAuthority } from '../received.ts';
import type { RedeemOptions, Redeemed, Token } from './contract.ts';
import { TrustError, type TrustCode } from '../errors.ts';
import { BodyBuffer } from '../../limits/body-buffer.ts';
import { lookupKnown } from '../../net/host-names.ts';
import { limitOutgoingTls } from '../../net/outgoing-tls.ts';
import { connectFailure, isAboutTime, type Validity } from './connect-failure.ts';
import { decodeAnswer, encodeRedemption, type RedemptionAnswer } from './redemption.ts';
import { createRequest } from '../../x509/request.ts';
import { refusalOf } from './refusal.ts';
import { limitTable } from '../../limits/table.ts';

/** Milliseconds for the whole exchange and for the TCP connection. Each takes several round trips on slow paths. */
const [TIMEOUT, CONNECT] = [limitTable.redemptionTime.value, 10_000];
const PROBE = 10_000;
const MOST_OF_ANSWER = { bytes: limitTable.redemptionAnswer.value, pieces: 4_096 };
/** Maximum number of interim responses (1xx, RFC 9110 section 15.2). Each one costs the parsing of a whole header section. */
const MOST_INFORMATION = 32;

/** The server is too busy to respond now. */
export class ServerBusyError extends TrustError {
  /** Milliseconds that the server asks the client to wait. */
  readonly asked: number;

  constructor(message: string, asked: number) {
    super('server-busy', message);
    this.asked = asked;
  }
}

/**
 * Redeems a token for the data of a link, in one attempt. retry.ts decides about further attempts.
 * @throws TrustError with the reason
 */
export async function redeemToken(token: Token, options: RedeemOptions): Promise<Redeemed> {
  const failures: TrustError[] = [];
  for (const url of [token.url, ...(token.otherUrls ?? [])]) {
    try {
      return await redeemAt(new URL(url), token, options);
    } catch (error) {
      if (!(error instanceof TrustError) || !ELSEWHERE.has(error.code)) throw error;
      failures.push(error);
    }
  }
  throw ofAll(failures, token);
}

/** Codes that mean the address does not lead to the site, or not to a server with a valid certificate. Another address may. */
const ELSEWHERE: ReadonlySet<TrustCode> = new Set<TrustCode>(['unreachable', 'token-wrong-ca', 'token-wrong-host', 'server-failed']);

/** Returns the first failure, unless another one may resolve by itself. */
function ofAll(failures: readonly TrustError[], { otherUrls = [] }: Token): TrustError {
  const [first = new TrustError('token-mangled', 'the token has no address')] = failures;
  if (otherUrls.length === 0) return first;
  const { code, message } = failures.find((failure) => failure.code === 'unreachable') ?? first;
  const others = otherUrls.map((url) => new URL(url).host).join(', ');
  return new TrustError(code, `${message}. It cannot be redeemed at ${others} either`, first);
}

async function redeemAt(url: URL, token: Token, options: RedeemOptions): Promise<Redeemed> {
  const { siteName, siteId, siteKey, signal, clock = Date.now, timeoutMilliseconds = TIMEOUT } = options;
  const grant = decodeURIComponent(url.pathname.split('/').at(-1) ?? '');
  const csr = createRequest(options.key, siteName);
  const body = encodeRedemption(grant, { code: token.code, siteId, siteName, csr }, siteKey);
  signal?.throwIfAborted();
  try {
    const { status, headers, text } = await post(url, token.ca, body, timeoutMilliseconds, signal);
    if (status === 200) return accept(token, decodeAnswer(text), options.key, clock);
    const refusal = refusalOf(status, text, url);
    throw refusal.code === 'server-busy' ? new ServerBusyError(refusal.message, retryAfter(headers)) : refusal;
  } catch (error) {
    if (signal?.aborted === true) throw signal.reason;
    if (error instanceof TrustError) throw error;
    throw connectFailure(error, url, clock(), isAboutTime(error) ? await validityAt(url) : undefined);
  }
}

/** Reads the server's certificate for the error message only. Nothing is sent. */
function validityAt(url: URL): Promise<Validity | undefined> {
  const { promise, resolve } = Promise.withResolvers<Validity | undefined>();
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = connect({ host, port: Number(url.port || '443'), lookup: lookupKnown, rejectUnauthorized: false, ...name });
  limitOutgoingTls(socket, url.host);
  const onSecure = (): void => {
    const certificate = socket.getPeerX509Certificate();
    resolve(certificate === undefined ? undefined : { from: certificate.validFromDate, to: certificate.validToDate });
    socket.destroy();
  };
  const giveUp = (): void => {
    resolve(undefined);
    socket.destroy();
  };
  socket.once('secureConnect', bounded('request/validity-secure', onSecure, giveUp));
  socket.on('error', bounded('request/validity-error', giveUp, giveUp));
  socket.setTimeout(PROBE, bounded('request/validity-deadline', giveUp, giveUp));
  return promise;
}

const retryAfter = (headers: IncomingHttpHeaders): number => {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
};

interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** Accepts only server certificates of the token's authority: no other authority, and no proxy. */
function post(url: URL, ca: string, body: string, milliseconds: number, signal: AbortSignal | undefined): Promise<HttpAnswer> {
  const timeout = AbortSignal.timeout(milliseconds);
  const options: RequestOptions = {
    method: 'POST',
    agent: false,
    lookup: lookupKnown,
    ca,
    minVersion: 'TLSv1.3',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), accept: 'application/json' },
    signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
  };
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(url, options);
    const fail = (error: unknown): void => {
      sent.destroy();
      reject(error);
    };
    const unanswered = (): void => fail(new DOMException('No answer in time.', 'TimeoutError'));
    const connectTimer = setTimeout(bounded('request/redeem-unanswered', unanswered, fail), Math.min(CONNECT, milliseconds));
    const onSocket = (socket: Socket): void => {
      socket.once(
        'connect',
        bounded('request/redeem-connected', () => clearTimeout(connectTimer)),
      );
      if (socket instanceof TLSSocket) limitOutgoingTls(socket, url.host);
    };
    sent.once('socket', bounded('request/redeem-socket', onSocket, fail));
    let informed = 0;
    const onInformation = (): void => {
      informed += 1;
      if (informed > MOST_INFORMATION)
        fail(new TrustError('server-failed', `${url.host} sends its response too slowly: check that it is an Earshot site`));
    };
    sent.on('information', bounded('request/redeem-information', onInformation, fail));
    // An upgrade response emits neither `response` nor `error`, only `close`.
    const onClose = (): void => {
      clearTimeout(connectTimer);
      reject(new TrustError('server-failed', `${url.host} closed the connection without a response: check that it is an Earshot site`));
    };
    sent.once(
      'response',
      bounded('request/redeem-response', (response: IncomingMessage) => gather(response, url, resolve, fail), fail),
    );
    sent.on('error', bounded('request/redeem-error', reject, reject));
    sent.on('close', bounded('request/redeem-close', onClose, reject));
    sent.end(body);
  });
}

function gather(response: IncomingMessage, url: URL, whole: (answer: HttpAnswer) => void, fail: (error: unknown) => void): void {
  const answer = new BodyBuffer(MOST_OF_ANSWER);
  const onData = (piece: Buffer): void => {
    const excess = answer.add(piece);
    if (excess === undefined) return;
    const message = `the response of ${url.host} has more than ${MOST_OF_ANSWER[excess]} ${excess}: check that it is an Earshot site`;
    response.destroy(new TrustError('server-failed', message));
  };
  const onEnd = (): void => whole({ status: response.statusCode ?? 0, headers: response.headers, text: answer.whole.toString('utf8') });
  response.on('error', bounded('request/redeem-answer-error', fail, fail));
  response.on('data', bounded('request/redeem-answer-data', onData, fail));
  response.on('end', bounded('request/redeem-answer-end', onEnd, fail));
}

/** Checks the response before a Link is created from it. A wrong clock is detected here at the latest. */
function accept(token: Token, answer: RedemptionAnswer, key: string, clock: () => number): Redeemed {
  const { cert, ca, ...offer } = answer;
  const bundle = { name: token.name, cert, key, ca };
  const check = checkBundle(bundle, { kind: 'client', serverCa: true }, clock);
  if (!check.ok) {
    const [{ code, message }] = check.problems;
    const isClock = isAboutDates(code);
    throw new TrustError(
      isClock ? 'clock-wrong' : 'server-failed',
      isClock
        ? `the certificate that ${offer.siteName} just issued is not valid now: ${message}. The clocks of the two machines differ: set them, then try again`
        : `the certificate that ${offer.siteName} issued is unusable: ${message}`,
    );
  }
  refuseAuthority(check.leaf, `the certificate that ${offer.siteName} issued`);
  return { offer, linkCost: token.linkCost ?? 1, bundle };
}
