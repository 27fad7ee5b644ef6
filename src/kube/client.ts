import { performance } from 'node:perf_hooks';

import { pause } from './backoff.ts';
import type { ConfigSource } from './connection.ts';
import type {
  ApplyOptions,
  DeleteOptions,
  Key,
  KubeClient,
  Page,
  PageOptions,
  PatchOptions,
  RequestOptions,
  Selection,
  WatchOptions,
  WriteOptions,
} from './contract.ts';
import { decodeEvent, decodeObject, decodePage } from './decode.ts';
import { ApiError, isNotFound, TransportError } from './errors.ts';
import type { Answer, Exchange, StreamedBody } from './exchange.ts';
import { LineDecoder } from './lines.ts';
import type { KubeObject } from './objects.ts';
import { collectionPath, objectPath, selectionQuery, withQuery } from './path.ts';
import { apiVersionOf } from './resource.ts';
import type { Resource } from './resource.ts';
import { retryOf } from './retry.ts';
import type { Verb } from './retry.ts';
import { apiErrorOf } from './status.ts';
import { Transport } from './transport.ts';

export interface ClientOptions {
  readonly config: ConfigSource;
  readonly userAgent: string;
  /** Owner of the fields that this client writes (metadata.managedFields). */
  readonly fieldManager: string;
  /** Closes the client. */
  readonly signal?: AbortSignal;
  /** Told of every attempt: `code` is the HTTP status, or the TransportError's code; a watch counts until its headers are in. */
  readonly onRequest?: (verb: Verb, resource: string, code: string, seconds: number) => void;
  /** Milliseconds that a call may take in all, retries included; 30,000 by default. */
  readonly requestTimeout?: number;
  /** Milliseconds without a byte after which a watch counts as stalled; 100,000 by default (bookmarks come about every 60 s). */
  readonly watchIdle?: number;
  /** Most connections for requests; 32 by default. */
  readonly connections?: number;
}

export function createClient(options: ClientOptions): KubeClient {
  return new Client(options);
}

const PAGE_SIZE = 500;
const BODY_LIMIT = 64 * 1_048_576;
/** What the server may be late with the end of a watch that it was asked to end. */
const WATCH_GRACE = 15_000;

const CONTENT_TYPES = {
  json: 'application/json',
  merge: 'application/merge-patch+json',
  'json-patch': 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

interface Call {
  readonly verb: Verb;
  readonly of: Resource;
  /** For messages and metrics. */
  readonly subject: string;
  readonly subresource?: string | undefined;
  readonly method: Exchange['method'];
  readonly path: string;
  readonly contentType?: keyof typeof CONTENT_TYPES;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

class Client implements KubeClient {
  readonly #transport: Transport;
  readonly #options: ClientOptions;
  readonly #timeout: number;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#timeout = options.requestTimeout ?? 30_000;
    this.#transport = new Transport(options.config, options.connections ?? 32);
    options.signal?.addEventListener('abort', () => void this[Symbol.asyncDispose](), { once: true });
  }

  async get<T extends KubeObject>(of: Resource<T>, key: Key, options: RequestOptions = {}): Promise<T> {
    return this.#object(of, { verb: 'get', of, subject: subjectOf(of, key), method: 'GET', path: objectPath(of, key), signal: options.signal });
  }

  async find<T extends KubeObject>(of: Resource<T>, key: Key, options: RequestOptions = {}): Promise<T | undefined> {
    try {
      return await this.get(of, key, options);
    } catch (error) {
      // A missing resource type (a CRD not there yet) answers 404 as well, in plain text: that is not "no such object".
      if (isNotFound(error) && error instanceof ApiError && error.reason === 'NotFound') return undefined;
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
    const query = { ...selectionQuery(selection), limit: options.limit ?? PAGE_SIZE, continue: options.continue };
    const call: Call = {
      verb: 'list',
      of,
      subject: collectionSubject(of, selection),
      method: 'GET',
      path: withQuery(collectionPath(of, selection.namespace), query),
      signal: options.signal,
    };
    const answer = await this.#send(call);
    return decodePage(nameOf(call), of, answer.body);
  }

  async watch<T extends KubeObject>(of: Resource<T>, options: WatchOptions<T>): Promise<void> {
    const start =
      'after' in options.from
        ? { resourceVersion: options.from.after }
        : { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' };
    const query = {
      ...selectionQuery(options),
      watch: true,
      allowWatchBookmarks: true,
      timeoutSeconds: options.timeoutSeconds,
      ...start,
    };
    const call: Call = {
      verb: 'watch',
      of,
      subject: collectionSubject(of, options),
      method: 'GET',
      path: withQuery(collectionPath(of, options.namespace), query),
      signal: options.signal,
    };
    const name = nameOf(call);
    const lines = new LineDecoder(BODY_LIMIT, (line) => options.onEvent(decodeEvent<T>(name, line)));
    await this.#attempt(call, options.timeoutSeconds * 1_000 + WATCH_GRACE, {
      idle: this.#options.watchIdle ?? 100_000,
      onChunk: (chunk) => lines.push(chunk),
    });
    if (lines.pending > 0) {
      throw new TransportError('KUBE_CUT', `${name}: the watch ended within a line.`, { sent: true, answered: true });
    }
  }

  async create<T extends KubeObject>(of: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { name = '', namespace } = object.metadata;
    return this.#object(of, {
      verb: 'create',
      of,
      subject: subjectOf(of, { name, ...(namespace === undefined ? {} : { namespace }) }),
      method: 'POST',
      path: withQuery(collectionPath(of, namespace), this.#writeQuery(options)),
      contentType: 'json',
      body: typed(of, object),
      signal: options.signal,
    });
  }

  async apply<T extends KubeObject>(of: Resource<T>, object: T, options: ApplyOptions = {}): Promise<T> {
    const { name = '', namespace } = object.metadata;
    const key = namespace === undefined ? { name } : { namespace, name };
    return this.#object(of, {
      verb: 'apply',
      of,
      subject: subjectOf(of, key),
      subresource: options.subresource,
      method: 'PATCH',
      path: withQuery(objectPath(of, key, options.subresource), { ...this.#writeQuery(options), force: options.force ?? true }),
      contentType: 'apply',
      body: typed(of, object),
      signal: options.signal,
    });
  }

  async patch<T extends KubeObject>(of: Resource<T>, key: Key, patch: unknown, options: PatchOptions): Promise<T> {
    return this.#object(of, {
      verb: 'patch',
      of,
      subject: subjectOf(of, key),
      subresource: options.subresource,
      method: 'PATCH',
      path: withQuery(objectPath(of, key, options.subresource), this.#writeQuery(options)),
      contentType: options.type === 'json' ? 'json-patch' : options.type,
      body: patch,
      signal: options.signal,
    });
  }

  async delete(of: Resource, key: Key, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagation } = options;
    const preconditions = { ...(uid === undefined ? {} : { uid }), ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    await this.#send({
      verb: 'delete',
      of,
      subject: subjectOf(of, key),
      method: 'DELETE',
      path: objectPath(of, key),
      contentType: 'json',
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions,
        ...(propagation === undefined ? {} : { propagationPolicy: propagation }),
      },
      signal: options.signal,
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#transport[Symbol.asyncDispose]();
  }

  /** A list whose continue token expired goes on with the one that the server offers instead: not one moment's list any more, but whole. */
  async #pageOrLater<T extends KubeObject>(of: Resource<T>, selection: Selection, options: PageOptions): Promise<Page<T>> {
    try {
      return await this.page(of, selection, options);
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 410 && error.continueToken !== undefined)) throw error;
      return this.page(of, selection, { ...options, continue: error.continueToken });
    }
  }

  async #object<T extends KubeObject>(_of: Resource<T>, call: Call): Promise<T> {
    const answer = await this.#send(call);
    return decodeObject<T>(nameOf(call), answer.body);
  }

  async #send(call: Call): Promise<Answer> {
    const end = performance.now() + this.#timeout;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(call, end - performance.now());
      } catch (error) {
        const retry = retryOf(call.verb, attempt, error, end - performance.now(), Math.random());
        if (!retry.again || (retry.refresh && !(await this.#transport.refresh()))) throw error;
        if (retry.delay > 0) await pause(retry.delay, call.signal);
      }
    }
  }

  async #attempt(call: Call, deadline: number, stream?: Omit<StreamedBody, 'onStart'>): Promise<Answer> {
    const startedAt = performance.now();
    const count = (code: number | string): void => {
      const resource = call.subresource === undefined ? call.of.plural : `${call.of.plural}/${call.subresource}`;
      this.#options.onRequest?.(call.verb, resource, String(code), (performance.now() - startedAt) / 1_000);
    };
    let counted = false;
    const onStart = (status: number): void => {
      counted = true;
      count(status);
    };
    try {
      const answer = await this.#transport.send(
        {
          call: nameOf(call),
          method: call.method,
          path: call.path,
          deadline,
          maxBytes: BODY_LIMIT,
          signal: call.signal,
          ...(call.body === undefined ? {} : { body: Buffer.from(JSON.stringify(call.body)) }),
          ...(stream === undefined ? {} : { stream: { ...stream, onStart } }),
        },
        this.#headers(call),
      );
      if (!counted) count(answer.status);
      if (answer.status >= 200 && answer.status < 300) return answer;
      throw apiErrorOf(nameOf(call), answer.status, answer.retryAfter, answer.body.toString('utf8'));
    } catch (error) {
      if (!counted && !(error instanceof ApiError)) count(error instanceof TransportError ? error.code : 'aborted');
      throw error;
    }
  }

  #headers(call: Call): readonly string[] {
    const headers = ['accept', 'application/json', 'user-agent', this.#options.userAgent];
    return call.contentType === undefined ? headers : [...headers, 'content-type', CONTENT_TYPES[call.contentType]];
  }

  #writeQuery(options: WriteOptions): { fieldManager: string; dryRun?: string } {
    return { fieldManager: options.fieldManager ?? this.#options.fieldManager, ...(options.dryRun === true ? { dryRun: 'All' } : {}) };
  }
}

function typed<T extends KubeObject>(of: Resource<T>, object: T): T {
  return { ...object, apiVersion: apiVersionOf(of), kind: of.kind };
}

function nameOf(call: Call): string {
  return `${call.verb} ${call.subject}${call.subresource === undefined ? '' : ` (${call.subresource})`}`;
}

function subjectOf(of: Resource, key: Key): string {
  return `${of.kind} ${key.namespace === undefined ? '' : `${key.namespace}/`}${key.name}`;
}

function collectionSubject(of: Resource, selection: Selection): string {
  return selection.namespace === undefined ? of.plural : `${of.plural} in ${selection.namespace}`;
}
