import { bounded, guard } from '../../telemetry/boundary.ts';

/** A socket that is not read now, since its peer has ended or its bytes are not consumed. */
export interface Stalled {
  /** Whether it still needs checks. */
  readonly stalled: boolean;
  /** Called each second, or more rarely with many thousands of sockets. */
  ask(): void;
  broken(): void;
}

/** Milliseconds between the starts of two rounds. */
const LOOK = 1_000;
/**
 * Number of sockets checked at once, and milliseconds until the next ones. Each check may cost a system call, and other work must not
 * wait for all of them.
 */
const [MANY, PAUSE] = [64, 10];

const stalled = new Set<Stalled>();
let timer: NodeJS.Timeout | undefined;
/** Sockets that are left to check in this round. */
let round: IterableIterator<Stalled> | undefined;

/**
 * Watches a socket that is not read. Node.js does not poll such a socket, so it would not notice a reset or vanished peer before the next
 * write. A connection to a slow or hung server would stay open without a client.
 *
 * May be called any number of times. Sockets that are read cost nothing, however many there are.
 */
export function watchStalled(socket: Stalled): void {
  stalled.add(socket);
  timer ??= setInterval(bounded('look/stalled-sockets', begin), LOOK).unref();
}

/** Removes a closed socket. Left until the next round, thousands a second would take a few megabytes. No-op if absent. */
export function forgetStalled(socket: Stalled): void {
  stalled.delete(socket);
}

function begin(): void {
  if (round !== undefined) return;
  round = stalled.values();
  look();
}

const goOn = bounded('look/stalled-rest', look, () => {
  round = undefined;
});

function look(): void {
  for (let left = MANY; left > 0; left -= 1) {
    const next = round?.next();
    if (next === undefined || next.done === true) return end();
    guard('connection/stalled-look', next.value, lookAt, broken);
  }
  setTimeout(goOn, PAUSE).unref();
}

function end(): void {
  round = undefined;
  if (stalled.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

function lookAt(socket: Stalled): void {
  if (socket.stalled) socket.ask();
  else stalled.delete(socket);
}

const broken = (socket: Stalled): void => socket.broken();
