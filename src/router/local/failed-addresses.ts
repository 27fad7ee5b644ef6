/** Milliseconds for which an address that did not answer is tried after the others of its name. */
const AVOID = 60_000;
/** Far more than are in use; beyond it the oldest are forgotten. */
const MOST_ADDRESSES = 1_024;

/** Addresses that did not answer of late: of a name with several, those that did are tried first. */
export class FailedAddresses {
  readonly #until = new Map<string, number>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Those that failed of late come last; the order is kept otherwise. */
  inOrder(addresses: readonly string[], port: number): readonly string[] {
    if (this.#until.size === 0) return addresses;
    const hasFailed = (address: string): boolean => (this.#until.get(keyOf(address, port)) ?? 0) > this.#now();
    const works = addresses.filter((address) => !hasFailed(address));
    return works.length === addresses.length ? addresses : [...works, ...addresses.filter(hasFailed)];
  }

  failed(address: string, port: number): void {
    const key = keyOf(address, port);
    // The latest last.
    this.#until.delete(key);
    this.#until.set(key, this.#now() + AVOID);
    if (this.#until.size > MOST_ADDRESSES) for (const oldest of this.#until.keys().take(1)) this.#until.delete(oldest);
  }

  worked(address: string, port: number): void {
    if (this.#until.size > 0) this.#until.delete(keyOf(address, port));
  }
}

const keyOf = (address: string, port: number): string => `${address} ${port}`;
