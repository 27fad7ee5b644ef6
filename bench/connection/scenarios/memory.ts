import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../../../test/net/harness/index.ts';
import { median } from '../../statistics.ts';
import type { Bench, Running } from '../bench.ts';

/** Milliseconds that a process is left alone before it is called fresh, or after load. */
const SETTLING = 3_000;

/** Looks at a system's memory while others load it: `during` is the most that was ever seen. */
export class MemoryWatch implements Disposable {
  readonly #system: Running;
  readonly #timer: NodeJS.Timeout;
  #most = 0;

  constructor(system: Running) {
    this.#system = system;
    this.#timer = setInterval(() => void this.#look(), 200);
  }

  /** In MB, of the larger of the two ends. */
  get most(): number {
    return this.#most;
  }

  async #look(): Promise<void> {
    // A process that has just ended fails a scenario, which reports it.
    this.#most = Math.max(this.#most, await largest(this.#system).catch(() => 0));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

export async function recordFresh(bench: Bench, systems: readonly Running[]): Promise<void> {
  await sleep(SETTLING);
  for (const system of systems) if (system.ends !== undefined) bench.record('memory-fresh', system.name, await largest(system));
}

export async function recordAfter(bench: Bench, watches: ReadonlyMap<Running, MemoryWatch>): Promise<void> {
  await sleep(SETTLING);
  for (const [system, watch] of watches) {
    if (system.ends === undefined) continue;
    bench.record('memory-during', system.name, watch.most);
    bench.record('memory-after', system.name, await largest(system));
  }
}

/** The median of a few looks: a collection may be under way. */
export async function settledMemory(program: Program): Promise<number> {
  const samples: number[] = [];
  for (let look = 0; look < 8; look++) {
    await sleep(250);
    samples.push(program.memory());
  }
  return median(samples);
}

async function largest({ ends }: Running): Promise<number> {
  return ends === undefined ? 0 : Math.max(ends.client.memory(), ends.server.memory());
}
