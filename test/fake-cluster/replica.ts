import type { Loop } from '../simulate/loop.ts';
import type { Random } from '../simulate/random.ts';
import { Process } from './process.ts';

/** A container that is started again whenever its process has ended. */
export class Replica {
  readonly name: string;
  readonly node: string;
  process: Process | undefined;
  readonly #loop: Loop;
  readonly #random: Random;
  readonly #run: (process: Process) => Promise<void>;
  readonly #onEnd: (name: string, error: unknown) => void;
  #runs = 0;
  #isWanted = true;

  constructor(
    { name, node }: { readonly name: string; readonly node: string },
    world: { readonly loop: Loop; readonly random: Random; readonly onEnd: (name: string, error: unknown) => void },
    run: (process: Process) => Promise<void>,
  ) {
    this.name = name;
    this.node = node;
    this.#loop = world.loop;
    this.#random = world.random;
    this.#onEnd = world.onEnd;
    this.#run = run;
  }

  start(): void {
    const process = new Process(`${this.name}.${(this.#runs += 1)}`, this.node);
    this.process = process;
    const ended = (error?: unknown): void => {
      this.#onEnd(process.name, error);
      this.#ended(process);
    };
    this.#loop.soon(process, () => {
      this.#run(process).then(() => ended(), ended);
    });
  }

  /** kill -9: what it was doing ends in its middle. */
  kill(): void {
    const { process } = this;
    process?.end();
    if (process !== undefined) this.#ended(process);
  }

  /** Asks it to stop, which it does by itself. */
  stop(): void {
    const { process } = this;
    if (process !== undefined) this.#loop.soon(process, () => process.until.abort());
  }

  /** It does not come back. */
  remove(): void {
    this.#isWanted = false;
    this.kill();
  }

  #ended(process: Process): void {
    if (this.process !== process) return;
    process.end();
    this.process = undefined;
    if (this.#isWanted)
      this.#loop.after(50 + 500 * this.#random.unit(), undefined, () => this.#isWanted && this.process === undefined && this.start());
  }
}
