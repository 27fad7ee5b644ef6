import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode, ShownAs } from '../../errors/catalogue.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { checkRequest, keyHashOf } from '../../x509/request.ts';
import { attempt, bounded } from '../../telemetry/boundary.ts';
import { BodyBuffer } from '../../limits/body-buffer.ts';
import { Semaphore } from '../../limits/loop/semaphore.ts';
import { networkOf } from '../../x509/network.ts';
import { TrustError, type TrustCode } from '../errors.ts';
import { unknownGrant } from '../grants.ts';
import { issueCertificate } from '../issue.ts';
import type { GrantRealm, GrantServerLimits, GrantServerOptions } from './contract.ts';
import { checkProof, decodeRedemption, REDEEM_PATH, type RedemptionAnswer, type RedemptionRequest } from './redemption.ts';
import { Repeats } from './repeats.ts';
import { Throttle, type CodeOrigin } from './throttle.ts';
import { isGrantName } from '../../text/names.ts';

/** Answers redemption requests. Errors become responses too. */
export class RedemptionService {
  readonly #options: GrantServerOptions;
  readonly #limits: GrantServerLimits;
  readonly #throttle: Throttle;
  readonly #repeats: Repeats;
  /** Slots for requests with a valid code only. A request that is still being read holds no slot. */
  readonly #turns: Semaphore;
  readonly #mayLog = createLogPace();
  readonly #counts = new Map<string, number>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: GrantServerOptions, limits: GrantServerLimits) {
    this.#options = options;
    this.#limits = limits;
    const monotonic = options.monotonic ?? (() => performance.now());
    this.#throttle = new Throttle(monotonic);
    this.#repeats = new Repeats(monotonic);
    this.#turns = new Semaphore(limits.redemptionsAtOnce, limits.connections);
  }

  get answered(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }

  count(answer: string): void {
    this.#counts.set(answer, (this.#counts.get(answer) ?? 0) + 1);
  }

  /** Resolves once no request is being answered. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  onRequest(request: IncomingMessage, response: ServerResponse): void {
    response.on('error', () => {});
    const answer = async (): Promise<void> => {
      await attempt(
        'request/redeem',
        () => this.#answer(request, response),
        () => response.destroy(),
      );
      this.#running.delete(answering);
    };
    const answering = answer();
    this.#running.add(answering);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const address = request.socket.remoteAddress ?? '';
    try {
      const body = await this.#redeem(request, address, goneFrom(response));
      this.count('redeemed');
      send(response, 200, body);
    } catch (error) {
      const { status, code, message, retryAfter, isOurs } = refusalOf(error);
      this.count(code);
      if (this.#mayLog()) this.#options.log?.warn({ address, code, error: isOurs ? error : undefined }, 'a redemption was refused');
      send(response, status, { code, message }, retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) });
    }
  }

  async #redeem(request: IncomingMessage, address: string, signal: AbortSignal): Promise<RedemptionAnswer> {
    const name = grantOf(request);
    const realm = this.#options.realm(name);
    const origin = realm?.store.get(name)?.ownCode === true ? "person's" : 'ours';
    this.#refuseGuesser(address, origin);
    const requested = decodeRedemption(await readBody(request, this.#limits));
    // Check again, since many requests may have begun before the first wrong code was counted. Nothing is awaited from here to the count.
    this.#refuseGuesser(address, origin);
    try {
      if (realm === undefined) throw unknownGrant(name);
      realm.store.check(name, requested.code);
    } catch (error) {
      if (error instanceof TrustError && (error.code === 'token-wrong-code' || error.code === 'token-unknown-grant')) {
        this.#throttle.guessed(address, origin);
      }
      throw error;
    }
    const turn = await this.#turns.take({ signal, deadline: this.#limits.requestMilliseconds, owner: networkOf(address) });
    if (turn !== 'granted') throw new HttpRefusal(503, 'server-busy', 'too many redemptions at once: try again in a second', 1);
    try {
      return await this.#certify(name, requested, address, realm);
    } finally {
      this.#turns.giveBack();
    }
  }

  /** Checks everything that can fail before the redemption is counted. */
  async #certify(name: string, requested: RedemptionRequest, address: string, realm: GrantRealm): Promise<RedemptionAnswer> {
    const { store, ledger } = realm;
    const { clock = Date.now, log } = this.#options;
    checkProof(name, requested);
    const { siteId, siteName, csr, code } = requested;
    const keyHash = keyHashOf(checkRequest(csr).publicKey);
    const authority = await realm.authority(store.get(name)?.issuer);
    const offer = realm.offer();
    if (offer.endpoints.length === 0) {
      throw new TrustError(
        'server-failed',
        `site ${offer.siteName} does not accept links: enable link access there (linkAccess of its Site), then try again`,
      );
    }
    if (siteId === offer.siteId)
      throw new TrustError('token-refused', `site ${offer.siteName} itself issued it. Redeem it at another site`);
    const attempted = { grant: name, code, siteId, siteName, keyHash };
    const grant = await store.redeem(attempted);
    const redemption = `${name} ${siteId} ${keyHash}`;
    const wait = this.#repeats.wait(redemption);
    if (wait > 0)
      throw new HttpRefusal(429, 'server-busy', 'this was redeemed a moment ago: wait, then try again', Math.ceil(wait / 1_000));
    const order = { subject: siteName, siteId, client: true, purpose: 'link', csr, days: realm.certificateDays ?? 30 } as const;
    try {
      const { cert, ca, serial, notAfter } = issueCertificate(authority, order, clock);
      // `record` checks revocations again, since the site may have been revoked in the meantime.
      await ledger.record({ siteName, siteId, serial, notAfter }, { kind: 'redemption', attempt: attempted, grant });
      const { redemptions, redemptionsAllowed } = grant;
      log?.info({ grant: name, siteId, siteName, serial, address, redemptions, redemptionsAllowed }, 'a token was redeemed');
      return { cert, ca, ...offer };
    } catch (error) {
      if (!(error instanceof TrustError && error.code === 'revoked')) this.#repeats.undo(redemption);
      throw error;
    }
  }

  #refuseGuesser(address: string, origin: CodeOrigin): void {
    const wait = this.#throttle.waitFor(address, origin);
    if (wait > 0) throw new HttpRefusal(429, 'server-busy', 'too many wrong codes: wait, then try again', Math.ceil(wait / 1_000));
  }
}

/** Limits log lines about refused codes, which would otherwise fill the disk: a burst of ten, then one a second. */
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

/** Aborted once the client has closed its connection. */
function goneFrom(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const leave = (): void => gone.abort(new HttpRefusal(503, 'server-busy', 'the client has disconnected'));
  response.on('close', bounded('request/redeemer-gone', leave, leave));
  return gone.signal;
}

/** Refusal for reasons of HTTP or load, not of the grant. */
class HttpRefusal extends EarshotError<AnswerCode> {
  readonly status: number;
  readonly retryAfter: number | undefined;

  constructor(status: number, code: AnswerCode, message: string, retryAfter?: number) {
    super(code, message);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

/** Skupper sites send requests to `/<uid>`, and show the response in the token's status. */
const NOT_A_GRANT = 'unknown path: Earshot sites redeem tokens by POST /v1/redeem/GRANT. Use the url of the token unchanged';

function grantOf({ url = '', method }: IncomingMessage): string {
  const [path = ''] = url.split('?', 1);
  const name = path.slice(REDEEM_PATH.length);
  if (!path.startsWith(REDEEM_PATH) || !isGrantName(name)) {
    throw new HttpRefusal(404, 'token-unknown-grant', NOT_A_GRANT);
  }
  if (method !== 'POST') throw new HttpRefusal(405, 'request-malformed', 'a token is redeemed with POST');
  return name;
}

/** A body that does not arrive ends with the server's requestTimeout. */
function readBody(request: IncomingMessage, { bodyBytes }: GrantServerLimits): Promise<Buffer> {
  const tooLarge = new HttpRefusal(413, 'request-malformed', `the body may have at most ${bodyBytes} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > bodyBytes) return Promise.reject(tooLarge);
  const body = new BodyBuffer({ bytes: bodyBytes, pieces: MOST_PIECES });
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const refuse = (refusal: HttpRefusal): void => {
    request.off('data', onData);
    // Discard the rest of the body.
    request.resume();
    reject(refusal);
  };
  const cutShort = (): void => refuse(new HttpRefusal(400, 'request-malformed', 'the body is incomplete'));
  const take = (piece: Buffer): void => {
    const excess = body.add(piece);
    if (excess === 'bytes') refuse(tooLarge);
    if (excess !== 'pieces') return;
    // Reading on until a response can be sent would take as long again.
    request.socket.destroy();
    refuse(new HttpRefusal(413, 'request-malformed', `the body may have at most ${MOST_PIECES} pieces`));
  };
  const onData = bounded('request/redemption-data', take, cutShort);
  request.on('data', onData);
  request.once(
    'end',
    bounded('request/redemption-end', () => resolve(body.whole), reject),
  );
  request.once('error', bounded('request/redemption-error', cutShort, reject));
  request.once('close', bounded('request/redemption-close', cutShort, reject));
  return promise;
}

/** Number of pieces of a body. A TLS record has 16 KiB, and a packet of a slow network several hundred bytes. */
const MOST_PIECES = 256;

interface Answer {
  readonly status: number;
  readonly code: AnswerCode;
  readonly message: string;
  readonly retryAfter?: number | undefined;
  /** The site itself has a fault, which the log shows to its owner. */
  readonly isOurs: boolean;
}

function refusalOf(error: unknown): Answer {
  if (error instanceof HttpRefusal) {
    return { status: error.status, code: error.code, message: error.message, retryAfter: error.retryAfter, isOurs: false };
  }
  if (error instanceof EarshotError && isShown(error.code)) {
    return { status: statuses[error.code], code: error.code, message: error.message, isOurs: false };
  }
  // Internal details such as paths are not for unauthenticated clients.
  const message =
    error instanceof TrustError && error.code === 'server-failed'
      ? error.message
      : 'the other site could not issue a certificate: see its log. Try again when the problem is solved';
  return { status: 500, code: 'server-failed', message, isOurs: true };
}

/** Codes in responses to a redeeming site. All other errors are failures of this site. */
type AnswerCode = TrustCode & ShownAs<'answer'>;

const statuses = {
  'request-malformed': 400,
  'tls-weak': 400,
  'token-wrong-code': 403,
  'token-refused': 403,
  revoked: 403,
  'token-unknown-grant': 404,
  'token-expired': 410,
  'token-used-up': 410,
} as const satisfies Partial<Record<AnswerCode, number>>;

const isShown = (code: ErrorCode): code is keyof typeof statuses => Object.hasOwn(statuses, code);

function send(response: ServerResponse, status: number, body: object, headers: Readonly<Record<string, string>> = {}): void {
  if (response.headersSent || response.destroyed) return;
  // Each connection has one request. Without `connection`, Node.js waits 6 s for the client to close it.
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', connection: 'close', ...headers });
  response.end(`${JSON.stringify(body)}\n`);
}
