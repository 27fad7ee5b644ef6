/** RFC 7541 section 2.3.2: the newest entry has index 0, and the oldest are evicted when the size would exceed the limit. */
export class DynamicTable {
  /** Ring buffer with the newest entry at `#head`. */
  #entries: (readonly [string, string] | undefined)[] = [];
  #head = 0;
  #count = 0;
  #bytes = 0;
  #most: number;

  constructor(mostBytes: number) {
    this.#most = mostBytes;
  }

  /** Approximate memory of the entries, in bytes: an entry and its two strings take more than section 4.1 counts. */
  get held(): number {
    return this.#bytes + this.#count * ENTRY_COST;
  }

  get(index: number): readonly [string, string] | undefined {
    return index < this.#count ? this.#entries[(this.#head + index) % this.#entries.length] : undefined;
  }

  add(name: string, value: string): void {
    const bytes = sizeOf(name, value);
    this.#evict(this.#most - bytes);
    // Section 4.4: an entry larger than the table empties it, which is not an error.
    if (bytes > this.#most) return;
    if (this.#count === this.#entries.length) this.#grow();
    this.#head = (this.#head + this.#entries.length - 1) % this.#entries.length;
    this.#entries[this.#head] = [name, value];
    this.#count++;
    this.#bytes += bytes;
  }

  resize(mostBytes: number): void {
    this.#most = mostBytes;
    this.#evict(mostBytes);
  }

  #evict(target: number): void {
    while (this.#bytes > target && this.#count > 0) {
      const at = (this.#head + this.#count - 1) % this.#entries.length;
      const oldest = this.#entries[at];
      if (oldest !== undefined) this.#bytes -= sizeOf(oldest[0], oldest[1]);
      this.#entries[at] = undefined;
      this.#count--;
    }
  }

  #grow(): void {
    const larger: (readonly [string, string] | undefined)[] = [];
    for (let index = 0; index < this.#count; index++) larger.push(this.get(index));
    larger.length = Math.max(8, this.#count * 2);
    this.#entries = larger.fill(undefined, this.#count);
    this.#head = 0;
  }
}

const ENTRY_COST = 64;

/** Size of an entry (section 4.1). */
function sizeOf(name: string, value: string): number {
  return name.length + value.length + 32;
}
