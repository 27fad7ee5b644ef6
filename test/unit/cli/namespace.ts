/** A namespace in a folder of its own, the command line in this process, and a stand-in for what runs the namespace. */
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CommanderError } from 'commander';
import { stringify } from 'yaml';
import { exitCodeOf } from '../../../src/cli/errors.ts';
import { buildProgram } from '../../../src/cli/program.ts';
import { DEFAULT_ROUTER, layoutOf, resourceFileName, type NamespaceLayout } from '../../../src/platform/linux/layout.ts';
import { announceRouter, lockRouter } from '../../../src/platform/linux/routers.ts';

export interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export class Namespace implements AsyncDisposable {
  readonly home: string;
  readonly layout: NamespaceLayout;
  readonly #homeBefore = process.env['EARSHOT_HOME'];
  #lock: Disposable | undefined;

  private constructor(home: string) {
    this.home = home;
    process.env['EARSHOT_HOME'] = home;
    this.layout = layoutOf('west', home);
  }

  /** Sets EARSHOT_HOME of this process: one at a time. */
  static async make(): Promise<Namespace> {
    const home = await mkdtemp(join(tmpdir(), 'earshot-cli-'));
    return new Namespace(home);
  }

  /** `earshot -n west ARGS`, as a person would see it. */
  async earshot(args: readonly string[], input = ''): Promise<Result> {
    let out = '';
    let err = '';
    const program = buildProgram({ out: (text) => void (out += text), note: (text) => void (err += text), input: async () => input });
    try {
      await program.parseAsync(['-n', 'west', ...args], { from: 'user' });
      return { code: 0, out, err };
    } catch (error) {
      if (error instanceof CommanderError) return { code: error.exitCode === 0 ? 0 : 2, out, err };
      return { code: exitCodeOf(error), out, err: `${err}${error instanceof Error ? error.message : String(error)}\n` };
    }
  }

  /** As if this process ran the namespace. */
  async run(): Promise<void> {
    await mkdir(this.layout.runtime.run, { recursive: true });
    this.#lock = await lockRouter(this.layout, DEFAULT_ROUTER);
    const startedAt = '2030-01-01T00:00:00Z';
    await announceRouter(this.layout, { pid: process.pid, router: DEFAULT_ROUTER, httpPort: 9, startedAt, version: '0' });
  }

  /** Status that the running process would write. */
  async answer(kind: string, name: string, spec: object, status: object): Promise<void> {
    const resource = { apiVersion: 'skupper.io/v2alpha1', kind, metadata: { name, namespace: 'west' }, spec, status };
    await this.write(join(this.layout.runtime.resources, resourceFileName(kind, name)), stringify(resource));
  }

  /** In one step, as the running process and careful editors do it. */
  async write(path: string, text: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    const draft = join(this.home, 'draft');
    await writeFile(draft, text);
    await rename(draft, path);
  }

  /** A file below `input/resources`. */
  async put(file: string, text: string): Promise<void> {
    await this.write(join(this.layout.input.resources, file), text);
  }

  async text(file: string): Promise<string | undefined> {
    return readFile(join(this.layout.input.resources, file), 'utf8').catch(() => undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#lock?.[Symbol.dispose]();
    if (this.#homeBefore === undefined) delete process.env['EARSHOT_HOME'];
    else process.env['EARSHOT_HOME'] = this.#homeBefore;
    await rm(this.home, { recursive: true, force: true });
  }
}
