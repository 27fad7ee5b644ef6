import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { ApiError } from '../../../../src/kube/errors.ts';
import { startInformer } from '../../../../src/kube/watch/informer.ts';
import { WatchedSecrets } from '../../../../src/platform/kubernetes/watched-secrets.ts';
import { eventually } from '../../../harness/wait.ts';
import { Scripted } from '../../kube/scripted.ts';

function watchedSecrets(): {
  readonly client: Scripted;
  readonly secrets: WatchedSecrets;
  readonly troubles: unknown[];
  readonly end: AbortController;
} {
  const client = new Scripted();
  const end = new AbortController();
  const troubles: unknown[] = [];
  const secrets = new WatchedSecrets({
    client,
    start: startInformer,
    namespace: 'west',
    signal: end.signal,
    onProblem: ({ error }) => troubles.push(error),
    onChange: () => undefined,
  });
  return { client, secrets, troubles, end };
}

test('each Secret is watched by its name, and no longer than it is named', async () => {
  const { client, secrets, end } = watchedSecrets();
  secrets.follow(new Set(['a', 'a,metadata.name!=b']));
  const watch = await client.nextWatch();
  assert.equal(watch.options.fieldSelector, 'metadata.name=a');
  watch.send('ADDED', { metadata: { namespace: 'west', name: 'a', uid: '1', resourceVersion: '1' } });
  watch.bookmark(1, true);
  await secrets.answered(60_000);
  assert.equal(secrets.get('a')?.metadata.uid, '1');
  secrets.follow(new Set());
  assert.equal(watch.options.signal?.aborted, true);
  assert.equal(secrets.get('a'), undefined);
  assert.equal(client.watches, 1);
  end.abort();
});

test('a forbidden Secret is requested again, even if a change of rights is not reported', async () => {
  const { client, secrets, troubles, end } = watchedSecrets();
  secrets.follow(new Set(['a']));
  const refused = await client.nextWatch();
  refused.fail(new ApiError('watch', { status: 403, reason: 'Forbidden', message: 'no' }));
  await secrets.answered(60_000);
  assert.equal(secrets.get('a'), undefined);
  secrets.again();
  const allowed = await client.nextWatch();
  allowed.send('ADDED', { metadata: { namespace: 'west', name: 'a', uid: '1', resourceVersion: '1' } });
  allowed.bookmark(1, true);
  await eventually('the Secret', () => secrets.get('a'));
  secrets.again();
  assert.deepEqual([client.watches, troubles], [2, []]);
  end.abort();
});

test('a refused Secret is requested again soon, since the authorizer may learn of rights later than the router', async (t) => {
  const { client, secrets, end } = watchedSecrets();
  mock.timers.enable({ apis: ['setTimeout'] });
  t.after(() => mock.timers.reset());
  secrets.follow(new Set(['a']));
  const refused = await client.nextWatch();
  refused.fail(new ApiError('watch', { status: 403, reason: 'Forbidden', message: 'no' }));
  await secrets.answered(60_000);
  mock.timers.tick(1_000);
  assert.equal(client.watches, 2);
  secrets.follow(new Set());
  mock.timers.tick(60_000);
  assert.equal(client.watches, 2);
  end.abort();
});

for (const [what, milliseconds, answer, expected] of [
  ['not answered for yet', 0, undefined, true],
  ['not answered for in a long time', 30_000, undefined, false],
  ['refused a moment ago', 0, 'refused', true],
  ['refused for some seconds', 29_000, 'refused', true],
  ['refused for long', 30_000, 'refused', false],
  ['absent for a moment', 2_999, 'absent', true],
  ['absent for some seconds', 3_000, 'absent', false],
  ['that is there', 0, 'there', false],
  ['that is gone long after it was named', 60_000, 'gone', false],
] as const) {
  test(`a Secret ${what} ${expected ? 'is awaited' : 'is not awaited'}`, async (t) => {
    const { client, secrets, end } = watchedSecrets();
    t.after(() => end.abort());
    let now = 1_000;
    t.mock.method(performance, 'now', () => now);
    secrets.follow(new Set(['a']));
    const watch = await client.nextWatch();
    if (answer === 'refused') watch.fail(new ApiError('watch', { status: 403, reason: 'Forbidden', message: 'no' }));
    else if (answer !== undefined) {
      const object = { metadata: { namespace: 'west', name: 'a', uid: '1', resourceVersion: '1' } };
      if (answer !== 'absent') watch.send('ADDED', object);
      watch.bookmark(1, true);
      if (answer === 'gone') watch.send('DELETED', { metadata: { ...object.metadata, resourceVersion: '2' } });
    }
    if (answer !== undefined) await secrets.answered(60_000);
    now += milliseconds;
    assert.deepEqual(secrets.awaited(), new Set(expected ? ['a'] : []));
  });
}

test('asking again for a refused Secret does not await it longer', async (t) => {
  const { client, secrets, end } = watchedSecrets();
  t.after(() => end.abort());
  let now = 1_000;
  t.mock.method(performance, 'now', () => now);
  secrets.follow(new Set(['a']));
  const refused = await client.nextWatch();
  refused.fail(new ApiError('watch', { status: 403, reason: 'Forbidden', message: 'no' }));
  await secrets.answered(60_000);
  now += 30_000;
  secrets.again();
  await client.nextWatch();
  assert.deepEqual(secrets.awaited(), new Set());
});
