/** The command line for running seeds: `--seeds N`, `--seed S`, `--fault NAME` and so on. */
import { argumentsOf } from '../../scripts/arguments.ts';
import type { PlantedFaults } from './change.ts';
import { runJob, type Failure } from './jobs.ts';
import { shorten } from './shorten.ts';

export interface Tried {
  /** The script of package.json, and its file. */
  readonly script: string;
  readonly file: string;
  /** Program that runs a job. */
  readonly program: URL;
  readonly faults: PlantedFaults;
}

/** Seeds of one process. */
const BATCH = 2_000;

/** Runs what the command line asks for; `process.exitCode` says whether a seed failed. */
export async function trySeeds(tried: Tried): Promise<void> {
  const usage = `node ${tried.file} [--seeds N] [--from S] [--seed S] [--jobs N] [--fault NAME|list] [--keep-going] [--trace]`;
  const { values } = argumentsOf(usage, {
    options: {
      seeds: { type: 'string', default: '1000' },
      from: { type: 'string', default: '1' },
      seed: { type: 'string' },
      jobs: { type: 'string', default: '1' },
      fault: { type: 'string' },
      trace: { type: 'boolean', default: false },
      'keep-going': { type: 'boolean', default: false },
    },
  });
  const { fault, trace } = values;
  if (fault === 'list') {
    for (const [name, { description }] of Object.entries(tried.faults)) console.log(`${name.padEnd(20)} ${description}`);
    return;
  }
  if (fault !== undefined && tried.faults[fault] === undefined) {
    console.error(`Fault ${fault} does not exist. List the faults with --fault list.`);
    process.exit(2);
  }
  const from = whole(values.seed ?? values.from, '--from');
  const count = values.seed === undefined ? whole(values.seeds, '--seeds') : 1;
  const more = { ...(fault === undefined ? {} : { fault }), ...(trace ? { trace } : {}) };
  const run = new Run(tried, { next: from, end: from + count, keepGoing: values['keep-going'], more });
  await run.all(whole(values.jobs, '--jobs'), values.seed !== undefined);
}

class Run {
  readonly #tried: Tried;
  readonly #seeds: { next: number; readonly end: number; readonly keepGoing: boolean; readonly more: object };
  readonly #totals = { seeds: 0, lasted: 0, ran: 0, failed: 0, digest: 0 };

  constructor(tried: Tried, seeds: { next: number; readonly end: number; readonly keepGoing: boolean; readonly more: object }) {
    this.#tried = tried;
    this.#seeds = seeds;
  }

  async all(jobs: number, isOne: boolean): Promise<void> {
    const began = performance.now();
    await Promise.all(Array.from({ length: jobs }, () => this.#work()));
    const { seeds, lasted, ran, failed, digest } = this.#totals;
    const each = (sum: number): string => (sum / Math.max(1, seeds)).toFixed(1);
    console.log(
      `seeds ${seeds}, failed ${failed}, ${each((performance.now() - began) * jobs)} ms each, ` +
        `${each(lasted)} ms simulated, ${each(ran)} events${isOne ? `, digest ${digest}` : ''}`,
    );
    process.exitCode = failed > 0 ? 1 : 0;
  }

  async #work(): Promise<void> {
    const seeds = this.#seeds;
    while (seeds.next < seeds.end && (seeds.keepGoing || this.#totals.failed === 0)) {
      const from = seeds.next;
      const count = Math.min(BATCH, seeds.end - from);
      seeds.next += count;
      await this.#batch(from, count);
    }
  }

  async #batch(from: number, count: number): Promise<void> {
    let at = from;
    while (at < from + count) {
      const { failure, done } = await runJob(this.#tried.program, { from: at, count: from + count - at, ...this.#seeds.more });
      this.#totals.seeds += done.seeds;
      this.#totals.lasted += done.lasted;
      this.#totals.ran += done.ran;
      this.#totals.digest = done.digest;
      at += done.seeds;
      if (failure === undefined) continue;
      this.#totals.failed += 1;
      console.log(`seed ${failure.seed}:\n  ${failure.wrong.slice(0, 3).join('\n  ')}`);
      if (this.#seeds.keepGoing) continue;
      await this.#report(failure);
      return;
    }
  }

  async #report({ seed, events }: Failure<unknown>): Promise<void> {
    const { script, program } = this.#tried;
    const { more } = this.#seeds;
    const fault = 'fault' in more ? ` --fault ${String(more.fault)}` : '';
    console.log(`Again: npm run ${script} -- --seed ${seed}${fault}`);
    const fails = async (some: readonly unknown[]): Promise<boolean> =>
      (await runJob(program, { from: seed, count: 1, events: some, ...more, trace: false })).failure !== undefined;
    const short = await shorten(events, fails);
    console.log(`Of its ${events.length} events these do:\n${short.map((event) => `  ${JSON.stringify(event)}`).join('\n')}`);
  }
}

function whole(text: string, name: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  console.error(`${name} is to be a whole number, not ${text}.`);
  process.exit(2);
}
