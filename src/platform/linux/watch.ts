/**
 * Calls back soon after anything in some directories changed. inotify tells at once; a slow poll finds what it cannot
 * (network file systems, a directory that was replaced, a queue that overflowed). What changed is for the caller to find
 * out: a rescan is cheap and never wrong.
 */
import { watch, type FSWatcher } from 'node:fs';
import { clearInterval, clearTimeout, setInterval, setTimeout } from 'node:timers';

export interface WatchOptions {
  readonly onChange: () => void;
  /** Milliseconds of quiet before a change is told: an editor writes in several steps. */
  readonly quiet?: number;
  /** No change waits longer, however restless the directory. */
  readonly longest?: number;
  /** Milliseconds between looks without an event. */
  readonly poll?: number;
}

export interface Watcher extends Disposable {
  /** Directories to watch from now on; those that do not exist are looked for again at the next call or poll. */
  follow(directories: readonly string[]): void;
}

export function startWatch({ onChange, quiet = 50, longest = 500, poll = 3000 }: WatchOptions): Watcher {
  const watchers = new Map<string, FSWatcher>();
  let wanted: readonly string[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let firstEvent = 0;
  let ended = false;

  function told(): void {
    if (ended) return;
    const now = performance.now();
    if (timer === undefined) firstEvent = now;
    clearTimeout(timer);
    timer = setTimeout(fire, Math.max(0, Math.min(quiet, firstEvent + longest - now)));
  }

  function fire(): void {
    timer = undefined;
    onChange();
  }

  function drop(directory: string, watcher: FSWatcher): void {
    if (watchers.get(directory) === watcher) watchers.delete(directory);
    watcher.close();
  }

  function attach(): void {
    for (const directory of wanted) {
      if (watchers.has(directory)) continue;
      try {
        const watcher = watch(directory, { persistent: false });
        watchers.set(directory, watcher);
        watcher.on('change', (event, name) => {
          // A directory that is itself moved or removed reports its own name; the watch is then of something else.
          if (event === 'rename' && name !== null && directory.endsWith(`/${String(name)}`)) drop(directory, watcher);
          told();
        });
        watcher.on('error', () => {
          drop(directory, watcher);
          told();
        });
      } catch {
        // Not there yet, or no inotify watch left: the poll sees to it.
      }
    }
  }

  const poller = setInterval(() => {
    attach();
    onChange();
  }, poll);

  return {
    follow: (directories) => {
      wanted = directories;
      const kept = new Set(directories);
      for (const [directory, watcher] of watchers) if (!kept.has(directory)) drop(directory, watcher);
      attach();
    },
    [Symbol.dispose]: () => {
      ended = true;
      clearInterval(poller);
      clearTimeout(timer);
      for (const [directory, watcher] of watchers) drop(directory, watcher);
    },
  };
}
