import assert from 'node:assert/strict';
import { Random } from '../../bench/routing/random.ts';
import { formatFigures, parseFigures } from '../../src/router/shared-figures/figures-format.ts';
import { mutate } from './mutate.ts';
import { Fault, type Plan, type Tally, type Target } from './target.ts';

const SITE = '0d8c3e92-5a54-8f2c-9a3f-0123456789ab';
const sums = { version: '0.2.0', uptime: 60_000, open: 3, opened: 900, failed: 1, up: 10_000, down: 2_000_000 };
const SAMPLES: readonly Buffer[] = [
  formatFigures({ ...sums, links: [] }),
  formatFigures({ ...sums, eventLoopDelay: 1.5, links: [{ site: SITE, state: 'up', cost: 1, roundTrip: 12.1 }] }),
  formatFigures({ ...sums, links: [{ site: SITE, state: 'down' }] }),
];

/** Figures that routers of other sites may send. Accepted ones keep their meaning when they are written again. */
export const sharedFigures: Target = { what: 'figures of other sites', cases: 1_000_000, heapKilobytes: 8_192, slowest: 250, run };

async function run({ cases, seed, first, step }: Plan): Promise<Tally> {
  let accepted = 0;
  for (let number = first; number < first + cases; number += 1) {
    const random = new Random(seed + number);
    const body = mutate(random, random.pick(SAMPLES));
    try {
      const figures = parseFigures(body);
      if (figures !== undefined) {
        assert.deepEqual(parseFigures(formatFigures(figures)), figures);
        accepted += 1;
      }
    } catch (error) {
      throw new Fault(`case ${number} of seed ${seed}`, body.toString('latin1'), error);
    }
    step(1);
  }
  return { cases, accepted, refused: cases - accepted };
}
