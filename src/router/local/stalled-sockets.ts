import { bounded, guard } from '../../telemetry/boundary.ts';

/** A socket that may not be read now, since its peer has ended or nobody takes what it brought. */
export interface Stalled {
  /** To be looked after still. */
  readonly stalled: boolean;
  /** Called each second; more rarely where there are many thousands. */
  ask(): void;
  broken(): void;
}

/** Milliseconds between the begins of two rounds. */
const LOOK = 1_000;
/** So many are looked at in one go, and so many milliseconds later the next: each may cost a system call, and others are not to wait for all of them. */
const [MANY, PAUSE] = [64, 10];

const stalled = new Set<Stalled>();
let timer: NodeJS.Timeout | undefined;
/** Those that this round has still to look at. */
let round: IterableIterator<Stalled> | undefined;

/**
 * Looks after a socket that is not read. Node.js polls such a socket for nothing, and so would not notice that its peer reset or vanished
 * before there is something to be written: a connection that waits for a slow server, or one that has hung, would be held for nobody.
 *
 * To be called as often as one likes. Sockets that are read cost nothing, however many there are.
 */
export function watchStalled(socket: Stalled): void {
  stalled.add(socket);
  timer ??= setInterval(bounded('look/stalled-sockets', begin), LOOK).unref();
}

/** It is closed: kept until the next look, thousands a second would be a few megabytes. Also of one that is not there. */
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
