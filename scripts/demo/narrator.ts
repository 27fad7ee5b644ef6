import { setTimeout as sleep } from 'node:timers/promises';

/** What the demo claims did not come true. The message says what was expected, and what was seen. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
  readonly code = 'CLAIM_FAILED';
}

/** Explains to a new user, step by step, what happens. */
export class Narrator {
  readonly #print: (line: string) => void;
  readonly #begun = performance.now();
  #steps = 0;
  #last: Block = 'text';
  /** Heading of the running step, for reports of failures. */
  step = 'before the first step';

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  begin(title: string): void {
    this.#steps += 1;
    this.step = `${this.#steps}. ${title}`;
    const seconds = Math.round((performance.now() - this.#begun) / 1000);
    this.#block('heading', ['', `== ${this.step} ${'='.repeat(Math.max(2, 90 - this.step.length))} ${seconds} s`]);
  }

  /** Prints a text without the indentation that all of its lines share. */
  say(text: string): void {
    const lines = text.trimEnd().replace(/^\n+/, '').split('\n');
    const shared = Math.min(...lines.filter((line) => line.trim() !== '').map((line) => line.search(/\S/)));
    this.#block(
      'text',
      lines.map((line) => line.slice(shared)),
    );
  }

  /** What a slow part does meanwhile. */
  progress(line: string): void {
    this.#block('progress', [`  ... ${line}`]);
  }

  command(text: string): void {
    this.#block('command', [`  $ ${text.replaceAll('\n', '\n    ')}`]);
  }

  /** Output of the command just shown, its middle left out where it is long. */
  output(text: string, keep: { readonly head?: number; readonly tail?: number } = {}): void {
    const { head = 20, tail = 5 } = keep;
    const lines = text.trimEnd().split('\n');
    const left = lines.length - head - tail;
    const shown = left > 1 ? [...lines.slice(0, head), `(... ${left} more lines)`, ...lines.slice(lines.length - tail)] : lines;
    this.#block(
      'output',
      shown.map((line) => `    ${line}`),
    );
  }

  table(rows: readonly (readonly (string | number)[])[]): void {
    const widthOf = (column: number): number => Math.max(...rows.map((row) => String(row[column] ?? '').length));
    const line = (row: readonly (string | number)[]): string => row.map((cell, column) => String(cell).padEnd(widthOf(column))).join('   ');
    this.#block(
      'table',
      rows.map((row) => `    ${line(row).trimEnd()}`),
    );
  }

  /** States what was shown, or ends the demo where it was not. */
  claim(statement: string, holds: boolean, seen: string): void {
    if (!holds) throw new DemoError(`expected: ${statement}\nbut saw: ${seen}`);
    this.#block('claim', [`  ok: ${statement}`]);
  }

  /** Polls until a value is found, and returns it. The error includes the last state. */
  async until<T>(statement: string, look: () => Promise<Look<T>>, seconds = 60): Promise<T> {
    const deadline = performance.now() + seconds * 1000;
    for (;;) {
      const { found, seen } = await look();
      if (found !== undefined) return found;
      if (performance.now() > deadline) throw new DemoError(`expected within ${seconds} s: ${statement}\nbut saw: ${seen}`);
      await sleep(250);
    }
  }

  /** A blank line before each block, but not within a list, nor between a command and its output. */
  #block(kind: Block, lines: readonly string[]): void {
    const joins = kind === 'output' || (kind === this.#last && (kind === 'claim' || kind === 'progress'));
    for (const line of joins ? lines : ['', ...lines]) this.#print(line);
    this.#last = kind;
  }
}

export interface Look<T> {
  readonly found?: T | undefined;
  readonly seen: string;
}

type Block = 'heading' | 'text' | 'progress' | 'command' | 'output' | 'table' | 'claim';
