import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LeaseLostError } from '../../../src/kube/errors.ts';
import { FencedClient } from '../../../src/kube/lease/fenced-client.ts';
import { LeaseHold } from '../../../src/kube/lease/lease-hold.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { resource } from '../../../src/kube/resource.ts';
import { PlayedApi } from '../exposure/support/played-api.ts';

const things = resource<KubeObject>('test/v1', 'Thing', 'things');
const key = { namespace: 'shop', name: 'web' };

test('a leader that wakes from a freeze writes nothing, though no timer has run yet, and may read', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const api = new PlayedApi();
  const thing = api.put(things, { metadata: key });
  let now = 0;
  let lost = 0;
  const tenure = new LeaseHold(
    { lease: { metadata: {} }, since: 0 },
    10_000,
    () => now,
    () => lost++,
  );
  const client = new FencedClient(api, () => tenure.stands());
  const writes = [
    () => client.create(things, { metadata: { ...key, name: 'other' } }),
    () => client.apply(things, thing),
    () => client.patch(things, key, { spec: 1 }, { type: 'merge' }),
    () => client.delete(things, key),
  ];

  now = 9_999;
  for (const write of writes) await write();
  assert.deepEqual([api.calls.length, lost], [writes.length, 0]);

  now = 10_000;
  for (const write of writes) await assert.rejects(write(), LeaseLostError);
  assert.deepEqual([api.calls.length, lost], [writes.length, 1]);
  assert.equal(await client.find(things, key), undefined);
});
