import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSource } from '../../../src/explain/gather/read-source.ts';

test('a source that does not answer is unknown after its deadline, and is ended', async () => {
  const ended = Promise.withResolvers<boolean>();
  const never = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        ended.resolve(signal.aborted);
        reject(new Error('aborted'));
      });
    });
  assert.deepEqual(await readSource('the router API', never, 5), { unknown: 'the router API did not answer within 0.005 s' });
  assert.equal(await ended.promise, true);
});

test('a source that fails is unknown with its reason, in safe characters', async () => {
  const source = await readSource('the files', () => Promise.reject(new Error('no \u0007 right')));
  assert.deepEqual(source, { unknown: 'the files cannot be read: no \\u{7} right' });
});
