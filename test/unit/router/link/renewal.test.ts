import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { RequestHead, Stream, StreamHandler } from '../../../../src/http2/contract.ts';
import { requestRenewal } from '../../../../src/router/link/session/renewal.ts';

/** A link over which a renewal is asked for. */
function asking(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const asked: { handler?: StreamHandler; readonly resets: number[] } = { resets: [] };
  const stream: Stream = {
    id: 1,
    queued: 0,
    held: 0,
    respond() {},
    write: () => true,
    end() {},
    reset: (code) => void asked.resets.push(code),
    consumed() {},
  };
  const open = (_: RequestHead, handler: StreamHandler): Stream => {
    asked.handler = handler;
    return stream;
  };
  return { renewed: requestRenewal(open, 'a request'), asked };
}

test('a renewal that is not answered in time leaves nothing open on its link', async (t) => {
  const { renewed, asked } = asking(t);
  const failed = assert.rejects(renewed, { code: 'renew-failed', message: /no complete message within 30 s/ });
  t.mock.timers.tick(29_999);
  assert.deepEqual(asked.resets, []);
  t.mock.timers.tick(1);
  await failed;
  assert.deepEqual(asked.resets, [8], 'CANCEL');
});

test('nor does one whose answer has no end', async (t) => {
  const { renewed, asked } = asking(t);
  const failed = assert.rejects(renewed, { code: 'renew-failed', message: /more than 65536 bytes/ });
  asked.handler?.onResponse?.({ status: 200, fields: {} });
  for (let sent = 0; sent < 5; sent += 1) asked.handler?.onData(Buffer.alloc(16_384));
  await failed;
  assert.deepEqual(asked.resets, [8]);
});

test('one that is answered ends in order', async (t) => {
  const { renewed, asked } = asking(t);
  asked.handler?.onResponse?.({ status: 200, fields: {} });
  asked.handler?.onData(Buffer.from('{"cert":"a","ca":"b"}'));
  asked.handler?.onEnd();
  assert.deepEqual(await renewed, { cert: 'a', ca: 'b' });
  assert.deepEqual(asked.resets, []);
});
