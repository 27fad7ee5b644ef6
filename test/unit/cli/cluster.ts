/** An API server over HTTP that keeps objects, and the command line in this process. What a controller would do, the test does. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { CommanderError } from 'commander';
import { skupperResources } from '../../../src/api/skupper/index.ts';
import { isSkupperKind, validateResource } from '../../../src/api/skupper/validate.ts';
import { exitCodeOf } from '../../../src/cli/errors.ts';
import { definitions } from '../../../src/explain/gather/served-definitions.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { isRecord } from '../../../src/text/is-record.ts';
import { failure } from '../kube/raw-server.ts';
import { forward } from '../support/forwarding-api-server.ts';
import type { Result } from './namespace.ts';

export interface Stored extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: object;
  readonly data?: Readonly<Record<string, string>>;
}

export interface Asked {
  readonly method: string;
  /** `sites/west`. */
  readonly what: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

interface Watcher {
  readonly collection: string;
  readonly name: string | undefined;
  readonly response: ServerResponse;
}

const NAMESPACE = 'west';

export class Cluster implements AsyncDisposable {
  readonly requests: Asked[] = [];
  /** Answers in place of the server. */
  refuse: (asked: Asked) => object | string | undefined = () => undefined;
  /** Answers requests for logs of pods and for their HTTP servers. */
  answerOfPod: (asked: Asked) => string = ({ what }) => `${what.split('/')[2] ?? ''} of ${what.split('/')[1] ?? ''}`;
  /** Port of this machine that answers for a pod's; requests to forward are refused without one. */
  portOfPod: (pod: string) => number | undefined = () => undefined;
  /** Called after each write, as a controller would be. */
  control: (object: Stored) => void = () => {};
  readonly kubeconfig: string;
  readonly #home: string;
  readonly #server: Server;
  /** By `COLLECTION/NAME`. */
  readonly #objects = new Map<string, Stored>();
  readonly #watchers = new Set<Watcher>();
  readonly #forwarded = new Set<Duplex>();
  #version = 1;

  static async start(): Promise<Cluster> {
    const home = await mkdtemp(join(tmpdir(), 'earshot-cluster-'));
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const cluster = new Cluster(home, server);
    server.on('request', (request, response) => void cluster.#answer(request, response));
    server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
      cluster.#forwarded.add(socket);
      socket.on('error', () => undefined);
      const port = cluster.portOfPod(/\/pods\/([^/]+)\/portforward/.exec(request.url ?? '')?.[1] ?? '');
      if (port === undefined) socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
      else forward(request, socket, { port });
    });
    // Of a server that listens at an address.
    const { port } = server.address() as AddressInfo;
    const clusters = [{ name: 'c', cluster: { server: `http://127.0.0.1:${port}` } }];
    const contexts = [{ name: 'here', context: { cluster: 'c', namespace: NAMESPACE } }];
    await writeFile(cluster.kubeconfig, JSON.stringify({ 'current-context': 'here', contexts, clusters }));
    return cluster;
  }

  private constructor(home: string, server: Server) {
    this.#home = home;
    this.#server = server;
    this.kubeconfig = join(home, 'kubeconfig');
  }

  /** `earshot --kubeconfig … ARGS`, as a person would see it. */
  async earshot(args: readonly string[], input = '', place: readonly string[] = ['--kubeconfig', this.kubeconfig]): Promise<Result> {
    let out = '';
    let err = '';
    const program = buildProgram({ out: (said) => void (out += said), note: (said) => void (err += said), input: async () => input });
    try {
      await program.parseAsync([...place, ...args], { from: 'user' });
      return { code: 0, out, err };
    } catch (error) {
      if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, out, err };
      return { code: exitCodeOf(error), out, err: `${err}${error instanceof Error ? error.message : String(error)}\n` };
    }
  }

  path(name: string): string {
    return join(this.#home, name);
  }

  get(what: string): Stored | undefined {
    return this.#objects.get(what);
  }

  /** Objects written by requests. */
  get writes(): readonly string[] {
    return this.requests.filter(({ method }) => method !== 'GET').map(({ method, what }) => `${method} ${what}`);
  }

  /** Straight into the store. @param what `sites/west` */
  store(what: string, object: object): void {
    const before = this.#objects.get(what);
    const [, name = ''] = what.split('/');
    const given = object as Stored;
    const { kind, apiVersion } = typeOf(what);
    const spec = 'spec' in given || isSkupperKind(kind) ? { spec: given.spec ?? {} } : {};
    const changed = JSON.stringify(before?.spec) !== JSON.stringify(given.spec);
    const generation = (before?.metadata.generation ?? 0) + (changed || before === undefined ? 1 : 0);
    this.#version += 1;
    const resourceVersion = String(this.#version);
    const uid = before?.metadata.uid ?? `uid-${what}`;
    const metadata = { ...given.metadata, name, namespace: NAMESPACE, uid, resourceVersion, generation, managedFields: [{ manager: 'x' }] };
    const stored: Stored = defaulted({ ...given, ...spec, kind, apiVersion, metadata });
    this.#objects.set(what, stored);
    this.#notify(before === undefined ? 'ADDED' : 'MODIFIED', what, stored);
  }

  /** A condition of this type is true, and of that status. */
  status(what: string, status: object): void {
    this.store(what, { ...this.#objects.get(what), status });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#forwarded) socket.destroy();
    this.#server.closeAllConnections();
    this.#server.close();
    await rm(this.#home, { recursive: true, force: true });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const { pathname, searchParams: query } = new URL(url, 'http://server');
    const [, ofGroup] = /^\/apis\/([^/]+)\/[^/]+$/.exec(pathname) ?? [];
    const kinds = definitions.filter(({ group }) => group === ofGroup).map(({ plural }) => ({ name: plural }));
    if (ofGroup !== undefined) return send(response, 200, { resources: kinds });
    const what = pathname.replace(/^.*\/namespaces\/[^/]+\//, '');
    const said = await text(request);
    const asked: Asked = { method, what, query, body: said === '' ? undefined : JSON.parse(said) };
    this.requests.push(asked);
    const refused = this.refuse(asked);
    if (refused !== undefined) send(response, isRecord(refused) ? Number(refused['code']) : 404, refused);
    else if (query.has('watch')) this.#watch(what, query, response);
    else this.#act(asked, response);
  }

  #act(asked: Asked, response: ServerResponse): void {
    const { method, what, query, body } = asked;
    const [collection = '', name, sub] = what.split('/');
    if (sub === 'log' || sub === 'proxy') send(response, 200, this.answerOfPod(asked));
    else if (method === 'POST') {
      const { metadata } = body as Stored;
      const key = `${collection}/${metadata.name}`;
      if (this.#objects.has(key))
        return send(response, 409, failure(409, 'AlreadyExists', `${collection} "${metadata.name}" already exists`));
      this.store(key, body as Stored);
      send(response, 201, this.#objects.get(key));
      this.control(this.#objects.get(key) as Stored);
    } else if (name === undefined) {
      const selector = (query.get('labelSelector') ?? '').split(',').filter((part) => part !== '');
      const items = [...this.#objects].filter(([key, { metadata }]) => {
        const labels = new Set(Object.entries(metadata.labels ?? {}).map(([label, value]) => `${label}=${value}`));
        return key.startsWith(`${collection}/`) && selector.every((part) => labels.has(part));
      });
      send(response, 200, { metadata: { resourceVersion: String(this.#version) }, items: items.map(([, object]) => object) });
    } else this.#actOn(method, what, body, response);
  }

  #actOn(method: string, what: string, body: unknown, response: ServerResponse): void {
    const found = this.#objects.get(what);
    const [collection, name] = what.split('/');
    if (found === undefined) return send(response, 404, failure(404, 'NotFound', `${collection} "${name}" not found`));
    if (method === 'DELETE') {
      this.#objects.delete(what);
      this.#notify('DELETED', what, found);
      return send(response, 200, { kind: 'Status', status: 'Success' });
    }
    if (method === 'PATCH') this.store(what, merged(found, body) as Stored);
    send(response, 200, this.#objects.get(what));
    if (method === 'PATCH') this.control(this.#objects.get(what) as Stored);
  }

  #watch(collection: string, query: URLSearchParams, response: ServerResponse): void {
    const name = /^metadata\.name=(.*)$/.exec(query.get('fieldSelector') ?? '')?.[1];
    const watcher = { collection, name, response };
    response.writeHead(200);
    response.flushHeaders();
    for (const [key, object] of this.#objects) if (isFor(watcher, key)) line(response, 'ADDED', object);
    const metadata = { resourceVersion: String(this.#version), annotations: { 'k8s.io/initial-events-end': 'true' } };
    line(response, 'BOOKMARK', { ...typeOf(collection), metadata });
    this.#watchers.add(watcher);
    response.on('close', () => this.#watchers.delete(watcher));
  }

  #notify(type: string, key: string, object: Stored): void {
    for (const watcher of this.#watchers) if (isFor(watcher, key)) line(watcher.response, type, object);
  }
}

export const condition = (type: string, status = 'True', message = 'OK', more: object = {}): object => ({
  type,
  status,
  reason: status === 'True' ? 'Ready' : 'Pending',
  message,
  lastTransitionTime: '2030-01-01T00:00:00Z',
  ...more,
});

export const ready = (more: object = {}): object => ({
  status: 'Ready',
  message: 'OK',
  conditions: [condition('Configured'), condition('Ready')],
  ...more,
});

function isFor({ collection, name }: Watcher, key: string): boolean {
  return name === undefined ? key.startsWith(`${collection}/`) : key === `${collection}/${name}`;
}

function typeOf(what: string): { readonly kind: string; readonly apiVersion: string } {
  const [collection = ''] = what.split('/');
  const found = Object.values(skupperResources).find(({ plural }) => plural === collection);
  if (found !== undefined) return { kind: found.kind, apiVersion: 'skupper.io/v2alpha1' };
  const others: Readonly<Record<string, string>> = {
    secrets: 'Secret',
    pods: 'Pod',
    services: 'Service',
    deployments: 'Deployment',
    leases: 'Lease',
    configmaps: 'ConfigMap',
    endpointslices: 'EndpointSlice',
  };
  return { kind: others[collection] ?? 'Unknown', apiVersion: 'v1' };
}

/** As the API server does by the definitions. */
function defaulted(object: Stored): Stored {
  const { resource } = validateResource({ ...object, status: undefined });
  return resource === undefined ? object : { ...object, spec: resource.spec as unknown as Record<string, unknown> };
}

function merged(from: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result = new Map(Object.entries(isRecord(from) ? from : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, merged(result.get(key), value));
  }
  return Object.fromEntries(result);
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
}

function line(response: ServerResponse, type: string, object: unknown): void {
  response.write(`${JSON.stringify({ type, object })}\n`);
}
