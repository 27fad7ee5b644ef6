import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeyedMutex } from '../../../src/work/keyed-mutex.ts';

test('tasks of one key run one after another, those of different keys at once', async () => {
  const turns = new KeyedMutex();
  const seen: string[] = [];
  const task = (name: string) => async (): Promise<void> => {
    seen.push(`${name} begins`);
    await new Promise(setImmediate);
    seen.push(`${name} ends`);
  };
  void turns.run('a', task('1'));
  void turns.run('a', task('2'));
  void turns.run('b', task('3'));
  await turns.idle();
  assert.deepEqual(seen, ['1 begins', '3 begins', '1 ends', '2 begins', '3 ends', '2 ends']);
});

test('an error reaches only its own caller', async () => {
  const turns = new KeyedMutex();
  const failing = turns.run('a', () => Promise.reject(new Error('no')));
  assert.equal(await turns.run('a', () => Promise.resolve('yes')), 'yes');
  await assert.rejects(failing, /no/);
  await turns.idle();
});
