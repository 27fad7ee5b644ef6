/**
 * Bytes that this process has read from all sockets. What it holds for others can have grown by no more than that, so whoever watches it
 * need not look at each chunk: it is called when so many have come.
 */
let read = 0;
/** When the next of those who wait is due. */
let next = Infinity;
const waiting = new Map<() => void, number>();

export function countRead(bytes: number): void {
  read += bytes;
  if (read >= next) callThoseDue();
}

/** Calls back once so many more bytes have been read; in place of an earlier call of the same. */
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
