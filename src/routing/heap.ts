/** A binary heap of nodes by length. A node whose length fell is pushed again; the caller skips the later entry. */
export class Heap {
  readonly #nodes: number[] = [];
  readonly #lengths: number[] = [];

  push(node: number, length: number): void {
    let at = this.#nodes.length;
    while (at > 0) {
      const above = (at - 1) >> 1;
      const longer = this.#lengths[above] ?? 0;
      if (longer <= length) break;
      this.#put(at, this.#nodes[above] ?? 0, longer);
      at = above;
    }
    this.#put(at, node, length);
  }

  /** Removes and returns the nearest node. */
  pop(): number | undefined {
    const [top] = this.#nodes;
    const node = this.#nodes.pop();
    const length = this.#lengths.pop();
    const size = this.#nodes.length;
    if (node === undefined || length === undefined || size === 0) return top;
    let at = 0;
    for (let below = 1; below < size; below = 2 * at + 1) {
      if (below + 1 < size && (this.#lengths[below + 1] ?? 0) < (this.#lengths[below] ?? 0)) below += 1;
      const shorter = this.#lengths[below] ?? 0;
      if (shorter >= length) break;
      this.#put(at, this.#nodes[below] ?? 0, shorter);
      at = below;
    }
    this.#put(at, node, length);
    return top;
  }

  #put(at: number, node: number, length: number): void {
    this.#nodes[at] = node;
    this.#lengths[at] = length;
  }
}
