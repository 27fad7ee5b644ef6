import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Stream, StreamHandler } from '../../../src/http2/contract.ts';
import { LinkError } from '../../../src/router/link/link-errors.ts';
import { requestAlongRoute, type RouteAnswer } from '../../../src/router/route-request.ts';

interface Asked {
  readonly answer: Promise<RouteAnswer>;
  /** Events of the stream, as a router at the other end causes them. */
  readonly peer: StreamHandler;
  readonly calls: string[];
}

function ask(bytes = 16, pieces = 4): Asked {
  const calls: string[] = [];
  const stream: Stream = {
    id: 1,
    queued: 0,
    held: 0,
    respond: () => {},
    write: () => true,
    end: () => void calls.push('end'),
    reset: () => void calls.push('reset'),
    consumed: (count) => void calls.push(`consumed ${count}`),
  };
  let peer: StreamHandler | undefined;
  const answer = requestAlongRoute({
    to: { router: 'r', path: ['r'], links: ['link'] },
    head: { method: 'CONNECT', authority: 'a', fields: {} },
    deadline: 1_000,
    owner: 'test',
    open: (_, __, handler) => {
      peer = handler;
      return stream;
    },
    body: { bytes, pieces },
  });
  return { answer, peer: peer ?? assert.fail('no request'), calls };
}

const whole = { status: 200, fields: {} };

suite('a request to a router on a path', () => {
  test('has the whole body, and ends its own half after it', async () => {
    const { answer, peer, calls } = ask();
    peer.onResponse(whole);
    peer.onData(Buffer.from('one '));
    peer.onData(Buffer.from('two'));
    peer.onEnd();
    const found = await answer;
    assert.equal(found.kind === 'answer' && found.body.toString(), 'one two');
    assert.deepEqual(calls, ['consumed 4', 'consumed 3', 'end']);
  });

  test('has no body if it was refused, and leaves no stream open that the peer does not end', async () => {
    const { answer, peer, calls } = ask();
    peer.onResponse({ status: 404, fields: {} });
    const found = await answer;
    assert.deepEqual(found.kind === 'answer' && [found.head.status, found.body.length], [404, 0]);
    assert.deepEqual(calls, ['reset']);
  });

  for (const [what, pieces, why] of [
    ['more bytes', [Buffer.alloc(17)], 'the answer has more than 16 bytes'],
    ['more bytes in several pieces', [Buffer.alloc(9), Buffer.alloc(8)], 'the answer has more than 16 bytes'],
    ['more pieces', Array.from({ length: 5 }, () => Buffer.alloc(1)), 'the answer has more than 4 pieces'],
  ] as const)
    test(`is reset if the answer has ${what} than permitted`, async () => {
      const { answer, peer, calls } = ask();
      peer.onResponse(whole);
      for (const piece of pieces) peer.onData(piece);
      assert.deepEqual(await answer, { kind: 'lost', why });
      assert.equal(calls.at(-1), 'reset');
    });

  test('is lost if the other end resets it in the middle of the answer', async () => {
    const { answer, peer } = ask();
    peer.onResponse(whole);
    peer.onData(Buffer.from('{'));
    peer.onReset({ code: 8, reason: 'the path broke' });
    assert.deepEqual(await answer, { kind: 'lost', why: 'the request was reset: the path broke' });
  });

  test('is reset at its deadline, even while the answer goes on', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { answer, peer, calls } = ask();
    peer.onResponse(whole);
    t.mock.timers.tick(999);
    peer.onData(Buffer.from('{'));
    t.mock.timers.tick(1);
    assert.deepEqual(await answer, { kind: 'lost', why: 'no answer within 1 s' });
    assert.equal(calls.at(-1), 'reset');
  });

  test('is lost if no link leads to the path', async () => {
    const open = (): never => {
      throw new LinkError('closed', 'There is no open link to r.');
    };
    const head = { method: 'CONNECT', authority: 'a', fields: {} };
    const answer = await requestAlongRoute({ to: { router: 'r', path: ['r'], links: [] }, head, deadline: 1_000, owner: 'test', open });
    assert.deepEqual(answer, { kind: 'lost', why: 'There is no open link to r.' });
  });
});
