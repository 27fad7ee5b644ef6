import { setTimeout as sleep } from 'node:timers/promises';

/** What the demo claims did not come true. The message says what was expected, and what was seen. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
  readonly code = 'CLAIM_FAILED';
}

/** Tells a newcomer, step by step, what happens. */
export class Narrator {
  readonly #print: (line: string) => void;
  readonly #begun = performance.now();
  #steps = 0;
  /** Heading of the step that runs, for whoever reports a failure. */
  step = 'before the first step';

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  begin(title: string): void {
    this.#steps += 1;
    this.step = `${this.#steps}. ${title}`;
    const seconds = Math.round((performance.now() - this.#begun) / 1000);
    this.#print(`\n== ${this.step} ${'='.repeat(Math.max(2, 90 - this.step.length))} ${seconds} s\n`);
  }

  /** Prints a text without the indentation that all of its lines share. */
  say(text: string): void {
    const lines = text.trimEnd().replace(/^\n+/, '').split('\n');
    const shared = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
    for (const line of lines) this.#print(line.slice(shared));
    this.#print('');
  }

  /** What a slow part does meanwhile. */
  progress(line: string): void {
    this.#print(`  ... ${line}`);
  }

  command(text: string): void {
    this.#print(`  $ ${text.replaceAll('\n', '\n    ')}`);
  }

  /** Output of a command, its middle left out where it is long. */
  output(text: string, keep: { readonly head?: number; readonly tail?: number } = {}): void {
    const { head = 20, tail = 5 } = keep;
    const lines = text.trimEnd().split('\n');
    const left = lines.length - head - tail;
    const shown = left > 1 ? [...lines.slice(0, head), `(... ${left} more lines)`, ...lines.slice(lines.length - tail)] : lines;
    for (const line of shown) this.#print(`    ${line}`);
    this.#print('');
  }

  table(rows: readonly (readonly (string | number)[])[]): void {
    const widths = rows.reduce<number[]>((widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, String(cell).length)), []);
    for (const row of rows) this.#print(`    ${row.map((cell, column) => String(cell).padEnd(widths[column] ?? 0)).join('   ').trimEnd()}`);
    this.#print('');
  }

  /** States what was shown, or ends the demo where it was not. */
  claim(statement: string, holds: boolean, seen: string): void {
    if (!holds) throw new DemoError(`expected: ${statement}\nbut saw: ${seen}`);
    this.#print(`  ok: ${statement}\n`);
  }

  /** Looks until `look` gives something, and returns that. What the last look saw is told when it does not come. */
  async until<T>(statement: string, look: () => Promise<{ readonly found?: T | undefined; readonly seen: string }>, seconds = 60): Promise<T> {
    const deadline = performance.now() + seconds * 1000;
    for (;;) {
      const { found, seen } = await look();
      if (found !== undefined) return found;
      if (performance.now() > deadline) throw new DemoError(`expected within ${seconds} s: ${statement}\nbut saw: ${seen}`);
      await sleep(250);
    }
  }
}
