import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';

import { pause } from '../../work/pause.ts';
import {
  applyCall,
  createCall,
  deleteCall,
  getCall,
  logCall,
  kindsCall,
  pageCall,
  patchCall,
  portCall,
  proxyCall,
  watchCall,
} from './call.ts';
import type { Call } from './call.ts';
import type { ConfigSource } from './connection.ts';
import type {
  DeleteOptions,
  Key,
  KubeClient,
  Page,
  PageOptions,
  PatchOptions,
  Discovery,
  PodAccess,
  RequestOptions,
  Selection,
  WatchOptions,
  WriteOptions,
} from '../contract.ts';
import { decodeEvent, decodeObject, decodeKinds, decodePage } from './decode.ts';
import { ApiError, TransportError } from '../errors.ts';
import type { Answer, StreamedBody } from './exchange.ts';
import { LineDecoder } from './lines.ts';
import type { KubeObject } from '../objects.ts';
import { POD_STREAM_PROTOCOL, PodStream } from './pod-stream.ts';
import type { Resource } from '../resource.ts';
import { retryOf, settingsMayBeOld } from './retry.ts';
import type { Verb } from './retry.ts';
import { apiErrorOf } from './status.ts';
import { Transport } from './transport.ts';
import type { ShownAs } from '../../errors/catalogue.ts';

export interface ClientOptions {
  readonly config: ConfigSource;
  readonly userAgent: string;
  /** Field manager of the fields that this client writes (metadata.managedFields). */
  readonly fieldManager: string;
  /** Closes the client when aborted. */
  readonly signal?: AbortSignal;
  /**
   * Called for every attempt. `code` is the HTTP status or the TransportError's code. A watch counts until its headers arrive.
   */
  readonly onRequest?: (verb: Verb, resource: string, code: string, seconds: number) => void;
  /** Timeout of a call in milliseconds, including retries. Default: 30,000. */
  readonly requestTimeout?: number;
  /** Milliseconds without data after which a watch counts as stalled. Default: 100,000 (bookmarks arrive about every 60 s). */
  readonly watchIdle?: number;
  /** Maximum number of connections for requests. Default: 32. */
  readonly connections?: number;
  /** Milliseconds after which the settings are read again. Default: 60,000. */
  readonly reloadAfter?: number;
  /** Minimum time in milliseconds between two reads after failures. Default: 1,000. */
  readonly refreshPause?: number;
}

export function createClient(options: ClientOptions): KubeClient & PodAccess & Discovery {
  return new Client(options);
}

/** Maximum bytes of one response or watch event. */
const BODY_LIMIT = 64 * 1_048_576;
const REQUEST_TIMEOUT = 30_000;
const WATCH_IDLE = 100_000;
/** Milliseconds by which the server may exceed the requested timeout of a watch. */
const WATCH_GRACE = 15_000;
/** Maximum time of following a log: a day, in milliseconds. */
const LOG_FOLLOWED = 86_400_000;

class Client implements KubeClient, PodAccess, Discovery {
  readonly #options: ClientOptions;
  readonly #transport: Transport;
  readonly #headers: readonly string[];

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#transport = new Transport(options);
    this.#headers = ['user-agent', options.userAgent];
    options.signal?.addEventListener('abort', () => void this[Symbol.asyncDispose](), { once: true });
  }

  async get<T extends KubeObject>(of: Resource<T>, key: Key, options: RequestOptions = {}): Promise<T> {
    return this.#object<T>(getCall(of, key, options));
  }

  async find<T extends KubeObject>(of: Resource<T>, key: Key, options: RequestOptions = {}): Promise<T | undefined> {
    try {
      return await this.get(of, key, options);
    } catch (error) {
      // An unknown resource type (a missing CRD) also returns 404, but without a Status.
      if (error instanceof ApiError && error.status === 404 && error.reason === 'NotFound') return undefined;
      throw error;
    }
  }

  async *list<T extends KubeObject>(of: Resource<T>, selection: Selection = {}, options: RequestOptions = {}): AsyncIterable<T> {
    let token: string | undefined;
    do {
      const page: Page<T> = await this.#pageOrLater(of, selection, { ...options, ...(token === undefined ? {} : { continue: token }) });
      yield* page.items;
      token = page.continue;
    } while (token !== undefined);
  }

  async page<T extends KubeObject>(of: Resource<T>, selection: Selection, options: PageOptions = {}): Promise<Page<T>> {
    const call = pageCall(of, selection, options);
    const answer = await this.#send(call);
    return decodePage(call.name, of, answer.body);
  }

  async serves(of: Resource, options: RequestOptions = {}): Promise<boolean> {
    const call = kindsCall(of, options);
    try {
      return decodeKinds(call.name, (await this.#send(call)).body).includes(of.plural);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
  }

  async watch<T extends KubeObject>(of: Resource<T>, options: WatchOptions<T>): Promise<void> {
    const call = watchCall(of, options);
    const lines = new LineDecoder(BODY_LIMIT, (line) => options.onEvent(decodeEvent<T>(call.name, line)));
    try {
      await this.#attempt(call, options.timeoutSeconds * 1_000 + WATCH_GRACE, {
        idle: this.#options.watchIdle ?? WATCH_IDLE,
        onChunk: (chunk) => lines.push(chunk),
      });
    } catch (error) {
      // The caller retries with its own backoff. The next attempt must not fail because of old settings.
      if (settingsMayBeOld(error)) await this.#transport.refresh();
      throw error;
    }
    if (lines.pending > 0) {
      throw new TransportError('kube-cut', `${call.name}: the watch ended within a line.`, { sent: true, answered: true });
    }
  }

  async create<T extends KubeObject>(of: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#object<T>(createCall(of, object, this.#options.fieldManager, options));
  }

  async apply<T extends KubeObject>(of: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.#object<T>(applyCall(of, object, this.#options.fieldManager, options));
  }

  async patch<T extends KubeObject>(of: Resource<T>, key: Key, patch: unknown, options: PatchOptions): Promise<T> {
    return this.#object<T>(patchCall(of, key, patch, this.#options.fieldManager, options));
  }

  async delete(of: Resource, key: Key, options: DeleteOptions = {}): Promise<void> {
    await this.#send(deleteCall(of, key, options));
  }

  async log(...asked: Parameters<PodAccess['log']>): Promise<string> {
    return (await this.#send(logCall(...asked))).body.toString('utf8');
  }

  async getFromPod(...asked: Parameters<PodAccess['getFromPod']>): Promise<string> {
    return (await this.#send(proxyCall(...asked))).body.toString('utf8');
  }

  async openPort(...[pod, port, { signal } = {}]: Parameters<PodAccess['openPort']>): Promise<Duplex> {
    const call = portCall(pod, port, signal);
    const { socket, status } = await this.#send(call);
    if (socket !== undefined) return new PodStream(call.name, socket);
    throw new TransportError('kube-malformed', `${call.name}: not a WebSocket, but status ${status}.`, { sent: true, answered: true });
  }

  async followLog(...[key, options, onLine]: Parameters<PodAccess['followLog']>): Promise<void> {
    const lines = new LineDecoder(BODY_LIMIT, onLine);
    // A log may be silent while its container runs.
    await this.#attempt(logCall(key, options, true), LOG_FOLLOWED, { idle: LOG_FOLLOWED, onChunk: (chunk) => lines.push(chunk) });
    // A program may end within a line.
    lines.push(Buffer.from('\n'));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#transport[Symbol.asyncDispose]();
  }

  /**
   * If a list's token expired, continues with the one that the server offers. The list is then complete but not from a single
   * point in time.
   */
  async #pageOrLater<T extends KubeObject>(of: Resource<T>, selection: Selection, options: PageOptions): Promise<Page<T>> {
    try {
      return await this.page(of, selection, options);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410 && error.continueToken !== undefined)) throw error;
      return this.page(of, selection, { ...options, continue: error.continueToken });
    }
  }

  async #object<T extends KubeObject>(call: Call): Promise<T> {
    const answer = await this.#send(call);
    return decodeObject<T>(call.name, answer.body);
  }

  async #send(call: Call): Promise<Answer> {
    const end = performance.now() + (this.#options.requestTimeout ?? REQUEST_TIMEOUT);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(call, Math.max(0, end - performance.now()));
      } catch (error) {
        const retry = retryOf(call.verb, attempt, error, end - performance.now(), Math.random());
        if (!retry.again || (retry.refresh && !(await this.#transport.refresh()))) throw error;
        if (retry.delay > 0) await pause(retry.delay, call.signal);
      }
    }
  }

  async #attempt(call: Call, deadline: number, stream?: Omit<StreamedBody, 'onStart'>): Promise<Answer> {
    const startedAt = performance.now();
    let counted = false;
    const count = (code: number | string): void => {
      if (!counted) this.#options.onRequest?.(call.verb, call.resource, String(code), (performance.now() - startedAt) / 1_000);
      counted = true;
    };
    try {
      const { name, method, path, signal, contentType, body, isWebSocket } = call;
      const headers = [
        ...this.#headers,
        'accept',
        isWebSocket === true ? '*/*' : 'application/json',
        ...(contentType === undefined ? [] : ['content-type', contentType]),
        ...(isWebSocket === true ? webSocketHeaders() : []),
      ];
      const answer = await this.#transport.send(
        {
          call: name,
          method,
          path,
          deadline,
          signal,
          maxBytes: BODY_LIMIT,
          ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
          ...(isWebSocket === true ? { upgrade: 'websocket' as const } : {}),
          ...(stream === undefined ? {} : { stream: { ...stream, onStart: count } }),
        },
        headers,
      );
      count(answer.status);
      if ((answer.status >= 200 && answer.status < 300) || answer.socket !== undefined) return answer;
      const error = apiErrorOf(name, answer.status, answer.retryAfter, answer.body.toString('utf8'));
      if (call.isProxied === true && error.reason === '') return answer;
      throw error;
    } catch (error) {
      count(error instanceof TransportError ? labelOf(error.code) : 'aborted');
      throw error;
    }
  }
}

/** RFC 6455, section 4.1. The kubelet upgrades a request only if it accepts any type. */
function webSocketHeaders(): readonly string[] {
  const key = randomBytes(16).toString('base64');
  return ['sec-websocket-version', '13', 'sec-websocket-key', key, 'sec-websocket-protocol', POD_STREAM_PROTOCOL];
}

/** `KUBE_CUT`: existing alerts use this spelling. */
const labelOf = (code: ShownAs<'metric'>): string => code.replaceAll('-', '_').toUpperCase();
