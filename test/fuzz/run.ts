/**
 * Feeds parsers of untrusted bytes with untrusted input, for long: `npm run fuzz [-- TARGET... --cases N --seed S --first CASE]`.
 * Ends with one line for each target. A fault says its seed and case: with that seed as --seed and the case as --first it is seen again at once.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { argumentsOf } from '../../scripts/arguments.ts';
import { Fault, type Target } from './target.ts';
import { targets } from './targets.ts';
import { Watch } from './watch.ts';

const { values, positionals } = argumentsOf('node test/fuzz/run.ts [TARGET…] [--cases N] [--seed S] [--first CASE]', {
  options: { cases: { type: 'string' }, seed: { type: 'string' }, first: { type: 'string' } },
  allowPositionals: true,
});
const seed = Number(values.seed ?? Date.now() % 1_000_000);
const chosen = positionals.length === 0 ? Object.keys(targets) : positionals;

setFlagsFromString('--expose-gc');
// The flag yields a function without arguments; the context has no types.
const collect = runInNewContext('gc') as () => void;

/** Interrupted, it says how far it has come. */
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());

let failed = false;
for (const name of chosen) {
  const target = targets[name];
  if (target === undefined) {
    console.error(`There is no target ${name}: take some of ${Object.keys(targets).join(', ')}.`);
    process.exit(2);
  }
  failed = !(await report(name, target, Number(values.cases ?? target.cases))) || failed;
}
process.exit(failed ? 1 : 0);

/** @returns whether nothing was found */
async function report(name: string, target: Target, cases: number): Promise<boolean> {
  console.log(`${name}: ${cases} ${target.what}, seed ${seed}`);
  const watch = new Watch(target, cases, collect);
  const began = performance.now();
  let finding: unknown;
  let line = '';
  try {
    const tally = await target.run({
      cases,
      seed,
      first: Number(values.first ?? 0),
      step: (count) => {
        watch.step(count);
        interrupt.signal.throwIfAborted();
      },
    });
    line = `cases ${tally.cases}, refused ${tally.refused}, accepted ${tally.accepted}, ${inWords(tally.notes ?? {})}`;
    await watch.end();
  } catch (error) {
    if (!interrupt.signal.aborted) finding = error;
    if (line === '') line = `cases ${watch.cases}, ${interrupt.signal.aborted ? 'interrupted, ' : ''}`;
  }
  const seconds = Math.round((performance.now() - began) / 1_000);
  console.log(
    `${name}: ${line}slowest step ${Math.round(watch.slowest)} ms, heap ${watch.grown} KB more, ${seconds} s, findings ${finding === undefined ? 0 : 1}`,
  );
  if (finding === undefined) return true;
  console.error(finding instanceof Fault ? finding.message : finding);
  if (finding instanceof Fault && finding.cause instanceof Error) console.error(finding.cause.stack);
  console.error(`Again: npm run fuzz -- ${name} --seed ${seed}, with --first and the case's number to begin there`);
  return false;
}

function inWords(notes: Readonly<Record<string, number>>): string {
  return Object.entries(notes)
    .map(([note, count]) => `${note} ${count}, `)
    .join('');
}
