/** What tells whether a file is as it was, without reading it. */
import { stat, type Stats } from 'node:fs';

export type Looked = Stats | NodeJS.ErrnoException;

/** At once; the system's threads are few, and names of hosts are looked up by them too. */
const CONCURRENCY = 16;

/** Milliseconds: file systems count time in steps, so what changed more recently may change once more without another stamp. */
const STEP = 40;

/** Looks at all of them, in order; links are followed. A promise for each would cost three times as much. */
export function lookAt(paths: readonly string[]): Promise<readonly Looked[]> {
  const { promise, resolve } = Promise.withResolvers<readonly Looked[]>();
  const looked: Looked[] = [];
  let asked = 0;
  let left = paths.length;
  const next = (): void => {
    const index = asked++;
    const path = paths[index];
    if (path === undefined) return;
    stat(path, (error, stats) => {
      looked[index] = error ?? stats;
      left -= 1;
      if (left === 0) resolve(looked);
      else next();
    });
  };
  if (left === 0) resolve(looked);
  for (let running = 0; running < CONCURRENCY; running += 1) next();
  return promise;
}

/** The same for a file that holds what it held. */
export type Stamp = Readonly<Pick<Stats, 'dev' | 'ino' | 'size' | 'mtimeMs' | 'ctimeMs'>>;

export function stampOf({ dev, ino, size, mtimeMs, ctimeMs }: Stats): Stamp {
  return { dev, ino, size, mtimeMs, ctimeMs };
}

export function isSameStamp(one: Stamp, other: Stamp): boolean {
  return (
    one.mtimeMs === other.mtimeMs &&
    one.ctimeMs === other.ctimeMs &&
    one.size === other.size &&
    one.ino === other.ino &&
    one.dev === other.dev
  );
}

/** Whether its stamp cannot be relied on yet. A time to come is that of another clock. */
export function isFresh({ ctimeMs }: Stamp, now: number): boolean {
  const age = now - ctimeMs;
  return age >= 0 && age < STEP;
}
