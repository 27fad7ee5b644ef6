/** Renewal of a certificate over a link: the request and its response, at both ends. */
import { messageOf, type Logger } from '../../../telemetry/log.ts';
import type { IssuedCertificate, RouterHooks } from '../../contract.ts';
import { EarlyRenewalError } from '../../../identity/issued.ts';
import type { RateLimitedLog } from '../../../telemetry/rate-limited-log.ts';
import type { RequestHead, ResponseHead, Stream, StreamHandler, StreamReset } from '../../../http2/contract.ts';
import { ErrorCode } from '../../../http2/errors.ts';
import { bounded, detached } from '../../../telemetry/boundary.ts';
import { detailsOf, refuse } from '../refusal.ts';
import { AUTHORITY, RENEW_PATH } from '../../wire.ts';
import { EarshotError } from '../../../errors/earshot-error.ts';
import { isRecord } from '../../../text/is-record.ts';
import { printableAscii } from '../../../text/printable.ts';
import { Pieces } from '../../../memory/pieces.ts';

const MOST_REQUEST_BYTES = 16_384;
const MOST_ANSWER_BYTES = 65_536;
const DEADLINE = 30_000;
export const RETRY_AFTER = 'retry-after';

/** Collects a body of bounded size. */
class Body implements StreamHandler {
  readonly #body = Promise.withResolvers<Buffer>();
  readonly whole = this.#body.promise;
  readonly #most: number;
  readonly #pieces = new Pieces();
  #isOver = false;
  #stream: Stream | undefined;
  #refused: ResponseHead | undefined;

  constructor(most: number) {
    this.#most = most;
    const late = (): void => this.fail(`no complete message within ${DEADLINE / 1_000} s`);
    const timer = setTimeout(bounded('stream/renewal-deadline', late, late), DEADLINE);
    const stop = (): void => {
      clearTimeout(timer);
      this.#isOver = true;
      this.#pieces.clear();
    };
    this.whole.then(stop, stop);
  }

  use(stream: Stream): void {
    this.#stream = stream;
  }

  fail(why: string): void {
    this.#body.reject(new EarshotError('renew-failed', `The certificate was not renewed: ${why}.`));
  }

  onResponse(head: ResponseHead): void {
    if (head.status === 200) return;
    this.#refused = head;
    const why = printableAscii(detailsOf(head.fields) ?? `status ${head.status}`, 300);
    const words = `The peer does not renew the certificate: ${why}.`;
    const later = Number(head.fields[RETRY_AFTER] ?? 'never');
    this.#body.reject(later > 0 ? new EarlyRenewalError(words, later * 1_000) : new EarshotError('renew-refused', words));
  }

  onData(chunk: Buffer): void {
    this.#stream?.consumed(chunk.length);
    if (this.#refused !== undefined || this.#isOver) return;
    if (this.#pieces.bytes + chunk.length > this.#most) this.fail(`the message has more than ${this.#most} bytes`);
    else this.#pieces.push(Buffer.from(chunk));
  }

  onEnd(): void {
    this.#body.resolve(Buffer.concat(this.#pieces.takeAll()));
  }

  onDrain(): void {}

  onReset(reason: StreamReset): void {
    this.fail(`the stream was reset: ${printableAscii(reason.reason)}`);
  }
}

/** Called by the end whose certificate expires. @throws EarshotError */
export async function requestRenewal(
  open: (head: RequestHead, handler: StreamHandler) => Stream,
  request: string,
): Promise<IssuedCertificate> {
  const body = new Body(MOST_ANSWER_BYTES);
  let stream: Stream | undefined;
  try {
    stream = open({ method: 'POST', authority: AUTHORITY, path: RENEW_PATH, fields: {} }, body);
    body.use(stream);
    stream.write(Buffer.from(request));
    stream.end();
  } catch (error) {
    body.fail(messageOf(error));
  }
  let text: string;
  try {
    text = (await body.whole).toString();
  } catch (error) {
    // Ends the request, for which a replaced link would stay open otherwise. No-op if the stream has ended.
    stream?.reset(ErrorCode.CANCEL);
    throw error;
  }
  try {
    const value: unknown = JSON.parse(text);
    const { cert, ca } = isRecord(value) ? value : {};
    if (typeof cert === 'string' && typeof ca === 'string') return { cert, ca };
  } catch (error) {
    throw new EarshotError('renew-failed', "The peer's response is not JSON.", error);
  }
  throw new EarshotError('renew-failed', "The peer's response has no certificate.");
}

/** Handles a request at the end that issues certificates. */
export function serveRenewal(options: {
  readonly stream: Stream;
  readonly peer: { readonly certificate: Buffer; readonly siteId: string };
  readonly renew: NonNullable<RouterHooks['renew']>;
  readonly limitedLog: RateLimitedLog;
  readonly host: { readonly log: Logger };
  /** Called when the request has been answered or has failed. */
  onOver(): void;
}): StreamHandler {
  const { stream, peer, renew, limitedLog, onOver } = options;
  const { log } = options.host;
  const body = new Body(MOST_REQUEST_BYTES);
  body.use(stream);
  const answer = async (): Promise<void> => {
    let issued: IssuedCertificate;
    try {
      issued = await renew(peer, (await body.whole).toString());
    } catch (error) {
      limitedLog.warn({ siteId: peer.siteId, error }, 'certificate not renewed for a peer');
      // If the peer is gone, the session drops the response. The cause of an error is logged here, and not sent to the peer.
      const said = error instanceof Error ? error.message : 'the certificate cannot be renewed';
      if (error instanceof EarlyRenewalError) {
        refuse(stream, 429, 'http_request_denied', said, { [RETRY_AFTER]: String(Math.ceil(error.retryAfter / 1_000)) });
      } else refuse(stream, 403, 'http_request_denied', said);
      return;
    }
    stream.respond({ status: 200, fields: { 'content-type': 'application/json' } });
    stream.write(Buffer.from(JSON.stringify({ cert: issued.cert, ca: issued.ca })));
    stream.end();
    log.info({ siteId: peer.siteId }, 'certificate renewed for a peer');
  };
  const answerOnce = async (): Promise<void> => {
    try {
      await answer();
    } finally {
      onOver();
    }
  };
  detached('stream/renewal', answerOnce, () => stream.reset(ErrorCode.INTERNAL_ERROR));
  return body;
}
