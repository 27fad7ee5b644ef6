/**
 * Calls back soon after a change in some directories. inotify reports changes at once; a slow poll finds what it misses (network file
 * systems, a replaced directory, an overflowed queue). The caller has to rescan, which is cheap and never wrong.
 */
import { watch, type FSWatcher } from 'node:fs';
import { bounded } from '../../telemetry/boundary.ts';
import { clearInterval, clearTimeout, setInterval, setTimeout } from 'node:timers';

export interface WatchOptions {
  readonly onChange: () => void;
  /** Milliseconds without events before the callback, since an editor writes in several steps. */
  readonly quiet?: number;
  /** Maximum milliseconds from a change to the callback, even if events keep coming. */
  readonly longest?: number;
  /** Milliseconds between two polls without events. */
  readonly poll?: number;
}

export class DirectoryWatch implements Disposable {
  readonly #options: Required<WatchOptions>;
  readonly #watchers = new Map<string, FSWatcher>();
  readonly #poller: ReturnType<typeof setInterval>;
  #desired: readonly string[] = [];
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

  /** Sets the directories to watch. Missing ones are tried again at the next call or poll. */
  follow(directories: readonly string[]): void {
    this.#desired = directories;
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
    for (const directory of this.#desired) {
      if (this.#watchers.has(directory)) continue;
      try {
        this.#watch(directory);
      } catch {
        // The directory does not exist, or no inotify watch is left. The poll covers it.
      }
    }
  }

  #watch(directory: string): void {
    const watcher = watch(directory, { persistent: false });
    this.#watchers.set(directory, watcher);
    const onChange = (event: string, name: string | Buffer | null): void => {
      // A moved or removed directory reports its own name; the watch then follows another inode.
      if (event === 'rename' && name !== null && directory.endsWith(`/${String(name)}`)) this.#drop(directory, watcher);
      this.#notified();
    };
    // The poll finds what this watch would have reported.
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
