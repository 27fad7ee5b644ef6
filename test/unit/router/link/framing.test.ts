import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { frameMessage, MessageReader, messageOfType, MOST_MESSAGE_BYTES } from '../../../../src/router/link/session/framing.ts';

test('messages come out as they went in, however the stream is cut', () => {
  const message = fc.uint8Array({ minLength: 1, maxLength: 9_000 });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 8 }), fc.array(fc.integer({ min: 1, max: 5_000 }), { minLength: 1 }), (messages, cuts) => {
      const stream = Buffer.concat(messages.map((each) => frameMessage(each)));
      const reader = new MessageReader();
      const read: Buffer[] = [];
      for (let at = 0, cut = 0; at < stream.length; cut += 1) {
        const length = cuts[cut % cuts.length] ?? 1;
        read.push(...reader.push(stream.subarray(at, at + length)));
        at += length;
      }
      assert.deepEqual(
        read.map((each) => each.toString('hex')),
        messages.map((each) => Buffer.from(each).toString('hex')),
      );
      assert.ok(reader.empty);
    }),
    { numRuns: 200 },
  );
});

test('an announced length that no message has cuts the peer off', () => {
  for (const length of [0, MOST_MESSAGE_BYTES + 1, 0xffff_ffff]) {
    const announced = Buffer.alloc(4);
    announced.writeUInt32BE(length);
    assert.throws(() => new MessageReader().push(announced), { code: 'protocol', message: new RegExp(String(length)) });
  }
});

test('an invalid message is not framed', () => {
  assert.throws(() => frameMessage(Buffer.alloc(0)), RangeError);
  assert.throws(() => frameMessage(Buffer.alloc(MOST_MESSAGE_BYTES + 1)), RangeError);
  assert.deepEqual([...messageOfType(7, Buffer.from([1, 2]))], [7, 1, 2]);
});
