/** How a stream came to its end. */
export type PastStream = 'ended' | 'reset-here' | 'reset-there';

/** The streams that went last: what still comes for them is judged by how they went (RFC 9113 section 5.1). */
export class PastStreams {
  readonly #last = new Map<number, PastStream>();

  add(streamId: number, how: PastStream): void {
    this.#last.set(streamId, how);
    if (this.#last.size <= MOST) return;
    for (const oldest of this.#last.keys()) {
      this.#last.delete(oldest);
      break;
    }
  }

  of(streamId: number): PastStream | undefined {
    return this.#last.get(streamId);
  }
}

const MOST = 512;
