import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';

import type { Dispatcher } from 'undici';

import { exchange } from '../../../src/kube/client/exchange.ts';
import type { Answer, Exchange } from '../../../src/kube/client/exchange.ts';
import { assertError } from './assert-error.ts';

/** An exchange whose connection is played by the test. */
class Played {
  readonly #result: Promise<Answer | { readonly error: unknown }>;
  #handler: Dispatcher.DispatchHandler = {};
  aborted: Error | undefined;
  readonly #controller: Dispatcher.DispatchController = {
    aborted: false,
    paused: false,
    reason: null,
    abort: (reason) => {
      this.aborted = reason;
      this.#handler.onResponseError?.(this.#controller, reason);
    },
    pause: () => undefined,
    resume: () => undefined,
  };

  constructor(request: Partial<Exchange>) {
    const dispatcher = { dispatch: (_options: unknown, handler: Dispatcher.DispatchHandler) => (this.#handler = handler) };
    this.#result = exchange(
      // The one method that an exchange calls.
      dispatcher as unknown as Dispatcher,
      { call: 'get it', method: 'GET', path: '/', headers: [], deadline: 1_000, maxBytes: 10, ...request },
    ).catch((error: unknown) => ({ error }));
  }

  get result(): Promise<Answer | { readonly error: unknown }> {
    return this.#result;
  }

  async error(): Promise<unknown> {
    const result = await this.#result;
    return 'error' in result ? result.error : undefined;
  }

  start(): this {
    this.#handler.onRequestStart?.(this.#controller, {});
    return this;
  }

  head(status: number): this {
    this.#handler.onResponseStart?.(this.#controller, status, {});
    return this;
  }

  data(text: string): this {
    this.#handler.onResponseData?.(this.#controller, Buffer.from(text));
    return this;
  }

  end(): this {
    this.#handler.onResponseEnd?.(this.#controller, {});
    return this;
  }
}

const timers = (t: TestContext): TestContext['mock']['timers'] => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  return t.mock.timers;
};

describe('an exchange', () => {
  it('collects the body', async () => {
    const answer = await new Played({}).start().head(200).data('ab').data('cd').end().result;
    assert('body' in answer);
    assert.equal(answer.body.toString(), 'abcd');
  });

  it('refuses a body beyond the limit and breaks the connection', async () => {
    const played = new Played({}).start().head(200).data('12345').data('678901').data('2').end();
    assertError(await played.error(), { code: 'kube-too-large' });
    assert(played.aborted !== undefined);
  });

  it('is ended by its deadline even while data arrives', async (t) => {
    const clock = timers(t);
    const played = new Played({}).start().head(200);
    for (let i = 0; i < 9; i++) {
      clock.tick(100);
      played.data('x');
    }
    assert.equal(played.aborted, undefined);
    clock.tick(100);
    assertError(await played.error(), { code: 'kube-timeout', sent: true, answered: true });
  });

  it('that waits for its connection says at the deadline that it was not sent, and does not go out later', async (t) => {
    const clock = timers(t);
    const played = new Played({});
    clock.tick(1_000);
    assertError(await played.error(), { code: 'kube-timeout', sent: false });
    played.start();
    assert(played.aborted !== undefined);
  });

  it('with a streamed body is stalled only when nothing has come for the idle time', async () => {
    const seen: string[] = [];
    const stream = { idle: 200, onChunk: (chunk: Buffer): void => void seen.push(chunk.toString()) };
    const played = new Played({ deadline: 10_000, stream }).start().head(200);
    // Mock timers cannot refresh. Time passes without a turn of the event loop, so a timer that was not refreshed is due.
    let last = 0;
    for (const text of ['a', 'b']) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 110);
      last = performance.now();
      played.data(text);
    }
    assertError(await played.error(), { code: 'kube-timeout', message: /nothing arrived for 200 ms/ });
    const silence = performance.now() - last;
    // Timers count whole milliseconds.
    assert(silence >= 199, `it was ended after ${silence} ms of silence`);
    assert.deepEqual(seen, ['a', 'b']);
  });

  it('with a streamed body collects it where the answer is an error', async () => {
    const onChunk = (): void => assert.fail('an error is no stream');
    const answer = await new Played({ stream: { idle: 100, onChunk } }).start().head(500).data('oh no').end().result;
    assert.partialDeepStrictEqual(answer, { status: 500, body: Buffer.from('oh no') });
  });

  it('leaves no timer and no listener behind', async (t) => {
    const clock = timers(t);
    const stop = new AbortController();
    const played = new Played({ signal: stop.signal }).start().head(200).data('ab').end();
    await played.result;
    clock.tick(10_000);
    stop.abort();
    assert.equal(played.aborted, undefined);
  });
});
