import { fuzz } from '../../bench/routing/fuzz.ts';
import type { Plan, Tally, Target } from './target.ts';

/** The routing protocol behind its framing: noise, mutants, and good messages with absurd contents. */
export const routing: Target = { what: 'routing messages of neighbours', cases: 1_000_000, heapKilobytes: 16_384, slowest: 20_000, run };

/** Each with its own seed, so that memory and time are looked at between them. */
const BATCH = 20_000;

async function run({ cases, seed, step }: Plan): Promise<Tally> {
  const sum = { cases: 0, cut: 0, accepted: 0, refused: 0, malformed: 0, postponed: 0, mostOutgoing: 0 };
  while (sum.cases < cases) {
    const result = fuzz(Math.min(BATCH, cases - sum.cases), seed + sum.cases / BATCH);
    for (const name of ['cases', 'cut', 'accepted', 'refused', 'malformed', 'postponed'] as const) sum[name] += result[name];
    sum.mostOutgoing = Math.max(sum.mostOutgoing, result.mostOutgoing);
    step(result.cases);
  }
  const { cases: all, accepted, refused, ...notes } = sum;
  return { cases: all, accepted, refused, notes };
}
