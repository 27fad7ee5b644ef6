/** Events by time, and at one time in the order in which they were put. */
export class EventQueue<Event> {
  readonly #heap: Timed<Event>[] = [];
  #count = 0;

  push(time: number, event: Event): void {
    const added: Timed<Event> = { time, order: this.#count, event };
    this.#count += 1;
    let at = this.#heap.length;
    for (; at > 0;) {
      const above = this.#heap[(at - 1) >> 1];
      if (above === undefined || !before(added, above)) break;
      this.#heap[at] = above;
      at = (at - 1) >> 1;
    }
    this.#heap[at] = added;
  }

  /** The next event, if it is not later than `until`. */
  pop(until: number): { readonly time: number; readonly event: Event } | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.time > until) return undefined;
    const last = this.#heap.pop();
    const size = this.#heap.length;
    if (last === undefined || size === 0) return first;
    let at = 0;
    for (let child = 1; child < size; child = 2 * at + 1) {
      const [left, right] = [this.#heap[child], this.#heap[child + 1]];
      const [lesser, place] = left !== undefined && right !== undefined && before(right, left) ? [right, child + 1] : [left, child];
      if (lesser === undefined || !before(lesser, last)) break;
      this.#heap[at] = lesser;
      at = place;
    }
    this.#heap[at] = last;
    return first;
  }
}

interface Timed<Event> {
  readonly time: number;
  readonly order: number;
  readonly event: Event;
}

function before(left: Timed<unknown>, right: Timed<unknown>): boolean {
  return left.time < right.time || (left.time === right.time && left.order < right.order);
}
