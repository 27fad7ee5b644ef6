import { bounded } from '../../telemetry/boundary.ts';

/**
 * What all sessions of one peer together make this end do in a turn of the event loop. Reading is apart from what has to be done about what was
 * read: a link carries bytes of many clients, and those of one are not to wait until all is done that others ask for.
 */
export class PeerLoopQuota {
  readonly reading: LoopQuota;
  readonly work: LoopQuota;

  /** @param most pieces of either, now */
  constructor(most: () => number = () => ALONE) {
    this.reading = new LoopQuota(most);
    this.work = new LoopQuota(most);
  }
}

/**
 * A few pieces in a turn of the event loop, of about a tenth of a millisecond or two each, and several times that until all has come of it. Thousands
 * of them fit into what is read at once, and a session that ends may end thousands of streams: the turns of others would come seconds later. Who has
 * to wait goes on in the order in which they came.
 */
export class LoopQuota {
  readonly #most: () => number;
  #spent = 0;
  #ending = false;
  readonly #waiting: (() => void)[] = [];
  readonly #next = bounded(
    'session/next-turn',
    () => this.#resume(),
    () => {
      this.#ending = false;
      this.#endLater();
    },
  );

  /** @param most pieces, now */
  constructor(most: () => number) {
    this.#most = most;
  }

  /** Nothing more is to be begun in this turn. */
  get isSpent(): boolean {
    return this.#spent >= this.#most();
  }

  /** Who brings something new has to wait behind others. */
  get isBusy(): boolean {
    return this.isSpent || this.#waiting.length > 0;
  }

  /**
   * So much work is done in this turn; parts of a piece add up. Less than half of what a turn has is not worth a call back, and counts on in
   * those that come.
   */
  spend(pieces = 1): void {
    this.#spent += pieces;
    if (this.#spent * 2 >= this.#most()) this.#endLater();
  }

  /** Calls back in a later turn; who has still not done all by the end of that waits again. */
  wait(goOn: () => void): void {
    this.#waiting.push(goOn);
    this.#endLater();
  }

  #endLater(): void {
    if (this.#ending) return;
    this.#ending = true;
    setImmediate(this.#next);
  }

  #resume(): void {
    this.#ending = false;
    this.#spent = 0;
    while (!this.isSpent && this.#waiting.length > 0) this.#waiting.shift()?.();
    if (this.#waiting.length > 0) this.#endLater();
  }
}

/** Pieces of work in a turn. The shorter it is, the sooner others have theirs, and the more of the time goes into calls back. */
const ALONE = 8;
const AMONG_OTHERS = 2;

/** The turns of all peers of a router, by who they are (`owner` of their connections). */
export class PeerLoopQuotas {
  readonly #turns = new Map<string, { readonly turn: PeerLoopQuota; users: number }>();
  readonly #most = (): number => (this.#turns.size > 1 ? AMONG_OTHERS : ALONE);

  join(owner: string): PeerLoopQuota {
    const found = this.#turns.get(owner);
    if (found !== undefined) {
      found.users += 1;
      return found.turn;
    }
    const turn = new PeerLoopQuota(this.#most);
    this.#turns.set(owner, { turn, users: 1 });
    return turn;
  }

  leave(owner: string): void {
    const found = this.#turns.get(owner);
    if (found === undefined) return;
    found.users -= 1;
    if (found.users === 0) this.#turns.delete(owner);
  }
}
