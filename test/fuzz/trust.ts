import { fuzz, fuzzTargets } from '../unit/trust/support/fuzz.ts';
import type { Plan, Tally, Target } from './target.ts';

/** What trust reads of strangers, each kind its share: bodies of redemptions, answers, tokens, requests, certificates, PEM, state. */
export const trust: Target = {
  what: 'bodies, tokens, requests, certificates and PEM',
  cases: 1_000_000,
  heapKilobytes: 16_384,
  slowest: 20_000,
  run,
};

const BATCH = 2_000;

async function run({ cases, seed, step }: Plan): Promise<Tally> {
  const names = Object.keys(fuzzTargets);
  const taken = new Map<string, number>();
  let done = 0;
  for (let round = 0; done < cases; round += 1) {
    const name = names[round % names.length] ?? '';
    const count = Math.min(BATCH, cases - done);
    taken.set(name, (taken.get(name) ?? 0) + (await fuzz(name, count, seed + round)));
    done += count;
    step(count);
  }
  const accepted = [...taken.values()].reduce((sum, count) => sum + count, 0);
  const notes = Object.fromEntries([...taken].map(([name, count]) => [`${name}-taken`, count]));
  return { cases, accepted, refused: cases - accepted, notes };
}
