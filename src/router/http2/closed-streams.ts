/** How a stream came to its end. */
export type ClosedStream = 'ended' | 'reset-here' | 'reset-there';

/** The streams that went last: what still comes for them is judged by how they went (RFC 9113 section 5.1). */
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
