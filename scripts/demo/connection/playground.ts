import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { Program } from '../../../test/harness/program.ts';
import { DemoError, type Narrator } from '../narrator.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Milliseconds that one command may take. */
const LONGEST = 60_000;
/** Milliseconds that a program may take to end in order. */
const GRACE = 3_000;

export interface Ended {
  readonly code: number | null;
  /** Standard output and standard error, as a terminal would show them. */
  readonly output: string;
}

/**
 * A folder that all of the demo lives in, with namespaces of its own, and a shell there. What is shown is what runs. Its
 * programs end with it, and the folder is removed, unless it is kept to explain a failure.
 */
export class Playground implements AsyncDisposable {
  readonly folder: string;
  keep = false;
  readonly #narrator: Narrator;
  readonly #also: NodeJS.ProcessEnv;
  readonly #programs: Promise<Program>[] = [];
  #end: Promise<void> | undefined;

  private constructor(folder: string, narrator: Narrator, also: NodeJS.ProcessEnv) {
    this.folder = folder;
    this.#narrator = narrator;
    this.#also = also;
  }

  /** @param also what its commands have in their environment besides */
  static async open(narrator: Narrator, also: NodeJS.ProcessEnv = {}): Promise<Playground> {
    return new Playground(await mkdtemp(join(tmpdir(), 'earshot-demo-')), narrator, also);
  }

  /** Runs a command and returns what it prints. @throws DemoError where it fails */
  async run(command: string): Promise<string> {
    this.#narrator.command(command);
    const { code, output } = await this.attempt(command);
    if (output !== '') this.#narrator.output(output, { head: 40 });
    if (code !== 0) throw new DemoError(`\`${command}\` failed with exit code ${code}`);
    return output;
  }

  /** Runs a command that is to fail, and shows it too. */
  async runToFail(command: string): Promise<Ended> {
    this.#narrator.command(command);
    const ended = await this.attempt(command);
    this.#narrator.output(ended.output);
    return ended;
  }

  /** Runs a command without showing it. */
  async attempt(command: string): Promise<Ended> {
    const program = await this.#start(command);
    const late = setTimeout(() => program.signal('SIGKILL'), LONGEST);
    const [{ code }, output] = await Promise.all([program.exited, text(program.stdout)]);
    clearTimeout(late);
    return { code, output };
  }

  /** Starts a program that goes on running; what it says is in `NAME.log`. */
  start(command: string, name: string): Promise<Program> {
    this.#narrator.command(`${command} > ${name}.log 2>&1 &`);
    return this.#start(`exec ${command}`, join(this.folder, `${name}.log`));
  }

  /** Starts a program whose output is read here, at the speed of the reader. */
  follow(command: string): Promise<Program> {
    this.#narrator.command(command);
    return this.#start(`exec ${command}`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#end ??= this.#endAll();
    return this.#end;
  }

  async #endAll(): Promise<void> {
    await Promise.all(this.#programs.map(async (started) => (await started).stop(GRACE)));
    if (!this.keep) await rm(this.folder, { recursive: true, force: true });
  }

  #start(command: string, log?: string): Promise<Program> {
    if (this.#end !== undefined) throw new DemoError('the demo was stopped');
    // In a process group of its own: Ctrl-C is for the demo, which then ends its programs in order.
    const options = { cwd: this.folder, env: this.#environment(), detached: true, ...(log === undefined ? {} : { log }) };
    const started = Program.start(command, ['sh', '-c', `exec 2>&1; ${command}`], options);
    this.#programs.push(started);
    return started;
  }

  /** Nothing of the person's own but where programs are: no other namespaces, no proxy between curl and this machine. */
  #environment(): NodeJS.ProcessEnv {
    return {
      PATH: `${ROOT}bin:${process.env['PATH'] ?? ''}`,
      HOME: this.folder,
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      EARSHOT_HOME: join(this.folder, 'home'),
      // What Node.js compiles is kept between the many short commands.
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node'),
      ...this.#also,
    };
  }
}
