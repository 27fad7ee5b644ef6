import { join } from 'node:path';
import { OnceLog } from '../../agent/once-log.ts';
import type { Snapshot, Source } from '../../agent/ports.ts';
import type { Link } from '../../api/skupper/index.ts';
import { rememberedOfAll } from '../../site/remembered.ts';
import { nameOf, sortResources } from '../../site/resources.ts';
import type { Logger } from '../../telemetry/log.ts';
import { DirectoryBundles } from '../../trust/disk/bundles.ts';
import type { BundleSet } from '../../trust/stores.ts';
import { InputReader, type Input } from './input.ts';
import type { NamespaceLayout } from './layout.ts';
import type { FileProblem } from './parse.ts';
import { problemsOfFiles, unreadSite } from './report.ts';
import { listRuntime } from './runtime-resources.ts';
import { DirectoryWatch } from './watch.ts';

export interface FileSourceOptions {
  readonly layout: NamespaceLayout;
  readonly log: Logger;
  /** Other bundles, which are watched too: the site's own, and the user's certificate authorities. */
  readonly watched: readonly Pick<DirectoryBundles, 'directories'>[];
}

/** Source of a site in directories: `input/`, and Links from redeemed tokens. */
export class FileSource implements Source {
  readonly #options: FileSourceOptions;
  readonly #input: InputReader;
  readonly #certs: DirectoryBundles;
  readonly #once = new OnceLog();
  #before: Promise<ReadonlyMap<string, Link>> | undefined;
  #watcher: DirectoryWatch | undefined;
  #latest: { readonly input: Input; readonly bundles: BundleSet; readonly snapshot: Snapshot } | undefined;

  constructor(options: FileSourceOptions) {
    const { layout } = options;
    this.#options = options;
    this.#input = new InputReader(layout);
    this.#certs = new DirectoryBundles(layout.input.certs);
  }

  /** Problems found by the last `read`. */
  get problems(): readonly FileProblem[] {
    return this.#latest?.input.problems ?? [];
  }

  async read(): Promise<Snapshot> {
    const [input, bundles, before] = await Promise.all([this.#input.read(), this.#certs.list(), this.#linksBefore()]);
    this.#watch();
    const latest = this.#latest;
    if (latest !== undefined && latest.input === input && latest.bundles === bundles) return latest.snapshot;
    this.#log(input.problems);
    const unread = unreadSite(input.problems);
    const resources = sortResources(input.objects);
    const snapshot: Snapshot = {
      resources,
      remembered: rememberedOfAll(resources.Link, (name) => before.get(name)),
      problems: problemsOfFiles(input.problems),
      ...(unread === undefined ? {} : { unreadSite: unread }),
      bundles,
      attached: input.bundles,
      proxies: input.proxies,
      incomplete: isIncomplete(input.problems),
      restless: input.restless,
    };
    this.#latest = { input, bundles, snapshot };
    return snapshot;
  }

  follow(onChange: () => void): Disposable {
    const watcher = new DirectoryWatch({ onChange, poll: POLL });
    this.#watcher = watcher;
    this.#watch();
    return watcher;
  }

  bundleLocation(name: string): string {
    return `${join(this.#options.layout.input.certs, name)}/`;
  }

  /** Links as the previous process left them, because this process has not written any yet. */
  #linksBefore(): Promise<ReadonlyMap<string, Link>> {
    return (this.#before ??= listRuntime(this.#options.layout, 'Link').then(
      (links) => new Map(links.map((link) => [nameOf(link), link])),
      () => new Map(),
    ));
  }

  #watch(): void {
    const { layout, watched } = this.#options;
    const { input, internal, runtime } = layout;
    this.#watcher?.follow([
      input.resources,
      internal.links,
      // Directory of the list of revoked sites and of renewal requests.
      internal.root,
      runtime.run,
      ...this.#certs.directories,
      ...watched.flatMap(({ directories }) => directories),
    ]);
  }

  #log(problems: readonly FileProblem[]): void {
    for (const problem of problems) {
      const { file, line, field, resource, message, severity } = problem;
      this.#once.say(JSON.stringify(problem), () =>
        this.#options.log[severity === 'error' ? 'error' : 'warn']({ file, line, field, resource }, message),
      );
    }
  }
}

/** Whether a problem names no resource, and its file has no earlier valid version. */
function isIncomplete(problems: readonly FileProblem[]): boolean {
  const kept = new Set(problems.filter(({ affected }) => affected !== undefined).map(({ file }) => file));
  return problems.some(({ severity, resource, file }) => severity === 'error' && resource === undefined && !kept.has(file));
}

/** Milliseconds. */
const POLL = 5000;
