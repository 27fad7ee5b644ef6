/** One request to a router on a path, for questions of this router itself: probes, and figures of other sites. */
import { performance } from 'node:perf_hooks';
import type { RequestHead, ResponseHead, Stream, StreamHandler } from '../http2/contract.ts';
import { ErrorCode } from '../http2/errors.ts';
import { BodyBuffer, type BodyLimits } from '../limits/body-buffer.ts';
import type { ShareOwner } from '../limits/nested-fair-share.ts';
import type { RouterPath } from '../routing/contract.ts';
import { bounded } from '../telemetry/boundary.ts';
import { LinkError } from './link/link-errors.ts';

/** Opens a request to the first router of the path. `authority` is a routing key. @throws LinkError */
export type OpenRequest = (to: RouterPath, head: RequestHead, handler: StreamHandler, whose: ShareOwner) => Stream;

export interface RouteRequest {
  readonly to: RouterPath;
  readonly head: RequestHead;
  /** Milliseconds for the whole answer. */
  readonly deadline: number;
  readonly open: OpenRequest;
  /** Owner of the stream's fair share. */
  readonly owner: string;
  /** Limits of the body of an answer with status 200. Without them the request ends with the head of the answer. */
  readonly body?: BodyLimits;
}

export type RouteAnswer =
  | { readonly kind: 'answer'; readonly head: ResponseHead; readonly ms: number; readonly body: Buffer }
  | { readonly kind: 'lost'; readonly why: string };

const NO_BODY = Buffer.alloc(0);

/** Never rejects for a fault of another router. Untrusted: each router on the path can write the answer. */
export function requestAlongRoute({ to, head, deadline, open, owner, body: limits }: RouteRequest): Promise<RouteAnswer> {
  const { promise, resolve } = Promise.withResolvers<RouteAnswer>();
  const begun = performance.now();
  let stream: Stream | undefined;
  let answered: ResponseHead | undefined;
  let body: BodyBuffer | undefined;
  const finish = (answer: RouteAnswer): void => {
    clearTimeout(timer);
    resolve(answer);
  };
  const lose = (why: string): void => {
    stream?.reset(ErrorCode.CANCEL);
    finish({ kind: 'lost', why });
  };
  const finishWith = (answer: ResponseHead): void =>
    finish({ kind: 'answer', head: answer, ms: performance.now() - begun, body: body?.whole ?? NO_BODY });
  const late = (): void => lose(`no answer within ${deadline / 1000} s`);
  const timer = setTimeout(bounded('connection/route-request', late, late), deadline);
  const handler: StreamHandler = {
    onResponse: (answer) => {
      if (answer.status < 200) return;
      if (answer.status < 300 && limits !== undefined) {
        answered = answer;
        body = new BodyBuffer(limits);
        return;
      }
      // A probe's stream may lead to a server of an old router. A peer that never ends its half would hold any stream open.
      stream?.reset(ErrorCode.CANCEL);
      finishWith(answer);
    },
    onData: (chunk) => {
      const beyond = body?.add(chunk);
      if (beyond !== undefined) lose(`the answer has more than ${limits?.[beyond]} ${beyond}`);
      else stream?.consumed(chunk.length);
    },
    onEnd: () => {
      if (answered === undefined) return;
      stream?.end();
      finishWith(answered);
    },
    onDrain: () => {},
    onReset: ({ reason }) => finish({ kind: 'lost', why: `the request was reset: ${reason}` }),
  };
  try {
    stream = open(to, head, handler, { owner, key: owner });
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    finish({ kind: 'lost', why: error.message });
  }
  return promise;
}

/** Code of a refusal by a router on the path: the router before the next has no link to it, or refuses the path. */
export function refusalCode(status: number): RefusalCode {
  return refusalCodes.get(status) ?? 'closed';
}

type RefusalCode = 'revoked' | 'wrong-router' | 'closed' | 'busy' | 'timeout';

const refusalCodes = new Map<number, RefusalCode>([
  [403, 'revoked'],
  [421, 'wrong-router'],
  [502, 'closed'],
  [503, 'busy'],
  [504, 'timeout'],
]);
