/** Targets of the fuzzer, and the result of a run. */

export interface Target {
  /** Name of one case: for the summary. */
  readonly what: string;
  /** Cases from which `npm run fuzz` is worth its time. */
  readonly cases: number;
  /** Kilobytes of the heap that may be held more at the end than after the first tenth. */
  readonly heapKilobytes: number;
  /** Milliseconds of processor time that the slowest step may take: one case, or a batch of them. */
  readonly slowest: number;
  /** @throws Fault for the first case that shows a mistake of ours, and says how to see it again */
  run(plan: Plan): Promise<Tally>;
}

export interface Plan {
  readonly cases: number;
  readonly seed: number;
  /** The case to begin with, where cases have numbers: to see one again. */
  readonly first: number;
  /** To be called after each step, with the cases that it held: watches memory and time. */
  step(cases: number): void;
}

export interface Tally {
  readonly cases: number;
  /** Taken as good, or at least gone through without a refusal. */
  readonly accepted: number;
  readonly refused: number;
  /** Further counts: whether each kind of outcome was met. */
  readonly notes?: Readonly<Record<string, number>>;
}

/** A case that did what must not be. */
export class Fault extends Error {
  readonly code = 'FUZZ_FAULT';

  /** @param input enough to see it again without the run */
  constructor(where: string, input: string, cause: unknown) {
    super(`${where}: ${cause instanceof Error ? cause.message : String(cause)}\n  input: ${input.slice(0, 4_000)}`, { cause });
    this.name = 'Fault';
  }
}
