/** A client in a pod that sends requests continuously, and a server that is slow on request: both run in the image of the routers. */
import type { Manifest } from './manifests.ts';
import { pod } from './manifests.ts';
import type { Namespace } from './namespace.ts';

/** How a request is made: over a connection of its own, over one that is kept for two seconds, and one whose answer takes four. */
export type Way = 'new' | 'kept' | 'long';

export interface Request {
  readonly way: Way;
  /** Milliseconds since 1970. */
  readonly began: number;
  /** Undefined where it was answered. */
  readonly error?: string;
}

/** Answers at once, and at `/long` after four seconds. Ends by itself. */
const SERVER = `
  const server = require('node:http').createServer((request, response) => {
    setTimeout(() => response.end('ok'), request.url === '/long' ? 4000 : 0);
  });
  server.keepAliveTimeout = 60000;
  server.listen(8080);
  process.on('SIGTERM', () => process.exit());
`;

/** One line for each request that has ended. */
const CLIENT = `
  const http = require('node:http');
  const HOST = process.env.TARGET;
  const PATIENCE = Number(process.env.PATIENCE);
  const ask = (way, path, agent, timeout, then = () => {}) => {
    const began = Date.now();
    let isFinished = false;
    const finish = (error) => {
      if (isFinished) return;
      isFinished = true;
      console.log(JSON.stringify({ way, began, ...(error === undefined ? {} : { error }) }));
      then();
    };
    const request = http.get({ host: HOST, port: 8080, path, agent }, (response) => {
      response.on('error', (error) => finish(error.code ?? error.message));
      response.on('data', () => {});
      response.on('end', () => finish(response.statusCode === 200 ? undefined : 'status ' + response.statusCode));
    });
    request.setTimeout(timeout, () => request.destroy(new Error('timeout')));
    request.on('error', (error) => finish(error.code ?? error.message));
  };
  setInterval(() => ask('new', '/', false, PATIENCE), 50);
  setInterval(() => ask('long', '/long', false, 10000 + PATIENCE), 200);
  // One request after the other over a connection that its client closes after two seconds.
  const keep = () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const until = Date.now() + 2000;
    const next = () => (Date.now() < until ? setTimeout(() => ask('kept', '/', agent, PATIENCE, next), 50) : (agent.destroy(), keep()));
    next();
  };
  keep();
  process.on('SIGTERM', () => process.exit());
`;

const program = (image: string, script: string): object => ({ image, command: ['/usr/local/bin/node', '-e', script] });

/** Node of the pod. */
type On = { readonly node?: string };

type ClientOptions = On & {
  /** Milliseconds after which a request without an answer counts as failed: more where the machine itself may be busy for seconds. */
  readonly patience?: number;
};

export function loadServer(name: string, image: string, on: On = {}): Manifest {
  return pod(name, { ...program(image, SERVER), ...on, labels: { app: name }, ports: [{ containerPort: 8080 }] });
}

export function loadClient(name: string, image: string, target: string, { patience = 5_000, ...on }: ClientOptions = {}): Manifest {
  const env = [
    { name: 'TARGET', value: target },
    { name: 'PATIENCE', value: String(patience) },
  ];
  return pod(name, { ...program(image, CLIENT), ...on, container: { env } });
}

/** Those that began since then and have ended. */
export async function requestsSince(namespace: Namespace, client: string, since: number): Promise<readonly Request[]> {
  const printed = await namespace.cluster.kubectl(['logs', '--namespace', namespace.name, client]);
  const all = printed.split('\n').flatMap((line): readonly Request[] => (line.startsWith('{') ? [JSON.parse(line) as Request] : []));
  return all.filter(({ began }) => began >= since);
}

/** Milliseconds from the first that failed to the next that was answered, at the longest: where all are answered, none. */
export function longestOutage(requests: readonly Request[]): number {
  let longest = 0;
  let since: number | undefined;
  for (const { began, error } of requests.toSorted((one, other) => one.began - other.began)) {
    if (error !== undefined) since ??= began;
    else if (since !== undefined) {
      longest = Math.max(longest, began - since);
      since = undefined;
    }
  }
  return longest;
}
