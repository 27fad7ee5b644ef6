import { Duplex } from 'node:stream';

/** A connection in memory: what an end writes waits until the test hands it on, a piece at a time. */
export class SlowLine {
  readonly near = new End();
  readonly far = new End();

  /** Hands on as many bytes at most, toward one end. @returns whether there were any */
  deliver(to: 'near' | 'far', most: number): boolean {
    const [from, end] = to === 'near' ? [this.far, this.near] : [this.near, this.far];
    return from.handOn(end, most);
  }

  /** Until neither end has anything to say. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet += 1) {
      await new Promise(setImmediate);
      while (this.deliver('near', Infinity) || this.deliver('far', Infinity)) quiet = 0;
    }
  }
}

class End extends Duplex {
  #said: Buffer[] = [];

  handOn(to: Duplex, most: number): boolean {
    const first = this.#said.shift();
    if (first === undefined) return false;
    if (first.length > most) this.#said.unshift(first.subarray(most));
    to.push(first.subarray(0, most));
    return true;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    // The writer uses its memory again.
    this.#said.push(Buffer.from(chunk));
    done();
  }
}
