import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Admission, Permissions } from '../../../src/console/permissions.ts';
import { limitTable } from '../../../src/limits/table.ts';
import { ReviewedAccess, type Reviewer } from '../../../src/console/reviewed-access.ts';

const permissions: Permissions = {
  kinds: new Set(['Site']),
  connections: false,
  revocations: false,
  exposure: false,
  classes: false,
  probe: false,
};

const me: Admission = { user: 'me', permissions };

/** Sends a request with a token. */
const admit = (access: ReviewedAccess, token: string, now: number, address = '192.0.2.1'): ReturnType<ReviewedAccess['admit']> =>
  access.admit({ authorization: `Bearer ${token}`, now, address });

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

test('a token and the rights of its user are reviewed once in half a minute', async () => {
  const asked = reviewer();
  const access = new ReviewedAccess(asked);
  for (const now of [0, 10_000, 29_999]) assert.deepEqual(await admit(access, 'good', now), me);
  assert.deepEqual([asked.tokens, asked.users], [['good'], ['me']]);
  await admit(access, 'good', 30_000);
  assert.deepEqual(
    [asked.tokens, asked.users],
    [
      ['good', 'good'],
      ['me', 'me'],
    ],
  );
});

for (const authorization of [undefined, '', 'Bearer', 'Bearer ', 'Basic good', 'Bearer a b', `Bearer ${'x'.repeat(16_385)}`]) {
  test(`the header ${JSON.stringify(authorization?.slice(0, 20))} is refused without a review`, async () => {
    const asked = reviewer();
    assert.equal(await new ReviewedAccess(asked).admit({ authorization, now: 0, address: '192.0.2.1' }), undefined);
    assert.deepEqual(asked.tokens, []);
  });
}

test('an invalid token is refused, and reviewed once in half a minute', async () => {
  const asked = reviewer();
  const access = new ReviewedAccess(asked);
  assert.equal(await admit(access, 'bad', 0), undefined);
  assert.equal(await admit(access, 'bad', 1), undefined);
  assert.deepEqual([asked.tokens, asked.users], [['bad'], []]);
});

test('many unknown tokens are not all reviewed, while a known one is admitted', async () => {
  const asked = reviewer();
  const access = new ReviewedAccess(asked);
  await admit(access, 'good', 0);
  const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => admit(access, `bad-${index}`, 1)));
  assert.ok(answers.includes('busy'));
  assert.ok(asked.tokens.length < 50);
  assert.deepEqual(await admit(access, 'good', 2), me);
});

test('unknown tokens of one address do not refuse those of another', async () => {
  const asked = reviewer();
  const access = new ReviewedAccess(asked);
  const invented = await Promise.all(Array.from({ length: 100 }, (_, index) => admit(access, `bad-${index}`, 1)));
  assert.ok(invented.includes('busy'));
  assert.deepEqual(await admit(access, 'good', 1, '192.0.2.2'), me);
});

test('addresses of one IPv6 network share the reviews of unknown tokens', async () => {
  const access = new ReviewedAccess(reviewer());
  const answers = await Promise.all(Array.from({ length: 100 }, (_, index) => admit(access, `bad-${index}`, 1, `2001:db8::${index}`)));
  assert.ok(answers.includes('busy'));
});

test('unknown tokens of many addresses are not all reviewed', async () => {
  const asked = reviewer();
  const access = new ReviewedAccess(asked);
  await Promise.all(Array.from({ length: 1_000 }, (_, index) => admit(access, `bad-${index}`, 1, `192.0.${index >> 8}.${index % 256}`)));
  assert.equal(asked.tokens.length, limitTable.consoleAttempts.value.burst);
});

test('a valid token is reviewed again in time, however many unknown tokens come', async () => {
  const asked = reviewer();
  const access = new ReviewedAccess(asked);
  await admit(access, 'good', 0);
  await Promise.all(Array.from({ length: 100 }, (_, index) => admit(access, `bad-${index}`, 60_000)));
  assert.deepEqual(await admit(access, 'good', 60_000), me);
  assert.deepEqual(
    asked.tokens.filter((token) => token === 'good'),
    ['good', 'good'],
  );
});

test('an API server that does not answer is asked again', async () => {
  const asked = reviewer();
  asked.error = new Error('unreachable');
  const access = new ReviewedAccess(asked);
  await assert.rejects(admit(access, 'good', 0), /unreachable/);
  asked.error = undefined;
  assert.deepEqual(await admit(access, 'good', 1), me);
});
