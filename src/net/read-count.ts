/**
 * Number of bytes that this process has read from all sockets. The memory that it holds for others grows by at most that number. So a
 * watcher is called after a number of bytes, instead of at each chunk.
 */
let read = 0;
/** Value of `read` at which the next watcher is due. */
let next = Infinity;
const waiting = new Map<() => void, number>();

export function countRead(bytes: number): void {
  read += bytes;
  if (read >= next) callThoseDue();
}

/** Calls back once that many more bytes have been read. Replaces an earlier request of the same callback. */
export function afterReading(bytes: number, call: () => void): void {
  waiting.set(call, read + bytes);
  next = Math.min(next, read + bytes);
}

export function forgetReading(call: () => void): void {
  waiting.delete(call);
}

function callThoseDue(): void {
  const due = [...waiting].filter(([, at]) => at <= read);
  for (const [call] of due) waiting.delete(call);
  next = Math.min(Infinity, ...waiting.values());
  for (const [call] of due) call();
}
