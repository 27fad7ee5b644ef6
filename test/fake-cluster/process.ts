import type { Clock, Owner } from '../simulate/loop.ts';

type Call = (request: unknown, context: { readonly signal: AbortSignal; readonly deadline: number }) => Promise<unknown>;
export type Services = Readonly<Record<string, Call>>;

/** One run of a program: what it holds ends with it. */
export class Process implements Owner {
  readonly name: string;
  readonly node: string;
  soonAt = 0;
  readonly clock: Clock = { ahead: 0, rate: 1, since: 0 };
  /** Aborts when the process is asked to stop. */
  readonly until = new AbortController();
  /** Services on its sockets, by full name. */
  readonly services = new Map<string, Services>();
  readonly #ends = new Set<() => void>();
  gone = false;

  constructor(name: string, node: string) {
    this.name = name;
    this.node = node;
  }

  /** @returns removes the handler */
  onEnd(handler: () => void): () => void {
    this.#ends.add(handler);
    return () => void this.#ends.delete(handler);
  }

  /** Nothing of it runs from now on. */
  end(): void {
    if (this.gone) return;
    this.gone = true;
    for (const handler of this.#ends) handler();
    this.#ends.clear();
    this.services.clear();
  }
}
