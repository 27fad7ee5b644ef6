import assert from 'node:assert/strict';
import type { Random } from '../../bench/routing/random.ts';
import type { RequestHead, ResponseHead, SessionEvents, Stream, StreamHandler, StreamReset } from '../../src/http2/contract.ts';

/** Uses a session as links and tunnels do, in any order that its contract allows, and holds it to that contract. */
export class SessionUser implements SessionEvents {
  readonly streams: StreamUser[] = [];
  readies = 0;
  closes = 0;
  /** Unexpected errors. */
  readonly #unexpected: unknown[] = [];
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  onRequest(stream: Stream, head: RequestHead): StreamHandler {
    assert.ok(this.closes === 0, 'a request comes after the session has closed');
    assert.ok(head.method === 'CONNECT' || head.method === 'POST', `method ${head.method}`);
    const user = new StreamUser(this.#random, false);
    user.stream = stream;
    this.streams.push(user);
    user.act();
    return user;
  }

  onReady(): void {
    this.readies += 1;
    assert.equal(this.readies, 1);
  }

  onGoaway(): void {}

  onClose(): void {
    this.closes += 1;
    assert.equal(this.closes, 1);
  }

  onInternalError(_part: string, error: unknown): void {
    this.#unexpected.push(error);
  }

  /** The users of streams act. */
  act(): void {
    for (const user of this.streams) user.act();
  }

  /** @throws AssertionError where a stream was forgotten, and whatever was thrown unexpectedly */
  check(): void {
    for (const error of this.#unexpected) throw error;
    assert.equal(this.closes, 1, 'the session has closed');
    for (const user of this.streams) assert.ok(user.isOver, 'each stream was notified of its end');
  }
}

/** One stream's user. */
export class StreamUser implements StreamHandler {
  stream: Stream | undefined;
  readonly #random: Random;
  readonly #asked: boolean;
  #answered = false;
  #ended = false;
  #endedThere = false;
  #reset = false;
  #wasReset = false;
  #owed = 0;

  /** @param asked whether this end opened the stream */
  constructor(random: Random, asked: boolean) {
    this.#random = random;
    this.#asked = asked;
  }

  /** Ended both ways, or reset from either end. */
  get isOver(): boolean {
    return this.#reset || this.#wasReset || (this.#ended && this.#endedThere);
  }

  onResponse(head: ResponseHead): void {
    this.#checkOpen();
    assert.ok(this.#asked && head.status >= 200 && head.status <= 999, `status ${head.status}`);
    assert.ok(!this.#answered, 'one answer');
    this.#answered = true;
  }

  onData(chunk: Buffer): void {
    this.#checkOpen();
    assert.ok(!this.#endedThere && chunk.length > 0);
    this.#owed += chunk.length;
    if (this.#random.below(3) === 0) this.#consume();
  }

  onEnd(): void {
    this.#checkOpen();
    assert.ok(!this.#endedThere, 'one end');
    this.#endedThere = true;
    if (this.#random.below(2) === 0) this.act();
  }

  onDrain(): void {
    this.#checkOpen();
    this.act();
  }

  onReset(reason: StreamReset): void {
    this.#checkOpen();
    assert.ok(/^[\x20-\x7e]{1,400}$/.test(reason.reason), `a reason that is not fit for a log: ${JSON.stringify(reason.reason)}`);
    this.#wasReset = true;
  }

  act(): void {
    const { stream } = this;
    const random = this.#random;
    if (stream === undefined) return;
    if (this.#wasReset || this.#reset) {
      // Late calls must do nothing.
      if (random.below(8) === 0) {
        stream.reset(8);
        stream.consumed(10);
        stream.write(Buffer.alloc(10));
        stream.end();
      }
      return;
    }
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
        return this.#answer(stream);
      case 3:
      case 4:
        return this.#write(stream);
      case 5:
        return this.#end(stream);
      case 6:
        return this.#consume();
      default:
        if (random.below(4) > 0) return undefined;
        this.#reset = true;
        return stream.reset(8);
    }
  }

  /** Nothing may follow a reset from there. After our own, or the end of both, nothing does either. */
  #checkOpen(): void {
    assert.ok(!this.#wasReset, 'something follows the reset');
    assert.ok(!this.#reset, 'something follows our own reset');
  }

  #answer(stream: Stream): void {
    if (this.#asked || this.#answered) return;
    this.#answered = true;
    const end = this.#random.below(3) === 0;
    this.#ended = end;
    stream.respond({ status: 200, fields: {} }, { end });
  }

  #write(stream: Stream): void {
    if ((!this.#asked && !this.#answered) || this.#ended) return;
    stream.write(Buffer.alloc(this.#random.pick([0, 1, 100, 5_000, 70_000, 140_000])));
  }

  #end(stream: Stream): void {
    if ((!this.#asked && !this.#answered) || this.#ended) return;
    this.#ended = true;
    stream.end();
  }

  #consume(): void {
    const bytes = this.#random.below(2) === 0 ? this.#owed : this.#random.below(this.#owed + 1);
    this.#owed -= bytes;
    this.stream?.consumed(bytes);
  }
}
