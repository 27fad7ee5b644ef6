/**
 * A great many who do what none should: `node horde.ts ATTACK HOST PORT DIRECTORY CASES SECONDS SEED`, with what `Keyring` reads in the
 * directory. Goes on until it has done so many cases or the time is up, and says in one JSON line what came of them.
 */
import { attacks } from './horde-attacks.ts';
import { Random } from '../../../bench/routing/random.ts';
import { Keyring } from './shown.ts';

const [attack = '', host = '', port = '0', directory = '', cases = '0', seconds = '0', seed = '1'] = process.argv.slice(2);
const chosen = attacks[attack];
if (chosen === undefined) throw new Error(`there is no attack ${attack}: take one of ${Object.keys(attacks).join(', ')}`);
const result: Record<string, number> = {};
let left = Number(cases);
const until = performance.now() + Number(seconds) * 1_000;
await chosen({
  host,
  port: Number(port),
  keys: new Keyring(directory),
  random: new Random(Number(seed)),
  rest: () => Math.max(0, until - performance.now()),
  more: () => performance.now() < until && left-- > 0,
  tell: (what) => {
    result[what] = (result[what] ?? 0) + 1;
  },
});
console.log(JSON.stringify({ attack, result }));
process.exit(0);
