import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Permissions } from '../../../src/console/permissions.ts';
import { ReviewedAccess, type Reviewer } from '../../../src/console/reviewed-access.ts';

const permissions: Permissions = { kinds: new Set(['Site']), connections: false, probe: false };

/** An API server that knows the user `me` by the token `good`. */
function reviewer(): Reviewer & { tokens: string[]; users: string[]; error: Error | undefined } {
  const asked: ReturnType<typeof reviewer> = {
    tokens: [],
    users: [],
    error: undefined,
    async authenticate(token) {
      asked.tokens.push(token);
      if (asked.error !== undefined) throw asked.error;
      return token === 'good' ? { username: 'me' } : undefined;
    },
    async permissionsOf({ username }) {
      asked.users.push(username);
      return permissions;
    },
  };
  return asked;
}

test('a token is reviewed once a minute, and the rights of its user twice', async () => {
  const asked = reviewer();
  const access = new ReviewedAccess(asked);
  for (const now of [0, 10_000, 29_999, 30_000, 59_999]) assert.equal(await access.admit('Bearer good', now), permissions);
  assert.deepEqual([asked.tokens, asked.users], [['good'], ['me', 'me']]);
  await access.admit('Bearer good', 60_000);
  assert.deepEqual(asked.tokens, ['good', 'good']);
});

for (const authorization of [undefined, '', 'Bearer', 'Bearer ', 'Basic good', 'Bearer a b', `Bearer ${'x'.repeat(16_385)}`]) {
  test(`the header ${JSON.stringify(authorization?.slice(0, 20))} is refused without a review`, async () => {
    const asked = reviewer();
    assert.equal(await new ReviewedAccess(asked).admit(authorization, 0), undefined);
    assert.deepEqual(asked.tokens, []);
  });
}

test('an invalid token is refused, and reviewed once a minute', async () => {
  const asked = reviewer();
  const access = new ReviewedAccess(asked);
  assert.equal(await access.admit('Bearer bad', 0), undefined);
  assert.equal(await access.admit('Bearer bad', 1), undefined);
  assert.deepEqual([asked.tokens, asked.users], [['bad'], []]);
});

test('many unknown tokens are not all reviewed, while a known one is admitted', async () => {
  const asked = reviewer();
  const access = new ReviewedAccess(asked);
  await access.admit('Bearer good', 0);
  const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => access.admit(`Bearer bad-${index}`, 1)));
  assert.ok(answers.includes('busy'));
  assert.ok(asked.tokens.length < 50);
  assert.equal(await access.admit('Bearer good', 2), permissions);
});

test('a valid token is reviewed again in time, however many unknown tokens come', async () => {
  const asked = reviewer();
  const access = new ReviewedAccess(asked);
  await access.admit('Bearer good', 0);
  await Promise.all(Array.from({ length: 100 }, (_, index) => access.admit(`Bearer bad-${index}`, 60_000)));
  assert.equal(await access.admit('Bearer good', 60_000), permissions);
  assert.deepEqual(
    asked.tokens.filter((token) => token === 'good'),
    ['good', 'good'],
  );
});

test('an API server that does not answer is asked again', async () => {
  const asked = reviewer();
  asked.error = new Error('unreachable');
  const access = new ReviewedAccess(asked);
  await assert.rejects(access.admit('Bearer good', 0), /unreachable/);
  asked.error = undefined;
  assert.equal(await access.admit('Bearer good', 1), permissions);
});
