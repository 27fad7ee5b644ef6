import { basename } from 'node:path';
import type { Report, StatusSink } from '../../agent/ports.ts';
import { timestamp, type StaleStatus } from '../../agent/stale-status.ts';
import type { Logger } from '../../telemetry/log.ts';
import { gauge } from '../../telemetry/metrics.ts';
import type { NamespaceLayout } from './layout.ts';
import type { FileProblem } from './parse.ts';
import { problemsFile, statusFiles } from './report.ts';
import { markStale } from './stale-status.ts';
import { StatusWriter } from './status-writer.ts';

const unwritable = gauge(
  'earshot_status_files_unwritable',
  '1 while status files cannot be written, for example because the disk is full, so that their content is outdated.',
  ['files'],
);

export interface FileStatusesOptions {
  readonly layout: NamespaceLayout;
  readonly log: Logger;
  /** Returns the present problems with files. */
  readonly problems: () => readonly FileProblem[];
}

/** Writes `runtime/resources`, and `runtime/problems.yaml` beside it. */
export class FileStatuses implements StatusSink {
  readonly #options: FileStatusesOptions;
  readonly #resources;
  readonly #problems;

  constructor(options: FileStatusesOptions) {
    const { runtime } = options.layout;
    const onProblem =
      (files: 'statuses' | 'problems') =>
      (problem: string | undefined): void => {
        unwritable.set({ files }, problem === undefined ? 0 : 1);
        if (problem === undefined) options.log.info('statuses can be written again');
        else options.log.error(problem);
      };
    this.#options = options;
    this.#resources = new StatusWriter({ directory: runtime.resources, onProblem: onProblem('statuses') });
    this.#problems = new StatusWriter({ directory: runtime.root, onProblem: onProblem('problems') });
  }

  write(report: Report): void {
    const { layout, problems } = this.#options;
    this.#resources.write(statusFiles(report, timestamp()));
    const found = problems();
    this.#problems.write(new Map([[basename(layout.runtime.problems), { parts: () => problemsFile(found), mode: 0o644 }]]));
  }

  markStale(stale: StaleStatus): Promise<void> {
    return markStale(this.#options.layout.runtime.resources, stale, timestamp());
  }

  async close(): Promise<void> {
    await this.#resources.close();
    await this.#problems.close();
  }
}
