/** Directed edges by where they begin: those of node N stand from `starts[N]` to `starts[N + 1]`, in the order in which they were added. */
export interface Edges {
  readonly starts: Int32Array;
  readonly to: Int32Array;
  readonly costs: Int32Array;
}

/** Directed edges as they are found: numbers in place of objects, since a large network has tens of thousands, and is read anew with each change. */
export class EdgeList {
  /** Of each edge: from, to, cost. At first there is room for those of a few sites. */
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

  /** Gives the edge that was added as that one this cost, if it is less. */
  lower(edge: number, cost: number): void {
    this.#numbers[edge * 3 + 2] = Math.min(this.#numbers[edge * 3 + 2] ?? cost, cost);
  }

  /** The same edges the other way. */
  turned(): EdgeList {
    const turned = new EdgeList();
    const numbers = this.#numbers;
    for (let at = 0; at < this.#size * 3; at += 3) turned.add(numbers[at + 1] ?? 0, numbers[at] ?? 0, numbers[at + 2] ?? 0);
    return turned;
  }

  /** @param nodes how many there are */
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
