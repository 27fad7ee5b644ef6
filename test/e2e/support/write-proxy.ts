/** Stands between a controller and the API server, counts its writes about one namespace, and cuts it off at one of them. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Cluster } from '../../harness/index.ts';

/** When the connection ends: at the arrival of the `at`-th write, or after its answer. Writes count from 1. */
export interface Cut {
  readonly at: number;
  readonly when: 'before' | 'after';
}

export interface WriteProxy extends AsyncDisposable {
  /** http://127.0.0.1:PORT */
  readonly url: string;
  /** `PATCH /api/v1/…` of every write since the last `arm`, in order of arrival. */
  readonly writes: readonly string[];
  /**
   * Counts from 1 again, and calls `onCut` in the moment that is asked for; from then on nothing passes until the next `arm`.
   * Without a cut everything passes.
   */
  arm(cut?: Cut, onCut?: () => void): void;
}

interface WriteProxyOptions {
  readonly token: string;
  /** Only writes whose path holds this count; what the controller does about other tests' objects is their affair. */
  readonly about: string;
}

export async function startWriteProxy(cluster: Cluster, { token, about }: WriteProxyOptions): Promise<WriteProxy> {
  const upstream = new URL(cluster.apiUrl);
  const agent = new Agent({ ca: cluster.state.credentials.ca, keepAlive: true });
  let writes: string[] = [];
  let cut: Cut | undefined;
  let happened: (() => void) | undefined;
  let isCut = false;

  function end(): void {
    isCut = true;
    happened?.();
    server.closeAllConnections();
  }

  function forward(incoming: IncomingMessage, outgoing: ServerResponse): void {
    if (isCut) {
      incoming.destroy();
      return;
    }
    const number = isStateWrite(incoming, about) ? writes.push(`${incoming.method} ${incoming.url?.split('?')[0]}`) : 0;
    if (cut !== undefined && number > cut.at) return; // Held: it came while the last write that may happen was under way.
    const isLast = cut !== undefined && number === cut.at;
    if (isLast && cut?.when === 'before') {
      end();
      return;
    }
    const sent = request(
      {
        agent,
        host: upstream.hostname,
        port: upstream.port,
        method: incoming.method,
        path: incoming.url,
        headers: { ...incoming.headers, host: upstream.host, authorization: `Bearer ${token}` },
      },
      (answer) => {
        if (isLast) {
          answer.resume();
          answer.once('end', end);
          return;
        }
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
        outgoing.once('close', () => answer.destroy());
      },
    );
    sent.once('error', () => outgoing.destroy());
    outgoing.once('close', () => {
      // A write that is on its way arrives, whatever becomes of its sender.
      if (number === 0) sent.destroy();
    });
    incoming.pipe(sent);
  }

  const server = createServer(forward);
  server.requestTimeout = 0;
  // It cuts on request, and never for idleness.
  server.keepAliveTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // A TCP server's address is never a string.
  return {
    url: `http://127.0.0.1:${port}`,
    get writes() {
      return writes;
    },
    arm(next, onCut) {
      writes = [];
      cut = next;
      isCut = false;
      happened = onCut;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      agent.destroy();
    },
  };
}

/** Events inform people and are read by no program, so their number and order, which vary, do not count. */
function isStateWrite({ method, url = '' }: IncomingMessage, about: string): boolean {
  return method !== 'GET' && url.includes(about) && !url.includes('/events');
}
