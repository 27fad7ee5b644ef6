import { attempt, bounded } from '../../telemetry/boundary.ts';

/** Runs passes one at a time: what is asked for while one runs makes one more, however often it was. */
export class Coalescer {
  readonly #pass: () => Promise<void>;
  #running: Promise<void> | undefined;
  #again = false;
  #ended = false;
  #later: NodeJS.Timeout | undefined;

  constructor(pass: () => Promise<void>) {
    this.#pass = pass;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get running(): boolean {
    return this.#running !== undefined;
  }

  request(): void {
    if (this.#ended) return;
    this.#again = true;
    this.#running ??= this.#run();
  }

  /** Unless one is to come later already. Keeps no process alive. */
  requestIn(milliseconds: number): void {
    if (this.#ended) return;
    const pass = (): void => {
      this.#later = undefined;
      this.request();
    };
    this.#later ??= setTimeout(bounded('pass/later', pass, pass), milliseconds).unref();
  }

  /** Resolves when none runs, or is to come at once. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** None begins any more. Resolves when the one that runs has ended. */
  end(): Promise<void> {
    this.#ended = true;
    clearTimeout(this.#later);
    return this.idle();
  }

  async #run(): Promise<void> {
    while (this.#again && !this.#ended) {
      this.#again = false;
      await attempt('pass/one', this.#pass);
    }
    this.#running = undefined;
  }
}
