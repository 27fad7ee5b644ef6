import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Job, Told } from './job.ts';

export type Failure<E> = Extract<Told<E>, { failed: unknown }>['failed'];

export interface JobResult<E> {
  readonly failure: Failure<E> | undefined;
  readonly done: Extract<Told<E>, { done: unknown }>['done'];
}

/** Jobs of simulated networks and of simulated clusters. */
export const ROUTERS = new URL('./child.ts', import.meta.url);
export const CLUSTERS = new URL('../fake-cluster/child.ts', import.meta.url);

/** A history is shortened by running it again and again, each time in a process of its own. */
const COMPILED = fileURLToPath(new URL('../../node_modules/.cache/node', import.meta.url));

/** Milliseconds that a test of seeds may take, where a run of all unit tests has to share its cores with much else. */
export const LIMIT = 4 * 60_000;

/** Runs seeds in a process of their own, until one fails, or the signal ends it. */
export function runJob<E>(program: URL, job: Job<E>, signal?: AbortSignal): Promise<JobResult<E>> {
  const { promise, resolve, reject } = Promise.withResolvers<JobResult<E>>();
  const child = spawn(process.execPath, [fileURLToPath(program), JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { NODE_COMPILE_CACHE: COMPILED, ...process.env },
    ...(signal === undefined ? {} : { signal }),
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.once('error', reject);
  child.once('close', (code) => {
    const told = Buffer.concat(chunks)
      .toString()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Told<E>);
    const done = told.find((each) => 'done' in each)?.done;
    if (done === undefined) reject(new Error(`The process of ${JSON.stringify(job).slice(0, 200)} ended with ${code} and said nothing.`));
    else resolve({ failure: told.find((each) => 'failed' in each)?.failed, done });
  });
  return promise;
}
