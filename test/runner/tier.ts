import { runBatch } from './batch.ts';
import { runTestFile, type FileResult } from './test-file.ts';

export interface TierOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Files at once, in each lane. */
  readonly concurrency: number;
  /** Milliseconds for one test, for one file, and for all that run for the first time. */
  readonly testLimit: number;
  readonly fileLimit: number;
  readonly limit: number;
  /** Milliseconds in which a process ends after its last test (default: END_LIMIT). */
  readonly endLimit?: number;
  /** Files that failed and may run again: where more have failed, something else than luck is the matter. */
  readonly chances: number;
  readonly show: (line: string) => void;
  /** Files of one such name run in one process. Left out, or undefined for a file: it has a process of its own. */
  readonly together?: (file: string) => string | undefined;
  /** Files that run after the others, one at a time. */
  readonly alone?: (file: string) => boolean;
  /** Lanes run side by side. Left out: one lane has all files. */
  readonly lane?: (file: string) => string;
  /** Files that take longest, in the order in which they begin: what begins last is not to be what all wait for in the end. */
  readonly first?: readonly string[];
}

export interface TierResult {
  /** The last of each file. */
  readonly files: readonly FileResult[];
  /** Failures of files that failed once and then passed alone. */
  readonly flaky: readonly FileResult[];
}

/** Runs files of tests, and those that failed once more, alone, after the others. */
export async function runTier(files: readonly string[], options: TierOptions): Promise<TierResult> {
  const first = await runAll(files, options);
  const failed = first.filter((result) => result.failed > 0);
  if (failed.length > options.chances) {
    if (options.chances > 0) options.show(`${failed.length} files have failed: too many to run them again`);
    return { files: first, flaky: [] };
  }
  const again = new Map<string, FileResult>();
  for (const { file } of failed) {
    options.show(`— Once more, alone: ${file}`);
    again.set(file, await runTestFile(file, { ...options, signal: new AbortController().signal }));
  }
  return {
    files: first.map((result) => again.get(result.file) ?? result),
    flaky: failed.filter(({ file }) => again.get(file)?.failed === 0),
  };
}

/** As many at once as there may be, then the lone ones. Files that have not begun when the time is up have failed. */
async function runAll(files: readonly string[], options: TierOptions): Promise<readonly FileResult[]> {
  const { concurrency, limit, show, alone = () => false, lane = () => '' } = options;
  const timeIsUp = new AbortController();
  const timer = setTimeout(() => timeIsUp.abort(), limit);
  const results: FileResult[] = [];
  const run = async (job: readonly string[], isAlone: boolean): Promise<void> => {
    if (timeIsUp.signal.aborted) {
      for (const file of job)
        results.push({ file, seconds: 0, passed: 0, failed: 1, skipped: 0, output: `✖ ${file} did not run: the time of all was up\n` });
      return;
    }
    // Side by side, the lines of files would be mixed: each then shows its own when it is done.
    const held: string[] = [];
    const [file = '', ...others] = job;
    // A batch names each of its files itself.
    const head = others.length === 0 ? [`▶ ${file}`] : [];
    if (isAlone) head.forEach(show);
    const told = { ...options, signal: timeIsUp.signal, show: isAlone ? show : (line: string) => void held.push(line) };
    results.push(...(others.length === 0 ? [await runTestFile(file, told)] : await runBatch(job, told)));
    if (!isAlone) show([...head, ...held].join('\n'));
  };
  const [beside, lone] = [files.filter((file) => !alone(file)), files.filter(alone)];
  const lanes = [...Map.groupBy(beside, lane).values()].map((members) => jobsOf(members, options));
  const isOneByOne = beside.length === 1 || (lanes.length === 1 && concurrency === 1);
  const work = async (waiting: (readonly string[])[]): Promise<void> => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await run(job, isOneByOne);
  };
  try {
    await Promise.all(lanes.flatMap((waiting) => Array.from({ length: concurrency }, () => work(waiting))));
    for (const job of jobsOf(lone, options)) await run(job, true);
  } finally {
    clearTimeout(timer);
  }
  return results.sort((a, b) => files.indexOf(a.file) - files.indexOf(b.file));
}

/** Jobs of one process each: named ones first, then batches, since they take longest. */
function jobsOf(files: readonly string[], { together = () => undefined, first = [] }: TierOptions): (readonly string[])[] {
  const jobs = Map.groupBy(files, (file) => together(file) ?? `alone ${file}`);
  const placeOf = (job: readonly string[]): number => {
    const place = first.findIndex((file) => job.includes(file));
    return place < 0 ? first.length : place;
  };
  return [...jobs.values()].toSorted((a, b) => placeOf(a) - placeOf(b) || b.length - a.length);
}
