import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { END_LIMIT, runTests, type FileOptions, type FileResult } from './test-file.ts';

export type FileCounts = Omit<FileResult, 'output'>;

const TOGETHER = fileURLToPath(new URL('together.ts', import.meta.url));
const COUNT_BY_FILE = new URL('count-by-file.ts', import.meta.url).href;

/**
 * Runs files one after another in one process, which saves most of what each takes to start. A file that fails is known by name; where the
 * process as a whole ends otherwise than in order, something of one file came in the way of others, and all have failed.
 */
export async function runBatch(files: readonly string[], options: FileOptions): Promise<readonly FileResult[]> {
  const folder = await mkdtemp(join(tmpdir(), 'earshot-batch-'));
  try {
    const counted = join(folder, 'counts');
    const reporter = [`--test-reporter=${COUNT_BY_FILE}`, `--test-reporter-destination=${counted}`];
    const { output, code } = await runTests(
      ['--expose-internals', ...reporter, TOGETHER, String(options.endLimit ?? END_LIMIT), ...files],
      `a batch of ${files.length} files`,
      options,
    );
    const lines = (await readFile(counted, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
    // Written by count-by-file.ts, and by nothing else.
    const counts = new Map(lines.map((line) => JSON.parse(line) as FileCounts).map((each) => [each.file, each]));
    const isInOrder = code === 0 || [...counts.values()].some(({ failed }) => failed > 0);
    return files.map((file) => {
      const { passed, failed, skipped, seconds } = counts.get(file) ?? NOTHING;
      const isGood = isInOrder && passed + skipped > 0;
      return { file, output, seconds, passed, skipped, failed: isGood ? failed : Math.max(1, failed) };
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const NOTHING = { passed: 0, failed: 0, skipped: 0, seconds: 0 } as const;
