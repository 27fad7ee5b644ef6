import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Job, Told } from './child.ts';

export type Failure = Extract<Told, { failed: unknown }>['failed'];

export interface JobResult {
  readonly failure: Failure | undefined;
  readonly done: Extract<Told, { done: unknown }>['done'];
}

/** Runs seeds in a process of their own, until one fails. */
export function runJob(job: Job): Promise<JobResult> {
  const { promise, resolve, reject } = Promise.withResolvers<JobResult>();
  const child = spawn(process.execPath, [fileURLToPath(new URL('./child.ts', import.meta.url)), JSON.stringify(job)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.once('error', reject);
  child.once('close', (code) => {
    const told = Buffer.concat(chunks)
      .toString()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Told);
    const done = told.find((each) => 'done' in each)?.done;
    if (done === undefined) reject(new Error(`The process of ${JSON.stringify(job).slice(0, 200)} ended with ${code} and said nothing.`));
    else resolve({ failure: told.find((each) => 'failed' in each)?.failed, done });
  });
  return promise;
}
