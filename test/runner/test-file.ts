import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Result of one file of tests. It has failed if `failed` is not 0, for any reason. */
export interface FileResult extends Counts {
  readonly file: string;
  readonly seconds: number;
  /** All that it said. */
  readonly output: string;
}

export interface FileOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Milliseconds for one test, and for the file. */
  readonly testLimit: number;
  readonly fileLimit: number;
  /** Milliseconds in which a process ends after its last test (default: END_LIMIT). */
  readonly endLimit?: number;
  /** The time of all is up. */
  readonly signal: AbortSignal;
  /** Lines as they come, without the file's own count. */
  readonly show: (line: string) => void;
}

/** Milliseconds for clean-up of an ended file, and for an output that a process of it may hold open. */
const [GRACE, HELD_OPEN] = [10_000, 5_000];
/** A slow machine takes some of it for clean-up that no test waits for. */
export const END_LIMIT = 20_000;
const ALONE = fileURLToPath(new URL('alone.ts', import.meta.url));

/** Runs one file in a process of its own, and ends it when its time is up. */
export async function runTestFile(file: string, options: FileOptions): Promise<FileResult> {
  const began = performance.now();
  const { output, code } = await runTests([ALONE, String(options.endLimit ?? END_LIMIT), file], file, options);
  return { file, output, seconds: (performance.now() - began) / 1_000, ...countsIn(output, code) };
}

export interface Ended {
  readonly output: string;
  readonly code: number | null;
}

/** Runs node with these arguments and the reporter for people, and ends it when its time is up. */
export function runTests(last: readonly string[], what: string, options: FileOptions): Promise<Ended> {
  const { cwd, env, testLimit, fileLimit, signal, show } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Ended>();
  const args = [`--test-timeout=${testLimit}`, '--test-reporter=spec', '--test-reporter-destination=stdout', ...last];
  // If the runner itself is tested, the file must not report to the runner above.
  const { NODE_TEST_CONTEXT: _above, ...own } = process.env;
  const child = spawn('node', args, { cwd, env: { ...own, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = new Said(show);
  const notes: string[] = [];
  const end = (why: string): void => {
    notes.push(`${what} ${why}, and was ended`);
    child.kill();
    setTimeout(() => child.kill('SIGKILL'), GRACE).unref();
  };
  const limit = setTimeout(() => end(`still ran after ${Math.round(fileLimit / 1_000)} s`), fileLimit);
  const onAbort = (): void => end('ran when the time of all was up');
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  said.listen(child.stdout);
  said.listen(child.stderr);
  child.once('exit', () => {
    // Its child processes may hold its outputs open for ever.
    setTimeout(() => {
      child.stdout.destroy();
      child.stderr.destroy();
    }, HELD_OPEN).unref();
  });
  child.once('error', reject);
  child.once('close', (code) => {
    clearTimeout(limit);
    signal.removeEventListener('abort', onAbort);
    said.end(notes.map((note) => `✖ ${note}`));
    resolve({ output: said.text, code });
  });
  return promise;
}

/** The most that is said of a failure at the end: tests, lines of each, and characters of a line. */
const [SHOWN_TESTS, SHOWN_LINES, SHOWN_CHARACTERS] = [10, 8, 400];

/** How a file failed, a text a test: what its last part says, or where it has none its last lines. */
export function failuresIn({ file, output }: FileResult): readonly string[] {
  const [before = '', failures = ''] = output.split(`\n${FAILURES}\n`);
  const shorten = (failure: string): string =>
    failure
      .trim()
      .split('\n')
      .slice(0, SHOWN_LINES)
      .map((line) => line.slice(0, SHOWN_CHARACTERS))
      .join('\n');
  const found = failures
    .split(/\n(?=test at )/)
    .map(shorten)
    .filter((failure) => failure !== '');
  return found.length > 0
    ? found.slice(0, SHOWN_TESTS)
    : [`${file}:\n${shorten(before.trim().split('\n').slice(-SHOWN_LINES).join('\n'))}`];
}

/** The reporter's own counts at the end of a file. */
const COUNT = /^ℹ (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([\d.]+)$/;
const FAILURES = '✖ failing tests:';

/** A file that ends otherwise than in order has failed all the same, and so has one that ran no test. */
function countsIn(output: string, code: number | null): Counts {
  const counts = new Map(
    output.split('\n').flatMap((line) => {
      const [, name, count] = COUNT.exec(line) ?? [];
      return name === undefined ? [] : [[name, Number(count)] as const];
    }),
  );
  const count = (...names: readonly string[]): number => names.reduce((sum, name) => sum + (counts.get(name) ?? 0), 0);
  const [passed, failed, skipped] = [count('pass'), count('fail', 'cancelled'), count('skipped', 'todo')];
  return { passed, skipped, failed: failed === 0 && (code !== 0 || passed + skipped === 0) ? 1 : failed };
}

/** Keeps all, and shows what is of interest while it comes: neither the counts nor the failures, which are shown at the very end. */
class Said {
  readonly #show: (line: string) => void;
  readonly #lines: string[] = [];
  readonly #outputs: Output[] = [];

  constructor(show: (line: string) => void) {
    this.#show = show;
  }

  get text(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }

  listen(stream: Readable): void {
    const output: Output = { partial: '', quiet: false };
    this.#outputs.push(output);
    stream.setEncoding('utf8').on('data', (text: string) => {
      const lines = `${output.partial}${text}`.split('\n');
      output.partial = lines.pop() ?? '';
      for (const line of lines) this.#say(line, output);
    });
  }

  end(notes: readonly string[]): void {
    for (const output of this.#outputs) if (output.partial !== '') this.#say(output.partial, output);
    for (const note of notes) this.#say(note, { partial: '', quiet: false });
  }

  #say(line: string, output: Output): void {
    this.#lines.push(line);
    if (line === FAILURES) output.quiet = true;
    if (!output.quiet && line !== '' && !COUNT.test(line)) this.#show(line);
  }
}

interface Output {
  /** An unfinished line of its output, which must not end up within a line of another file. */
  partial: string;
  /** Whether only its failures are shown. */
  quiet: boolean;
}
