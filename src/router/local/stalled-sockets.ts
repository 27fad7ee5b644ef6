import { bounded, guard } from '../../telemetry/boundary.ts';

/** A socket that may not be read now, since its peer has ended or nobody takes what it brought. */
export interface Stalled {
  /** To be looked after still. */
  readonly stalled: boolean;
  /** Called each second. */
  ask(): void;
  broken(): void;
}

/** Milliseconds between two looks. */
const LOOK = 1_000;

const stalled = new Set<Stalled>();
let timer: NodeJS.Timeout | undefined;

/**
 * Looks after a socket that is not read. Node.js polls such a socket for nothing, and so would not notice that its peer reset or vanished
 * before there is something to be written: a connection that waits for a slow server, or one that has hung, would be held for nobody.
 *
 * To be called as often as one likes. Sockets that are read cost nothing, however many there are.
 */
export function watchStalled(socket: Stalled): void {
  stalled.add(socket);
  timer ??= setInterval(bounded('look/stalled-sockets', look), LOOK).unref();
}

/** It is closed: kept until the next look, thousands a second would be a few megabytes. Also of one that is not there. */
export function forgetStalled(socket: Stalled): void {
  stalled.delete(socket);
}

function look(): void {
  for (const socket of stalled) {
    if (socket.stalled) guard('connection/stalled-look', socket, ask, end);
    else stalled.delete(socket);
  }
  if (stalled.size > 0) return;
  clearInterval(timer);
  timer = undefined;
}

const ask = (socket: Stalled): void => socket.ask();
const end = (socket: Stalled): void => socket.broken();
