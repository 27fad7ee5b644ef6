/**
 * A pod that reads its volume all the time, run as a process of its own: prints a dot for each time that it read, until
 * its standard input ends, and then, on a line, what it saw. Each tree of the test carries one number in all its ports,
 * so a mixed state shows. The second argument: for how many milliseconds a former address stays beside the new one.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface Report {
  readonly reads: number;
  readonly addresses: readonly string[];
  /** Errors of a read through default-address, and states that never were. */
  readonly wrong: readonly string[];
}

const [mount = '', stays = ''] = process.argv.slice(2);
const wrong: string[] = [];
const addresses = new Set<string>();
const end = new AbortController();
process.stdin.on('end', () => end.abort()).resume();

let last = 0;
let reads = 0;
for (; !end.signal.aborted; reads += 1) {
  readOnce();
  process.stdout.write('.');
  await new Promise((resolve) => setImmediate(resolve));
}
process.stdout.write(`\n${JSON.stringify({ reads, addresses: [...addresses], wrong: wrong.slice(0, 10) } satisfies Report)}`);

function readOnce(): void {
  const before = readNumber();
  const from = performance.now();
  const seen = readState();
  const isLate = wasHeldUp(from);
  process.chdir('/');
  // A state is there until the one after the next has come: a reader that was slower than two changes may find it gone.
  const isOutdated = readNumber() >= before + 2;
  if ('address' in seen) addresses.add(seen.address);
  else if (!isOutdated && !isLate) wrong.push(seen.mixed);
}

function readState(): { readonly address: string } | { readonly mixed: string } {
  try {
    // One chdir(2) holds one state; whatever is read below belongs to that.
    process.chdir(join(mount, 'default-address'));
    const address = readFileSync('address', 'utf8');
    const numbers = readdirSync('ports').map((port) => readFileSync(join('ports', port), 'utf8'));
    return numbers.length === 2 && numbers[0] === numbers[1] ? { address } : { mixed: `${address}: ${numbers.join(' ')}` };
  } catch (error) {
    return { mixed: String(error) };
  }
}

/** The number that is shown, read as pods do, through the link. */
function readNumber(): number {
  const from = performance.now();
  try {
    last = readThroughLink();
  } catch (error) {
    // One open(2) that the scheduler held up for two whole changes, or until a former address was gone, may miss. The next one must not.
    const isLate = wasHeldUp(from);
    const now = readThroughLink();
    if (now < last + 2 && !isLate) wrong.push(`${String(error)} between ${last} and ${now}`);
    last = now;
  }
  return last;
}

/** Far longer than a read takes, and shorter than a former address stays. */
function wasHeldUp(from: number): boolean {
  return performance.now() - from > Number(stays) / 2;
}

function readThroughLink(): number {
  readFileSync(join(mount, 'default-address/address'));
  readFileSync(join(mount, 'default-address/ports/two'));
  return Number(readFileSync(join(mount, 'default-address/ports/one')));
}
