import type { RequestSink } from '../../../../src/router/observers/contract.ts';
import type { Taps } from '../../../../src/router/observers/contract.ts';

/** Keeps what an observer saw: `GET 200`. */
export class Recorder implements RequestSink {
  readonly seen: string[] = [];

  onRequest(method: string, status: number, milliseconds: number): void {
    if (!(milliseconds >= 0)) throw new Error(`A request took ${milliseconds} ms.`);
    this.seen.push(`${method} ${status}`);
  }
}

/** Bytes of one connection in the order in which they pass: `>` from the client, `<` from the server. */
export type Passing = readonly (readonly ['>' | '<', string | Buffer])[];

/** Lets bytes pass, each piece cut where `cut` says. */
export function pass(taps: Taps, passing: Passing, cut: (bytes: Buffer) => readonly Buffer[] = (bytes) => [bytes]): void {
  for (const [direction, piece] of passing) {
    const tap = direction === '>' ? taps.fromClient : taps.fromServer;
    for (const part of cut(typeof piece === 'string' ? Buffer.from(piece, 'latin1') : piece)) tap.onBytes(part);
  }
}

/** Cuts after the given lengths, over and over. */
export function cutter(lengths: readonly number[]): (bytes: Buffer) => readonly Buffer[] {
  return (bytes) => {
    const parts: Buffer[] = [];
    let at = 0;
    for (let index = 0; at < bytes.length; index += 1) {
      const length = Math.max(1, lengths[index % lengths.length] ?? 1);
      parts.push(bytes.subarray(at, at + length));
      at += length;
    }
    return parts;
  };
}
