/** Runs some seeds, one after the other, and says on standard output how each failed, as JSON. Modules keep state, so it ends with the first that does. */
import { replaceSurroundings } from './load.ts';
import type { Event } from './history.ts';
import { faults } from './faults/faults.ts';

export interface Job {
  readonly from: number;
  readonly count: number;
  /** Instead of those that the seed draws. */
  readonly events?: readonly Event[];
  /** The name of a fault that is put back in. */
  readonly fault?: string;
  readonly trace?: boolean;
}

export type Told =
  | { readonly failed: { readonly seed: number; readonly wrong: readonly string[]; readonly events: readonly Event[] } }
  /** With the digest of the last seed. */
  | { readonly done: { readonly seeds: number; readonly lasted: number; readonly ran: number; readonly digest: number } };

const job = JSON.parse(process.argv[2] ?? '{}') as Job;
replaceSurroundings(job.fault === undefined ? [] : (faults[job.fault] ?? []));
// Whoever wants to know where an error came from runs its seed alone.
if (job.count > 1) Error.stackTraceLimit = 0;
const { simulate } = await import('./simulation.ts');

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

function tell(what: Told): void {
  console.log(JSON.stringify(what));
}
