import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
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
    const output = await this.#cluster.outside(['sh', '-ec', `cd "$1"; ${command}`, 'sh', ROOT], { env: this.#env() });
    if (shown.silent !== true) this.#narrator.output(output, shown);
    return output;
  }

  /** Starts a command and gives what it prints, line by line as it comes. Leaving the loop, or the time limit, ends the command. */
  async *follow(command: string, seconds: number): AsyncGenerator<string, void, void> {
    const env = { ...process.env, ...this.#env() };
    const child = spawn('sh', ['-ec', command], { env, stdio: ['ignore', 'pipe', 'inherit'], timeout: seconds * 1000 });
    try {
      yield* createInterface({ input: child.stdout });
    } finally {
      child.kill();
    }
  }

  #env(): Readonly<Record<string, string>> {
    // A plain terminal: redis-cli would print colours.
    return { KUBECONFIG: this.#cluster.kubeconfig, PATH: `${this.binaries}:${process.env['PATH'] ?? ''}`, TERM: 'dumb' };
  }
}
