import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { TlsOptions } from 'node:tls';
import type { IssuedBundle } from '../../identity/tls-bundle.ts';
import type { TrustCode } from '../errors.ts';
import type { GrantServer, GrantServerLimits, GrantServerOptions } from './contract.ts';
import { TrustError } from '../errors.ts';
import { isGrantName } from '../grants.ts';
import { issueCertificate } from '../issue.ts';
import { checkProof, decodeRedemption, type RedemptionAnswer, type RedemptionRequest } from './redemption.ts';
import { checkRequest, keyHashOf } from '../../x509/request.ts';
import { createThrottle, type Throttle } from './throttle.ts';
import type { ErrorCode, ShownAs } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';

const defaultLimits: GrantServerLimits = { bodyBytes: 16_384, requestMilliseconds: 10_000, concurrentRequests: 256, connections: 512 };

const PREFIX = '/v1/redeem/';

/** The `url` of a grant's status and of its tokens. */
export function grantUrl(host: string, port: number, grant: string): string {
  const inUrl = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return `https://${inUrl}:${port}${PREFIX}${grant}`;
}

/**
 * HTTPS, TLS 1.3: `POST /v1/redeem/GRANT` turns a code into a client certificate of the grant's authority. Codes are in no
 * log line and in no answer. An answer other than 200 is a `Refusal`.
 */
export async function startGrantServer(options: GrantServerOptions): Promise<GrantServer> {
  const limits = { ...defaultLimits, ...options.limits };
  const service = createService(options, limits);
  const server = createServer(
    // Timeouts are looked at only so often: every 30 s, if it is not said.
    {
      ...tlsOptions(options.tls),
      handshakeTimeout: limits.requestMilliseconds,
      maxHeaderSize: 8_192,
      connectionsCheckingInterval: limits.requestMilliseconds / 4,
    },
    service.onRequest,
  );
  server.maxConnections = limits.connections;
  server.headersTimeout = limits.requestMilliseconds / 2;
  server.requestTimeout = limits.requestMilliseconds;
  server.keepAliveTimeout = 1_000;
  server.maxRequestsPerSocket = 16;
  // Failed handshakes are the everyday life of an open port.
  server.on('tlsClientError', () => service.count('tls-failed'));
  server.listen(options.port, options.host);
  await once(server, 'listening');
  return {
    port: portOf(server),
    get answered() {
      return service.answered();
    },
    setTls: (bundle) => server.setSecureContext(tlsOptions(bundle)),
    [Symbol.asyncDispose]: async () => {
      await close(server);
      // What was being redeemed is written down whole: whoever disposes of this closes the store next.
      await service.settled();
    },
  };
}

const tlsOptions = ({ cert, key }: IssuedBundle): TlsOptions => ({ cert, key, minVersion: 'TLSv1.3' });

function portOf(server: Server): number {
  const address = server.address();
  return address !== null && typeof address === 'object' ? address.port : 0;
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}

interface Service {
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  count(answer: string): void;
  /** Nothing is being answered any more. */
  settled(): Promise<void>;
  answered(): Readonly<Record<string, number>>;
}

function createService(options: GrantServerOptions, limits: GrantServerLimits): Service {
  const counts = new Map<string, number>();
  const throttle = createThrottle(options.monotonic ?? (() => performance.now()));
  const mayLog = createLogPace();
  const running = new Set<Promise<void>>();
  const count = (answer: string): void => void counts.set(answer, (counts.get(answer) ?? 0) + 1);

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const address = request.socket.remoteAddress ?? '';
    try {
      const body = await redeem(request, address, options, limits, throttle);
      count('redeemed');
      send(response, 200, body);
    } catch (error) {
      const refusal = refusalOf(error);
      count(refusal.code);
      if (mayLog()) {
        options.log?.warn({ address, code: refusal.code, error: refusal.isOurs ? error : undefined }, 'a redemption was refused');
      }
      const headers: Record<string, string> = {};
      if (refusal.retryAfter !== undefined) headers['retry-after'] = String(refusal.retryAfter);
      // What is left of a body that nobody reads would be taken for the next request.
      if (!request.complete) headers['connection'] = 'close';
      send(response, refusal.status, { code: refusal.code, message: refusal.message }, headers);
    }
  };

  return {
    count,
    settled: async () => void (await Promise.all(running)),
    answered: () => Object.fromEntries(counts),
    onRequest(request, response) {
      response.on('error', () => {});
      if (running.size >= limits.concurrentRequests) {
        count('server-busy');
        send(
          response,
          503,
          { code: 'server-busy', message: 'too many redemptions at once: come back in a second' },
          { 'retry-after': '1', connection: 'close' },
        );
        return;
      }
      const answering = answer(request, response).finally(() => running.delete(answering));
      running.add(answering);
    },
  };
}

/** Refused guesses must not fill the disk with log lines: ten at once, then one a second. */
function createLogPace(): () => boolean {
  let left = 10;
  let last = performance.now();
  return () => {
    const now = performance.now();
    left = Math.min(10, left + (now - last) / 1_000);
    last = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}

/** An answer that is not about what was asked but about how. */
class HttpRefusal extends EarshotError<AnswerCode> {
  readonly status: number;
  readonly retryAfter: number | undefined;

  constructor(status: number, code: AnswerCode, message: string, retryAfter?: number) {
    super(code, message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

async function redeem(
  request: IncomingMessage,
  address: string,
  options: GrantServerOptions,
  limits: GrantServerLimits,
  throttle: Throttle,
): Promise<RedemptionAnswer> {
  const name = grantOf(request);
  refuseGuesser(address, throttle);
  const wanted = decodeRedemption(await readBody(request, limits));
  // Once more: many requests may have begun before the first guess was counted. From here on to the count nothing waits.
  refuseGuesser(address, throttle);
  try {
    options.store.check(name, wanted.code);
  } catch (error) {
    if (error instanceof TrustError && (error.code === 'token-wrong-code' || error.code === 'token-unknown-grant')) {
      throttle.guessed(address);
    }
    throw error;
  }
  return certify(name, wanted, address, options);
}

function refuseGuesser(address: string, throttle: Throttle): void {
  const wait = throttle.waitFor(address);
  if (wait > 0) throw new HttpRefusal(429, 'server-busy', 'too many wrong codes: wait, then try again', Math.ceil(wait / 1_000));
}

/** All that can be refused is refused before the redemption is counted. */
async function certify(name: string, wanted: RedemptionRequest, address: string, options: GrantServerOptions): Promise<RedemptionAnswer> {
  const { store, ledger, clock = Date.now } = options;
  checkProof(name, wanted);
  const { siteId, siteName, csr } = wanted;
  const keyHash = keyHashOf(checkRequest(csr).publicKey);
  const authority = await options.authority(store.get(name)?.issuer);
  const offer = options.offer();
  if (offer.endpoints.length === 0) {
    throw new TrustError(
      'server-failed',
      `site ${offer.siteName} has nowhere to link to: enable link access there (linkAccess of its Site), then try again`,
    );
  }
  const grant = await store.redeem({ grant: name, code: wanted.code, siteId, siteName, keyHash });
  const issued = issueCertificate(authority, { subject: siteName, siteId, client: true, csr, days: options.certificateDays ?? 30 }, clock);
  await ledger.record({ siteName, siteId, serial: issued.serial, notAfter: issued.notAfter });
  options.log?.info(
    {
      grant: name,
      siteId,
      siteName,
      serial: issued.serial,
      address,
      redemptions: grant.redemptions,
      redemptionsAllowed: grant.redemptionsAllowed,
    },
    'a token was redeemed',
  );
  return { cert: issued.cert, ca: issued.ca, ...offer };
}

function grantOf({ url = '', method }: IncomingMessage): string {
  const [path = ''] = url.split('?', 1);
  const name = path.slice(PREFIX.length);
  if (!path.startsWith(PREFIX) || !isGrantName(name)) {
    throw new HttpRefusal(404, 'token-unknown-grant', 'here is only POST /v1/redeem/GRANT: take the url of the token as it is');
  }
  if (method !== 'POST') throw new HttpRefusal(405, 'request-malformed', 'a token is redeemed with POST');
  return name;
}

async function readBody(request: IncomingMessage, limits: GrantServerLimits): Promise<Buffer> {
  const tooLarge = (): HttpRefusal => new HttpRefusal(413, 'request-malformed', `the body may have ${limits.bodyBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > limits.bodyBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    // A stream without an encoding gives buffers. The server's requestTimeout ends a body that does not come.
    for await (const chunk of request as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > limits.bodyBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof HttpRefusal ? error : new HttpRefusal(400, 'request-malformed', 'the body was cut short');
  }
  return Buffer.concat(chunks);
}

interface Answer {
  readonly status: number;
  readonly code: AnswerCode;
  readonly message: string;
  readonly retryAfter?: number | undefined;
  /** Something of this site is out of order, which its owner should read in the log. */
  readonly isOurs: boolean;
}

function refusalOf(error: unknown): Answer {
  if (error instanceof HttpRefusal) {
    return { status: error.status, code: error.code, message: error.message, retryAfter: error.retryAfter, isOurs: false };
  }
  if (error instanceof EarshotError && isTold(error.code)) {
    return { status: statuses[error.code], code: error.code, message: error.message, isOurs: false };
  }
  // Paths and the like are not for strangers.
  const message =
    error instanceof TrustError && error.code === 'server-failed'
      ? error.message
      : 'the other site could not issue a certificate: its log says why. Try again when that is mended';
  return { status: 500, code: 'server-failed', message, isOurs: true };
}

/** What a site that redeems is told; all else is this site's own trouble. */
type AnswerCode = TrustCode & ShownAs<'answer'>;

const statuses = {
  'request-malformed': 400,
  'tls-weak': 400,
  'token-wrong-code': 403,
  revoked: 403,
  'token-unknown-grant': 404,
  'token-expired': 410,
  'token-used-up': 410,
} as const satisfies Partial<Record<AnswerCode, number>>;

const isTold = (code: ErrorCode): code is keyof typeof statuses => Object.hasOwn(statuses, code);

function send(response: ServerResponse, status: number, body: object, headers: Readonly<Record<string, string>> = {}): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers });
  response.end(`${JSON.stringify(body)}\n`);
}
