import assert from 'node:assert/strict';
import { Random } from '../../bench/routing/random.ts';
import { appendPassed, formatReport, parsePassed, parseReport } from '../../src/router/probe/probe-fields.ts';
import { mutate } from './mutate.ts';
import { Fault, type Plan, type Tally, type Target } from './target.ts';

const ROUTER = '0d8c3e92-5a54-8f2c-9a3f-0123456789ab/main';
const SAMPLES: readonly Buffer[] = [
  formatReport({ router: 'r1', version: '0.2.0', queued: 7, connect: 3.2 }),
  'router="r\\"1", key=2, aside=1, connect=8.2, tls=5.0',
  `"${ROUTER}";ms=15.4;next-rtt=12.1, "${ROUTER}";ms=20.0`,
].map((text) => Buffer.from(text));

/** Fields of probes, as other routers may send them: what is accepted keeps its meaning when it is written again. */
export const probeFields: Target = { what: 'fields of probes', cases: 1_000_000, heapKilobytes: 8_192, slowest: 250, run };

async function run({ cases, seed, first, step }: Plan): Promise<Tally> {
  let accepted = 0;
  for (let number = first; number < first + cases; number += 1) {
    const random = new Random(seed + number);
    const text = mutate(random, random.pick(SAMPLES)).toString('latin1');
    try {
      const report = parseReport(text);
      assert.deepEqual(Object.keys(parseReport(formatReport(report))), Object.keys(report));
      const passed = parsePassed(text);
      assert.ok(passed.length <= 32 && passed.every(({ ms }) => ms >= 0));
      const { 'earshot-probe-path': longer = '' } = appendPassed({ 'earshot-probe-path': text }, { router: ROUTER, ms: 1 });
      assert.ok(longer.length <= 4_096 + text.length);
      if (Object.keys(report).length > 0 || passed.length > 0) accepted += 1;
    } catch (error) {
      throw new Fault(`case ${number} of seed ${seed}`, text, error);
    }
    step(1);
  }
  return { cases, accepted, refused: cases - accepted };
}
