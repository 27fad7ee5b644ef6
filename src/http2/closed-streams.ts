/** How a stream was closed. */
export type ClosedStream = 'ended' | 'reset-here' | 'reset-there';

/** The most recently closed streams. RFC 9113 section 5.1 judges late frames by how their stream was closed. */
export class ClosedStreams {
  readonly #last = new Map<number, ClosedStream>();

  add(streamId: number, how: ClosedStream): void {
    this.#last.set(streamId, how);
    if (this.#last.size <= MOST) return;
    for (const oldest of this.#last.keys()) {
      this.#last.delete(oldest);
      break;
    }
  }

  of(streamId: number): ClosedStream | undefined {
    return this.#last.get(streamId);
  }
}

const MOST = 512;
