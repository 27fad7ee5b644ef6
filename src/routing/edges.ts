/** Directed edges by origin: those of node N are at `starts[N]` to `starts[N + 1]`, in the order of their addition. */
export interface Edges {
  readonly starts: Int32Array;
  readonly to: Int32Array;
  readonly costs: Int32Array;
}

/** A list of directed edges, as numbers rather than objects: a large network has tens of thousands, and each change rebuilds the list. */
export class EdgeList {
  /** Three numbers for each edge: from, to, cost. The initial capacity is enough for a few sites. */
  #numbers = new Int32Array(3 * 16);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(from: number, to: number, cost: number): void {
    if (this.#size * 3 === this.#numbers.length) {
      const longer = new Int32Array(this.#numbers.length * 2);
      longer.set(this.#numbers);
      this.#numbers = longer;
    }
    const at = this.#size * 3;
    this.#numbers[at] = from;
    this.#numbers[at + 1] = to;
    this.#numbers[at + 2] = cost;
    this.#size += 1;
  }

  /** Lowers the cost of the edge with that index, if the new cost is less. */
  lower(edge: number, cost: number): void {
    this.#numbers[edge * 3 + 2] = Math.min(this.#numbers[edge * 3 + 2] ?? cost, cost);
  }

  /** Returns the same edges in the opposite direction. */
  turned(): EdgeList {
    const turned = new EdgeList();
    const numbers = this.#numbers;
    for (let at = 0; at < this.#size * 3; at += 3) turned.add(numbers[at + 1] ?? 0, numbers[at] ?? 0, numbers[at + 2] ?? 0);
    return turned;
  }

  /** @param nodes number of nodes */
  of(nodes: number): Edges {
    const numbers = this.#numbers;
    const starts = new Int32Array(nodes + 1);
    const [to, costs] = [new Int32Array(this.#size), new Int32Array(this.#size)];
    for (let at = 0; at < this.#size * 3; at += 3) {
      const after = (numbers[at] ?? 0) + 1;
      starts[after] = (starts[after] ?? 0) + 1;
    }
    for (let node = 0; node < nodes; node += 1) starts[node + 1] = (starts[node + 1] ?? 0) + (starts[node] ?? 0);
    const free = starts.slice();
    for (let at = 0; at < this.#size * 3; at += 3) {
      const from = numbers[at] ?? 0;
      const place = free[from] ?? 0;
      free[from] = place + 1;
      to[place] = numbers[at + 1] ?? 0;
      costs[place] = numbers[at + 2] ?? 0;
    }
    return { starts, to, costs };
  }
}
