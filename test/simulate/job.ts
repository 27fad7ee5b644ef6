/** Seeds that a process of their own runs, one after the other. */

export interface Job<E> {
  readonly from: number;
  readonly count: number;
  /** Instead of those that the seed draws. */
  readonly events?: readonly E[];
  /** The name of a fault that is put back in. */
  readonly fault?: string;
  readonly trace?: boolean;
}

export type Told<E> =
  | { readonly failed: { readonly seed: number; readonly wrong: readonly string[]; readonly events: readonly E[] } }
  /** With the digest of the last seed. */
  | { readonly done: { readonly seeds: number; readonly lasted: number; readonly ran: number; readonly digest: number } };

interface Outcome<E> {
  readonly wrong: readonly string[];
  readonly events: readonly E[];
  readonly lasted: number;
  readonly ran: number;
  readonly digest: number;
}

export type Simulate<E> = (
  seed: number,
  options: { readonly events?: readonly E[]; readonly onTrace?: (line: string) => void },
) => Promise<Outcome<E>>;

/** Task of this process. */
export function jobOf<E>(): Job<E> {
  const job = JSON.parse(process.argv[2] ?? '{}') as Job<E>;
  // To see where an error came from, run its seed alone.
  if (job.count > 1) Error.stackTraceLimit = 0;
  return job;
}

/** Says on standard output how each seed failed, as JSON, and ends the process. Modules keep state, so it ends with the first that does. */
export async function runSeeds<E>(job: Job<E>, simulate: Simulate<E>): Promise<never> {
  const totals = { seeds: 0, lasted: 0, ran: 0, digest: 0 };
  for (let seed = job.from; seed < job.from + job.count; seed += 1) {
    const { wrong, events, lasted, ran, digest } = await simulate(seed, {
      ...(job.events === undefined ? {} : { events: job.events }),
      ...(job.trace === true ? { onTrace: (line: string) => console.error(line) } : {}),
    });
    totals.seeds += 1;
    totals.lasted += lasted;
    totals.ran += ran;
    totals.digest = digest;
    if (wrong.length === 0) continue;
    tell({ failed: { seed, wrong, events } });
    break;
  }
  tell({ done: totals });
  process.exit(0);
}

function tell(what: Told<unknown>): void {
  console.log(JSON.stringify(what));
}
