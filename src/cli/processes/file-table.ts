import { closeSync, open, openSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { attempt } from '../../telemetry/boundary.ts';
import { openFilesLimit } from '../../telemetry/open-files.ts';

const openLater = promisify(open);

/** Size of the file table afterwards. A router with that many files and sockets carries about 8,000 connections. */
const ROOM = 16_384;
/** Size of the table in a new process: the minimum. */
const FIRST = 64;
/** Files opened in one event-loop iteration: some tenths of a millisecond. */
const IN_A_TURN = 128;
const NOWHERE = '/dev/null';

/**
 * Grows the kernel's file table of this process before connections arrive. The kernel doubles a full table and then waits until
 * every CPU has passed its scheduler (`expand_files` in Linux's fs/file.c). That takes 10 ms, or 300 ms under load. Without this,
 * each doubling would block the event loop. Here a thread of the pool waits instead. The table never shrinks.
 * @param limit maximum number of open files of the process
 */
export function widenFileTable(limit = openFilesLimit() ?? FIRST): Promise<void> {
  return attempt('look/file-table', () => widen(limit));
}

async function widen(limit: number): Promise<void> {
  const held: number[] = [];
  // Opening the first file of the upper half grows the table to this size.
  const enough = Math.min(ROOM, limit) / 2;
  try {
    for (let next = 0; next <= enough;) {
      // The kernel assigns the lowest free number. Sizes of the table are powers of two, so these numbers grow it.
      const widens = next >= FIRST && Number.isInteger(Math.log2(next));
      const file = widens ? await openLater(NOWHERE, 'r') : openSync(NOWHERE, 'r');
      held.push(file);
      next = file + 1;
      if (held.length % IN_A_TURN === 0) await setImmediate();
    }
  } catch {
    // The file limit is reached: the remaining descriptors are needed elsewhere.
  } finally {
    for (const [at, file] of held.entries()) {
      closeSync(file);
      if (at % IN_A_TURN === 0) await setImmediate();
    }
  }
}
