import { mkdirSync, readFileSync, readdirSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { HarnessError } from './failures.ts';
import { CLUSTERS, MOST_CLUSTERS } from './layout.ts';
import { startTimeOf } from './proc.ts';
import { eventually } from './wait.ts';

/** Names and numbers that clusters on one machine share. Each index is a file; only who holds the lock looks at them. */
const INDEXES = `${CLUSTERS}/.indexes`;
const LOCK = `${CLUSTERS}/.lock`;

/** The index of a cluster of this name: the one it has, or the lowest that is free. */
export async function claimIndex(name: string, taken: (index: number) => boolean): Promise<number> {
  return withLock(() => {
    mkdirSync(INDEXES, { recursive: true });
    const claims = new Map(readdirSync(INDEXES).map((file) => [Number(file), readFileSync(`${INDEXES}/${file}`, 'utf8')]));
    for (let index = 0; index < MOST_CLUSTERS; index++) {
      if (claims.get(index) === name || (!claims.has(index) && !taken(index))) {
        writeFileSync(`${INDEXES}/${index}`, name);
        return index;
      }
    }
    throw new HarnessError(
      'CLUSTER_RUNS',
      `all ${MOST_CLUSTERS} places for test clusters are taken, by: ${[...claims.values()].join(', ')}; stop some with \`make cluster-stop NAME=…\``,
    );
  });
}

/** Gives the index back. Runs `lastOne` when no cluster is left, so that what they shared can go. */
export async function releaseIndex(index: number, lastOne: () => void): Promise<void> {
  await withLock(() => {
    rmSync(`${INDEXES}/${index}`, { force: true });
    if (readdirSync(INDEXES).length === 0) {
      rmSync(INDEXES, { recursive: true, force: true });
      lastOne();
    }
  });
  try {
    rmdirSync(CLUSTERS);
  } catch {
    // Other clusters, or another's lock.
  }
}

/** One at a time over all processes; a lock whose holder is gone is broken. `work` must not wait. */
async function withLock<T>(work: () => T): Promise<T> {
  const mine = `${process.pid} ${startTimeOf(process.pid)}`;
  await eventually(
    'the lock of the test clusters',
    () => {
      mkdirSync(CLUSTERS, { recursive: true });
      try {
        writeFileSync(LOCK, mine, { flag: 'wx' });
        return true;
      } catch {
        const [pid, startTime] = readFileSync(LOCK, 'utf8').split(' ');
        if (pid !== undefined && pid !== '' && startTimeOf(Number(pid)) !== startTime) rmSync(LOCK, { force: true });
        return false;
      }
    },
    { everyMs: 20 },
  );
  try {
    return work();
  } finally {
    rmSync(LOCK, { force: true });
  }
}
