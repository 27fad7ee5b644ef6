/**
 * A pod that reads its volume all the time, run as a process of its own: reads until its standard input ends, then
 * prints what it saw. Each tree of the test carries one number in all its ports, so a mixed state shows.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Report {
  readonly reads: number;
  readonly addresses: readonly string[];
  /** Errors of a read through default-address, and states that never were. */
  readonly wrong: readonly string[];
}

const [mount = ''] = process.argv.slice(2);
const wrong: string[] = [];
const addresses = new Set<string>();
const end = new AbortController();
process.stdin.on('end', () => end.abort()).resume();

let last = 0;
let reads = 0;
for (; !end.signal.aborted; reads += 1) {
  readOnce();
  await new Promise((resolve) => setImmediate(resolve));
}
process.stdout.write(JSON.stringify({ reads, addresses: [...addresses], wrong: wrong.slice(0, 10) } satisfies Report));

function readOnce(): void {
  const before = readNumber();
  // One chdir(2) holds one state; whatever is read below belongs to that.
  process.chdir(join(mount, 'default-address'));
  const seen = readState();
  process.chdir('/');
  // A state is there until the one after the next has come: a reader that was slower than two changes may find it gone.
  const isOutdated = readNumber() >= before + 2;
  if ('address' in seen) addresses.add(seen.address);
  else if (!isOutdated) wrong.push(seen.mixed);
}

function readState(): { readonly address: string } | { readonly mixed: string } {
  try {
    const address = readFileSync('address', 'utf8');
    const numbers = readdirSync('ports').map((port) => readFileSync(join('ports', port), 'utf8'));
    return numbers.length === 2 && numbers[0] === numbers[1] ? { address } : { mixed: `${address}: ${numbers.join(' ')}` };
  } catch (error) {
    return { mixed: String(error) };
  }
}

/** The number that is shown, read as pods do, through the link. */
function readNumber(): number {
  try {
    last = readThroughLink();
  } catch (error) {
    // One open(2) that the scheduler held up for two whole changes may miss. The next one must not.
    const now = readThroughLink();
    if (now < last + 2) wrong.push(`${String(error)} between ${last} and ${now}`);
    last = now;
  }
  return last;
}

function readThroughLink(): number {
  readFileSync(join(mount, 'default-address/address'));
  readFileSync(join(mount, 'default-address/ports/two'));
  return Number(readFileSync(join(mount, 'default-address/ports/one')));
}
