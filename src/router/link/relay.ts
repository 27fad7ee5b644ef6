import type { RequestHead, Stream, StreamHandler } from '../http2/contract.ts';
import { ErrorCode } from '../http2/errors.ts';
import { Side, type ByteCount } from '../side.ts';
import { LinkError } from './link-errors.ts';
import { refuse } from './refusal.ts';

/** Counts of what passes through, for metrics. */
export interface RelayCounts extends ByteCount {
  open: number;
  total: number;
  failed: number;
}

/** A connection that passes through now. */
export interface LiveRelay {
  /** As it was passed on. */
  readonly head: RequestHead;
  /** Ends it, both ends by a reset. */
  cut(): void;
}

/** Passes a CONNECT on to the next router, and joins the two streams as soon as that one's answer is passed back. */
export function relay(
  from: Stream,
  head: RequestHead,
  open: (head: RequestHead, handler: StreamHandler) => Stream,
  counts: RelayCounts,
  live: Set<LiveRelay> = new Set(),
): StreamHandler {
  const client = new Side();
  const server = new Side();
  client.end = from;
  const finish = (): void => {
    if (live.delete(passing)) counts.open -= 1;
  };
  const passing: LiveRelay = {
    head,
    cut: () => {
      client.sever({ code: ErrorCode.CANCEL, reason: 'cut here' });
      server.abandon(ErrorCode.CANCEL);
      finish();
    },
  };
  const failed = (): void => {
    counts.failed += 1;
    finish();
    client.drop();
  };
  client.awaiting = {
    onResponse() {},
    onGone: ({ code }) => {
      server.abandon(code);
      finish();
    },
  };
  server.awaiting = {
    onResponse: (answer) => {
      if (answer.status >= 200 && answer.status < 300) {
        from.respond(answer);
        Side.join(client, server, { toServer: counts, toClient: counts }, finish);
        return;
      }
      server.abandon(ErrorCode.CANCEL);
      failed();
      from.respond(answer, { end: true });
    },
    onGone: () => {
      failed();
      refuse(from, 502, 'connection_terminated');
    },
  };
  try {
    server.end = open(head, server);
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    counts.failed += 1;
    return refuse(from, 502, 'destination_unavailable', error.message);
  }
  // The session may have refused it within the call.
  if (server.gone) return client;
  counts.total += 1;
  counts.open += 1;
  live.add(passing);
  return client;
}
