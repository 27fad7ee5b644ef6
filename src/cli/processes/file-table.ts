import { closeSync, open, openSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { attempt } from '../../telemetry/boundary.ts';
import { openFilesLimit } from '../../telemetry/open-files.ts';

const openLater = promisify(open);

/** Files and sockets that there is room for afterwards: a router with that many carries some eight thousand connections. */
const ROOM = 16_384;
/** Of a fresh process: the least that a table may be. */
const FIRST = 64;
/** Files in a turn of the event loop: some tenths of a millisecond. */
const IN_A_TURN = 128;
const NOWHERE = '/dev/null';

/**
 * Has the kernel make the table of this process's open files large, before anybody comes. It doubles that table when it is full, and whoever asked
 * for the file that was too much waits meanwhile until each processor has been through its scheduler (`expand_files` in Linux's fs/file.c), for
 * 10 ms, or 300 where the machine is busy. A table never shrinks. So whoever brought a router more connections than ever stopped its event loop
 * each time that their number had doubled. Here a thread waits that is not the loop's.
 * @param limit of files that the process may have open
 */
export function widenFileTable(limit = openFilesLimit() ?? FIRST): Promise<void> {
  return attempt('look/file-table', () => widen(limit));
}

async function widen(limit: number): Promise<void> {
  const held: number[] = [];
  // The first file of the upper half makes it as large as that.
  const enough = Math.min(ROOM, limit) / 2;
  try {
    for (let next = 0; next <= enough;) {
      // The kernel gives the lowest number that is free. Those that begin a new table are all powers of two.
      const widens = next >= FIRST && Number.isInteger(Math.log2(next));
      const file = widens ? await openLater(NOWHERE, 'r') : openSync(NOWHERE, 'r');
      held.push(file);
      next = file + 1;
      if (held.length % IN_A_TURN === 0) await setImmediate();
    }
  } catch {
    // Somebody else needs what is left.
  } finally {
    for (const [at, file] of held.entries()) {
      closeSync(file);
      if (at % IN_A_TURN === 0) await setImmediate();
    }
  }
}
