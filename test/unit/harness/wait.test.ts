import assert from 'node:assert/strict';
import { it } from 'node:test';
import { eventually } from '../../harness/wait.ts';

it('returns what the first look gives that is neither undefined nor false', async () => {
  const answers = [undefined, false, 0];
  assert.equal(await eventually('an answer', () => answers.shift(), { everyMs: 1 }), 0);
});

it('takes an exception for "not yet"', async () => {
  let looks = 0;
  const look = (): string => {
    if (++looks < 3) throw new Error('connection refused');
    return 'up';
  };
  assert.equal(await eventually('an answer', look, { everyMs: 1 }), 'up');
});

it('fails with what was awaited and what the last look saw', async () => {
  const look = (): never => {
    throw new Error('connection refused');
  };
  await assert.rejects(eventually('the server', look, { everyMs: 1, timeoutMs: 20 }), {
    code: 'TIMED_OUT',
    message: 'waited 0.02 s for the server; last: connection refused',
  });
});

it('does not outlast a look that never comes back', async () => {
  await assert.rejects(
    eventually('the server', () => new Promise<string>(() => undefined), { timeoutMs: 20 }),
    { message: /last: the last look did not come back/ },
  );
});
