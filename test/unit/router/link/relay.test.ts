import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LinkError } from '../../../../src/router/link/link-errors.ts';
import { limitTable } from '../../../../src/limits/table.ts';
import type { RequestHead, ResponseHead, Stream, StreamHandler } from '../../../../src/http2/contract.ts';
import { relay } from '../../../../src/router/link/relay.ts';
import { silentLog } from '../../support/log-lines.ts';
import { roomy } from '../support/memory.ts';

/** A stream that records its calls. */
class Noted implements Stream {
  readonly id = 1;
  readonly queued = 0;
  readonly held = 0;
  readonly calls: string[] = [];
  full = false;

  respond(head: ResponseHead, options?: { readonly end?: boolean }): void {
    this.calls.push(`respond ${head.status}${options?.end === true ? ' end' : ''}`);
  }

  write(chunk: Buffer): boolean {
    this.calls.push(`write ${chunk.toString()}`);
    return !this.full;
  }

  end(): void {
    this.calls.push('end');
  }

  reset(code: number): void {
    this.calls.push(`reset ${code}`);
  }

  consumed(bytes: number): void {
    this.calls.push(`consumed ${bytes}`);
  }
}

const bytes = limitTable.forwardedQuestionBytes.value;
const head: RequestHead = { method: 'CONNECT', authority: 'key', fields: {} };

function joined(questionTime?: number): {
  readonly from: Noted;
  readonly to: Noted;
  readonly incoming: StreamHandler;
  readonly outgoing: StreamHandler;
  readonly counts: { open: number; total: number; failed: number; bytes: number };
} {
  const [from, to] = [new Noted(), new Noted()];
  const counts = { open: 0, total: 0, failed: 0, bytes: 0 };
  let outgoing: StreamHandler | undefined;
  const incoming = relay(
    from,
    head,
    (_, handler) => {
      outgoing = handler;
      return to;
    },
    counts,
    { memory: roomy(), log: silentLog, owner: 'site', questionTime },
  );
  assert.ok(outgoing !== undefined);
  return { from, to, incoming, outgoing, counts };
}

describe('a relay', () => {
  test('passes the answer, bytes and half-closes, each once', () => {
    const { from, to, incoming, outgoing, counts } = joined();
    outgoing.onResponse({ status: 200, fields: {} });
    incoming.onData(Buffer.from('ab'));
    incoming.onEnd();
    outgoing.onData(Buffer.from('c'));
    assert.equal(counts.open, 1);
    outgoing.onEnd();
    assert.deepEqual(to.calls, ['write ab', 'end', 'consumed 1']);
    assert.deepEqual(from.calls, ['respond 200', 'consumed 2', 'write c', 'end']);
    assert.deepEqual(counts, { open: 0, total: 1, failed: 0, bytes: 3 });
  });

  test('gives a window back only when the other side has room', () => {
    const { from, to, incoming, outgoing } = joined();
    to.full = true;
    outgoing.onResponse({ status: 200, fields: {} });
    incoming.onData(Buffer.from('ab'));
    incoming.onData(Buffer.from('cd'));
    assert.deepEqual(from.calls, ['respond 200']);
    outgoing.onDrain();
    assert.deepEqual(from.calls, ['respond 200', 'consumed 4']);
    outgoing.onDrain();
    assert.deepEqual(from.calls, ['respond 200', 'consumed 4']);
  });

  test('holds what comes before the answer, and passes it on first', () => {
    const { from, to, incoming, outgoing } = joined();
    incoming.onData(Buffer.from('ab'));
    incoming.onEnd();
    assert.deepEqual([from.calls, to.calls], [[], []]);
    outgoing.onResponse({ status: 200, fields: {} });
    assert.deepEqual(to.calls, ['write ab', 'end']);
    assert.deepEqual(from.calls, ['respond 200', 'consumed 2']);
  });

  test('keeps a reset a reset, both ways, with its code', () => {
    const one = joined();
    one.outgoing.onResponse({ status: 200, fields: {} });
    one.incoming.onReset({ code: 8, reason: 'cancelled' });
    assert.deepEqual(one.to.calls, ['reset 8']);
    const other = joined();
    other.outgoing.onResponse({ status: 200, fields: {} });
    other.outgoing.onReset({ code: 10, reason: 'connect error' });
    assert.deepEqual(other.from.calls, ['respond 200', 'reset 10']);
    assert.equal(other.counts.open, 0);
  });

  test('does not make an orderly end of a reset whose code is no error', () => {
    const early = joined();
    early.incoming.onReset({ code: 0, reason: 'no error' });
    assert.deepEqual(early.to.calls, ['reset 8']);
    const { from, outgoing } = joined();
    outgoing.onResponse({ status: 200, fields: {} });
    outgoing.onReset({ code: 0, reason: 'no error' });
    assert.deepEqual(from.calls, ['respond 200', 'reset 8']);
  });

  test('passes a refusal on, and lets go of the other side', () => {
    const { from, to, incoming, outgoing, counts } = joined();
    outgoing.onResponse({ status: 404, fields: {} });
    outgoing.onEnd();
    incoming.onData(Buffer.from('late'));
    incoming.onReset({ code: 8, reason: 'cancelled' });
    assert.deepEqual(from.calls, ['respond 404 end', 'consumed 4']);
    assert.deepEqual(to.calls, ['reset 8']);
    assert.deepEqual(counts, { open: 0, total: 1, failed: 1, bytes: 0 });
  });

  test('answers 502 where the way breaks before the answer', () => {
    const { from, outgoing } = joined();
    outgoing.onReset({ code: 2, reason: 'gone' });
    assert.deepEqual(from.calls, ['respond 502 end']);
  });

  test('answers 502 where no link leads on', () => {
    const from = new Noted();
    const counts = { open: 0, total: 0, failed: 0, bytes: 0 };
    relay(
      from,
      head,
      () => {
        throw new LinkError('closed', 'No link.');
      },
      counts,
      { memory: roomy(), log: silentLog, owner: 'site' },
    );
    assert.deepEqual(from.calls, ['respond 502 end']);
    assert.deepEqual(counts, { open: 0, total: 0, failed: 1, bytes: 0 });
  });
});

describe('a relayed question of a router', () => {
  test('ends at its time, although both sides would go on', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { from, to, incoming, outgoing, counts } = joined(5_000);
    outgoing.onResponse({ status: 200, fields: {} });
    t.mock.timers.tick(4_999);
    incoming.onData(Buffer.from('ab'));
    assert.deepEqual(to.calls, ['write ab']);
    t.mock.timers.tick(1);
    assert.deepEqual([from.calls.at(-1), to.calls.at(-1), counts.open], ['reset 8', 'reset 8', 0]);
  });

  test('ends at its time without an answer', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { from, to, counts } = joined(5_000);
    t.mock.timers.tick(5_000);
    assert.deepEqual([from.calls, to.calls, counts.open], [['reset 8'], ['reset 8'], 0]);
  });

  for (const side of ['incoming', 'outgoing'] as const)
    test(`passes on as many bytes as it may have, and ends beyond them: ${side}`, () => {
      const { from, to, counts, ...handlers } = joined(5_000);
      handlers.outgoing.onResponse({ status: 200, fields: {} });
      handlers[side].onData(Buffer.alloc(bytes));
      assert.deepEqual([counts.open, counts.bytes], [1, bytes]);
      handlers[side].onData(Buffer.from('x'));
      assert.deepEqual([from.calls.at(-1), to.calls.at(-1), counts.open, counts.bytes], ['reset 8', 'reset 8', 0, bytes]);
    });

  test('that ends in order is not reset later', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { from, to, incoming, outgoing } = joined(5_000);
    outgoing.onResponse({ status: 200, fields: {} });
    for (const each of [incoming, outgoing]) each.onEnd();
    t.mock.timers.tick(10_000);
    assert.deepEqual([from.calls, to.calls], [['respond 200', 'end'], ['end']]);
  });
});

test('a relayed connection has neither a time nor a number of bytes', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { incoming, outgoing, counts } = joined();
  outgoing.onResponse({ status: 200, fields: {} });
  for (let chunk = 0; chunk < 3; chunk += 1) incoming.onData(Buffer.alloc(bytes));
  t.mock.timers.tick(3_600_000);
  assert.deepEqual([counts.open, counts.bytes], [1, 3 * bytes]);
});
