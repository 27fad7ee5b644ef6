import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Cluster } from '../../test/harness/index.ts';
import { toolFolder } from '../../test/harness/tools.ts';
import type { Narrator } from './narrator.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export interface Shown {
  /** Lines to show at the beginning and at the end. */
  readonly head?: number;
  readonly tail?: number;
  /** Runs it without showing it: for looking again and again. */
  readonly silent?: boolean;
}

/** A shell outside the cluster, in the checkout, with kubectl at hand. What is shown is what runs. */
export class Shell {
  /** Folder for files of the demo's commands; it goes with the cluster. */
  readonly folder: string;
  /** Folder of kubectl. */
  readonly binaries: string;
  readonly #cluster: Cluster;
  readonly #narrator: Narrator;

  constructor(parts: { readonly cluster: Cluster; readonly narrator: Narrator; readonly folder: string; readonly binaries: string }) {
    this.#cluster = parts.cluster;
    this.#narrator = parts.narrator;
    this.folder = parts.folder;
    this.binaries = parts.binaries;
  }

  static async open(cluster: Cluster, narrator: Narrator): Promise<Shell> {
    const folder = `${cluster.layout.dir}/demo`;
    await mkdir(folder, { recursive: true });
    return new Shell({ cluster, narrator, folder, binaries: await toolFolder('kubernetes') });
  }

  /** Returns what the command prints; throws with what it complains about. */
  async run(command: string, shown: Shown = {}): Promise<string> {
    if (shown.silent !== true) this.#narrator.command(command);
    const env = { KUBECONFIG: this.#cluster.kubeconfig, PATH: `${this.binaries}:${process.env['PATH'] ?? ''}` };
    const output = await this.#cluster.outside(['sh', '-ec', `cd "$1"; ${command}`, 'sh', ROOT], { env });
    if (shown.silent !== true) this.#narrator.output(output, shown);
    return output;
  }
}
