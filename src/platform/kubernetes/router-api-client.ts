/** Client of the API of router pods, by mutual TLS (docs/reference/router-api.md). */
import { once } from 'node:events';
import { Agent, request, type AgentOptions, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { connect } from 'node:tls';
import { ROUTER_LOCAL } from '../../api/skupper/cluster-names.ts';
import { routerAnswerError } from '../../errors/router-answer-error.ts';
import { limitTable } from '../../limits/table.ts';
import { detached } from '../../telemetry/boundary.ts';
import { printable } from '../../text/printable.ts';
import type { ApiMethod } from '../resources.ts';

/** PEM texts of a Secret whose Certificate has the purpose `api`. */
export interface ApiIdentity {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Opens a TCP stream to the API of a pod. */
export type OpenApi = (pod: string) => Promise<Duplex>;

export class RouterApiClient implements Disposable {
  readonly identity: ApiIdentity;
  readonly #agent: PodAgent;

  /** @param patience milliseconds in which a connection must be open */
  constructor(open: OpenApi, identity: ApiIdentity, patience = PATIENCE) {
    this.identity = identity;
    this.#agent = new PodAgent(open, identity, patience);
  }

  /** Returns the response of a path. @throws Error if the request or the response fails */
  async ask(pod: string, path: string, method: ApiMethod = 'GET', signal: AbortSignal = AbortSignal.timeout(PATIENCE)): Promise<unknown> {
    const response = await this.#request(pod, path, method, signal);
    const answer = await boundedText(response);
    const { statusCode = 0 } = response;
    if (statusCode >= 300) throw routerAnswerError(statusCode, printable(answer, 200));
    return JSON.parse(answer);
  }

  /** Repeats a read whose connection was closed while it was idle: only its use shows that (RFC 9112 section 9.3.1). */
  async #request(pod: string, path: string, method: ApiMethod, signal: AbortSignal): Promise<IncomingMessage> {
    const asked = request({ host: pod, path, method, agent: this.#agent, headers: { host: ROUTER_LOCAL }, signal }).end();
    try {
      // The event has one argument.
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      return response;
    } catch (error) {
      if (method !== 'GET' || !asked.reusedSocket || signal.aborted) throw error;
      return this.#request(pod, path, method, signal);
    }
  }

  /** Closes all connections. */
  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

/** Milliseconds of a request, its connection included. */
const PATIENCE = 5_000;

/** Returns the body of a router's answer. @throws Error if it is too long */
export async function boundedText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response) {
    // The stream has no encoding, so its chunks are buffers.
    const part = chunk as Buffer;
    bytes += part.length;
    if (bytes > limitTable.consoleAnswer.value) throw new Error(`the response has more than ${limitTable.consoleAnswer.value} bytes`);
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Most connections of one client to a pod. Routers permit few to each certificate. */
export const MOST_SOCKETS = 2;

const KEPT: AgentOptions = { keepAlive: true, maxSockets: MOST_SOCKETS, maxFreeSockets: MOST_SOCKETS };

class PodAgent extends Agent {
  readonly #open: OpenApi;
  readonly #identity: ApiIdentity;
  readonly #patience: number;

  constructor(open: OpenApi, identity: ApiIdentity, patience: number) {
    super(KEPT);
    this.#open = open;
    this.#identity = identity;
    this.#patience = patience;
  }

  override createConnection(...[{ host }, done]: Parameters<Agent['createConnection']>): undefined {
    detached('connection/pod-api', async () => {
      try {
        done?.(null, await this.#connect(host ?? ''));
      } catch (error) {
        // Node.js uses only the error then.
        (done as ((error: unknown) => void) | undefined)?.(error);
      }
    });
    return undefined;
  }

  /** The signal of a request does not end it while its connection is being opened, so a pod that says nothing has a deadline here. */
  async #connect(pod: string): Promise<Duplex> {
    const signal = AbortSignal.timeout(this.#patience);
    const stream = await this.#open(pod);
    const socket = connect({ ...this.#identity, socket: stream, servername: ROUTER_LOCAL, minVersion: 'TLSv1.3' });
    try {
      await once(socket, 'secureConnect', { signal });
      return socket;
    } catch (error) {
      socket.destroy();
      stream.destroy();
      throw signal.aborted ? new Error(`the pod ${pod} accepts connections and does not answer`, { cause: error }) : error;
    }
  }
}
