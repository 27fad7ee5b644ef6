/**
 * Calls back soon after anything in some directories changed. inotify tells at once; a slow poll finds what it cannot
 * (network file systems, a directory that was replaced, a queue that overflowed). What changed is for the caller to find
 * out: a rescan is cheap and never wrong.
 */
import { watch, type FSWatcher } from 'node:fs';
import { bounded } from '../../telemetry/boundary.ts';
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

export class DirectoryWatch implements Disposable {
  readonly #options: Required<WatchOptions>;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #poller: ReturnType<typeof setInterval>;
  #wanted: readonly string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #firstEvent = 0;
  #ended = false;

  constructor(options: WatchOptions) {
    this.#options = { quiet: 50, longest: 500, poll: 3000, ...options };
    const poll = (): void => {
      this.#attach();
      this.#options.onChange();
    };
    this.#poller = setInterval(bounded('look/poll', poll), this.#options.poll);
  }

  /** Directories to watch from now on; those that do not exist are looked for again at the next call or poll. */
  follow(directories: readonly string[]): void {
    this.#wanted = directories;
    const kept = new Set(directories);
    for (const [directory, watcher] of this.#watchers) if (!kept.has(directory)) this.#drop(directory, watcher);
    this.#attach();
  }

  [Symbol.dispose](): void {
    this.#ended = true;
    clearInterval(this.#poller);
    clearTimeout(this.#timer);
    for (const [directory, watcher] of this.#watchers) this.#drop(directory, watcher);
  }

  #attach(): void {
    for (const directory of this.#wanted) {
      if (this.#watchers.has(directory)) continue;
      try {
        this.#watch(directory);
      } catch {
        // Not there yet, or no inotify watch left: the poll sees to it.
      }
    }
  }

  #watch(directory: string): void {
    const watcher = watch(directory, { persistent: false });
    this.#watchers.set(directory, watcher);
    const onChange = (event: string, name: string | Buffer | null): void => {
      // A directory that is itself moved or removed reports its own name; the watch is then of something else.
      if (event === 'rename' && name !== null && directory.endsWith(`/${String(name)}`)) this.#drop(directory, watcher);
      this.#notified();
    };
    // What it would have told of, the poll finds.
    const drop = (): void => this.#drop(directory, watcher);
    const onError = (): void => {
      drop();
      this.#notified();
    };
    watcher.on('change', bounded('look/watch-change', onChange, drop));
    watcher.on('error', bounded('look/watch-error', onError, drop));
  }

  #drop(directory: string, watcher: FSWatcher): void {
    if (this.#watchers.get(directory) === watcher) this.#watchers.delete(directory);
    watcher.close();
  }

  #notified(): void {
    if (this.#ended) return;
    const { quiet, longest, onChange } = this.#options;
    const now = performance.now();
    if (this.#timer === undefined) this.#firstEvent = now;
    clearTimeout(this.#timer);
    const fire = (): void => {
      this.#timer = undefined;
      onChange();
    };
    this.#timer = setTimeout(bounded('look/watch-quiet', fire, fire), Math.max(0, Math.min(quiet, this.#firstEvent + longest - now)));
  }
}
