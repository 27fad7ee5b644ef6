/** Milliseconds for which an address that did not answer is tried after the others of its name. */
const AVOID = 60_000;
/** Maximum number of addresses, far more than are in use. Beyond it the oldest are dropped. */
const MOST_ADDRESSES = 1_024;

/** Addresses that recently did not answer. Among the addresses of a name, working ones are tried first. */
export class FailedAddresses {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Moves addresses that recently failed to the end, and keeps the order otherwise. */
  inOrder(addresses: readonly string[], port: number): readonly string[] {
    if (this.#until.size === 0) return addresses;
    const hasFailed = (address: string): boolean => (this.#until.get(keyOf(address, port)) ?? 0) > this.#now();
    const works = addresses.filter((address) => !hasFailed(address));
    return works.length === addresses.length ? addresses : [...works, ...addresses.filter(hasFailed)];
  }

  failed(address: string, port: number): void {
    const key = keyOf(address, port);
    // Move it to the most recent end.
    this.#until.delete(key);
    this.#until.set(key, this.#now() + AVOID);
    if (this.#until.size > MOST_ADDRESSES) for (const oldest of this.#until.keys().take(1)) this.#until.delete(oldest);
  }

  worked(address: string, port: number): void {
    if (this.#until.size > 0) this.#until.delete(keyOf(address, port));
  }
}

const keyOf = (address: string, port: number): string => `${address} ${port}`;
