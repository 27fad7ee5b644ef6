/**
 * `npm run simulate -- --seeds N`: worlds of routers, each from one seed (docs/simulation.md). A seed that fails is told with the command that
 * replays it and a shortened history; `--keep-going` goes on with the next. `--seed S` runs one; `--fault NAME` puts a mistake back in.
 */
import { argumentsOf } from '../../scripts/arguments.ts';
import { runJob, type Failure } from './jobs.ts';
import { faults } from './faults/faults.ts';
import { shorten } from './shorten.ts';

/** Seeds of one process. */
const BATCH = 500;

const USAGE = 'node test/simulate/run.ts [--seeds N] [--from S] [--seed S] [--jobs N] [--fault NAME] [--keep-going] [--trace]';

const { values } = argumentsOf(USAGE, {
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
if (fault !== undefined && faults[fault] === undefined) {
  console.error(`There is no fault ${fault}: take one of ${Object.keys(faults).join(', ')}.`);
  process.exit(2);
}
const first = whole(values.seed ?? values.from, '--from');
const end = first + (values.seed === undefined ? whole(values.seeds, '--seeds') : 1);
const more = { ...(fault === undefined ? {} : { fault }), ...(trace ? { trace } : {}) };
const began = performance.now();
const totals = { seeds: 0, lasted: 0, ran: 0, failed: 0 };
let next = first;
let digest = 0;
await Promise.all(Array.from({ length: whole(values.jobs, '--jobs') }, () => work()));
const each = (sum: number): string => (sum / Math.max(1, totals.seeds)).toFixed(1);
console.log(
  `seeds ${totals.seeds}, failed ${totals.failed}, ${each((performance.now() - began) * whole(values.jobs, '--jobs'))} ms each, ` +
    `${each(totals.lasted)} ms simulated, ${each(totals.ran)} events${values.seed === undefined ? '' : `, digest ${digest}`}`,
);
process.exitCode = totals.failed > 0 ? 1 : 0;

async function work(): Promise<void> {
  while (next < end && (values['keep-going'] || totals.failed === 0)) {
    const from = next;
    const count = Math.min(BATCH, end - from);
    next += count;
    await batch(from, count);
  }
}

async function batch(from: number, count: number): Promise<void> {
  let at = from;
  while (at < from + count) {
    const { failure, done } = await runJob({ from: at, count: from + count - at, ...more });
    totals.seeds += done.seeds;
    totals.lasted += done.lasted;
    totals.ran += done.ran;
    digest = done.digest;
    at += done.seeds;
    if (failure === undefined) continue;
    totals.failed += 1;
    console.log(`seed ${failure.seed}:\n  ${failure.wrong.slice(0, 3).join('\n  ')}`);
    if (values['keep-going']) continue;
    await tell(failure);
    return;
  }
}

async function tell({ seed, events }: Failure): Promise<void> {
  console.log(`Again: npm run simulate -- --seed ${seed}${fault === undefined ? '' : ` --fault ${fault}`}`);
  const short = await shorten(
    events,
    async (some) => (await runJob({ from: seed, count: 1, events: some, ...more })).failure !== undefined,
  );
  console.log(`Of its ${events.length} events these do:\n${short.map((event) => `  ${JSON.stringify(event)}`).join('\n')}`);
}

function whole(text: string, name: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  console.error(`${name} is to be a whole number, not ${text}.`);
  process.exit(2);
}
