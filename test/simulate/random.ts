/** Numbers that a seed decides: sfc32 (Chris Doty-Humphrey), which is quick and good enough for anything but secrets. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param seed a whole number; the stream separates users of one seed that draw in any order */
  constructor(seed: number, stream = 0) {
    this.#a = seed >>> 0;
    this.#b = Math.floor(seed / 2 ** 32) >>> 0;
    this.#c = (stream * 0x9e3779b9) >>> 0;
    for (let round = 0; round < 15; round += 1) this.next();
  }

  /** 32 bits. */
  next(): number {
    const sum = (this.#a + this.#b + this.#counter) >>> 0;
    this.#counter = (this.#counter + 1) >>> 0;
    this.#a = (this.#b ^ (this.#b >>> 9)) >>> 0;
    this.#b = (this.#c + (this.#c << 3)) >>> 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) >>> 0;
    return sum;
  }

  /** From 0 to below 1. */
  unit(): number {
    return this.next() / 2 ** 32;
  }

  /** A whole number, both ends included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.unit() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(among: readonly [T, ...T[]]): T;
  pick<T>(among: readonly T[]): T | undefined;
  pick<T>(among: readonly T[]): T | undefined {
    return among[Math.floor(this.unit() * among.length)];
  }

  /** As likely between 1 and 10 as between 10 and 100. */
  scaled(least: number, most: number): number {
    return Math.round(least * (most / least) ** this.unit());
  }

  bytes(length: number): Buffer {
    const bytes = Buffer.alloc(length);
    for (let at = 0; at < length; at += 1) bytes[at] = this.next() & 0xff;
    return bytes;
  }
}

/** 32 bits of a text: FNV-1a. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}
