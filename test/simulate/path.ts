import type { Loop, Owner } from './loop.ts';
import type { Random } from './random.ts';

interface Surroundings {
  readonly loop: Loop;
  readonly random: Random;
}

/** A machine to which something is sent. */
interface Hearer extends Owner {
  readonly host: string;
}

/** How two machines, or the parts of one, are joined. */
export class Path {
  readonly #network: Surroundings;
  /** Milliseconds one way, and by how much it may be more. */
  readonly #delay: number;
  readonly #jitter: number;
  /** Milliseconds for a byte. */
  readonly #perByte: number;
  /** How often bytes that were written in one go come in two. */
  readonly #cuts: number;
  /** Addresses at which nothing arrives. */
  #deaf: ReadonlySet<string> = NO_ADDRESSES;
  /** Ends of connections at which nothing arrives. */
  #stalled: ReadonlySet<object> = NOTHING;
  #isGone = false;
  /** Called for connections that exist at one end, if the other never receives them. */
  readonly halfMade = new Set<() => void>();
  #waiting: { readonly owner: Hearer; readonly run: () => void }[] = [];

  /** @param slow milliseconds one way; left out, it is fast */
  constructor(network: Surroundings, isLocal: boolean, slow?: number) {
    const { random } = network;
    this.#network = network;
    this.#delay = isLocal ? 0.02 : (slow ?? random.scaled(1, 200) / 10);
    this.#jitter = slow === undefined && random.chance(0.5) ? this.#delay : this.#delay / 10;
    this.#perByte = isLocal ? 0 : 1 / random.scaled(10_000, 1_000_000);
    this.#cuts = random.pick([0, 0.1, 0.5]);
  }

  /** Nothing gets through to it. @param end of a connection of it */
  isHeldFor({ host }: Hearer, end?: object): boolean {
    return this.#isGone || this.#deaf.has(host) || (end !== undefined && this.#stalled.has(end));
  }

  /** Position at which bytes are cut in two; 0 for none. */
  cut(length: number): number {
    const { random } = this.#network;
    return length > 1 && random.chance(this.#cuts) ? random.int(1, length - 1) : 0;
  }

  arrival(length: number): number {
    return this.#network.loop.now + this.#delay + this.#network.random.unit() * this.#jitter + length * this.#perByte;
  }

  /** @param end of a connection at the owner */
  deliver(at: number, owner: Hearer, run: () => void, end?: object): void {
    this.#network.loop.at(at, owner, () => {
      if (!this.isHeldFor(owner, end)) run();
      else if (!this.#isGone) this.#waiting.push({ owner, run });
    });
  }

  /** From now on nothing gets through to these. */
  hold(deaf: readonly Hearer[]): void {
    this.#deaf = new Set(deaf.map(({ host }) => host));
  }

  /** From now on nothing gets through to these ends of connections: TCP waits before it sends again. */
  stall(ends: Iterable<object>): void {
    this.#stalled = new Set(ends);
  }

  /** Nothing will ever get through again. */
  get isGone(): boolean {
    return this.#isGone;
  }

  end(): void {
    this.#isGone = true;
    this.#waiting = [];
    for (const fail of this.halfMade) fail();
    this.halfMade.clear();
  }

  release(): void {
    if (this.#isGone) return;
    this.#deaf = NO_ADDRESSES;
    this.#stalled = NOTHING;
    for (const { owner, run } of this.#waiting.splice(0)) this.deliver(this.arrival(0), owner, run);
  }
}

const NO_ADDRESSES: ReadonlySet<string> = new Set();
const NOTHING: ReadonlySet<object> = new Set();
