import type { Host } from './host.ts';
import type { Program } from '../../harness/program.ts';
import { eventually, type WaitOptions } from '../../harness/wait.ts';

/** One request, as curl saw it. */
export interface RequestResult {
  readonly well: boolean;
  /** Seconds, from the connection's begin to the answer's end. */
  readonly seconds: number;
  /** Error of curl, if it failed. */
  readonly error: string;
}

export interface RequestOptions {
  /** 50 a second by default: a new one begins only after the last one has ended. */
  readonly perSecond?: number;
  /** Seconds after which a request has failed; 15 by default. */
  readonly patience?: number;
}

/** A client that requests one page all the time, each time over a new connection, and counts. */
export interface Requests extends AsyncDisposable {
  readonly program: Program;
  readonly results: readonly RequestResult[];
  /** Waits for so many requests that begin from now on. @returns them */
  next(count: number, options?: WaitOptions): Promise<readonly RequestResult[]>;
}

/** Starts curl on a host; it goes on whatever becomes of a request. */
export async function startRequests(host: Host, url: string, { perSecond = 50, patience = 15 }: RequestOptions = {}): Promise<Requests> {
  const program = await host.spawn(
    [
      'curl',
      '-sS',
      '-o',
      '/dev/null',
      '-H',
      'Connection: close',
      '--rate',
      `${perSecond}/s`,
      '--max-time',
      String(patience),
      '-w',
      '%{stderr}ended %{http_code} %{time_total} %{errormsg}\n',
      `${url}?[1-10000000]`,
    ],
    { name: 'requests' },
  );
  const read = (): RequestResult[] =>
    [...program.output.matchAll(/^ended (\d+) ([\d.]+) (.*)\n/gm)].map(([, code = '', seconds = '', error = '']) => ({
      well: code === '200',
      seconds: Number(seconds),
      error: code === '200' ? '' : `${code} ${error}`,
    }));
  return {
    program,
    get results() {
      return read();
    },
    async next(count, options) {
      // The one that is under way began before.
      const from = read().length + 1;
      return eventually(
        `${count} further requests on ${host.name}`,
        () => {
          const results = read();
          return results.length >= from + count && results.slice(from, from + count);
        },
        options,
      );
    },
    [Symbol.asyncDispose]: () => program.kill(),
  };
}

/** Errors of curl, with their number. */
export function failuresOf(results: readonly RequestResult[]): readonly string[] {
  return results.filter(({ well }) => !well).map(({ error }) => error);
}

/** Waits until nothing listens at the port that curl asks, which a listener leaves a second after its last route. */
export async function untilRefused(host: Host, curl: readonly string[]): Promise<void> {
  await eventually('the client to be refused', async () => {
    const { code, stdout, stderr } = await host.attempt(curl);
    if (code === 7) return true;
    throw new Error(`curl ended with ${code}: ${stdout}${stderr}`);
  });
}
