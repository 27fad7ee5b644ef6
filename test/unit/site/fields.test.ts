import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isRoutingKey } from '../../../src/routing/names.ts';
import { badKey } from '../../../src/site/plan/fields.ts';

test('a key that routers cannot announce is refused here, instead of never finding its other side', () => {
  for (const key of ['a', 'a'.repeat(253), 'a'.repeat(254), 'a'.repeat(255), '']) {
    const isRefused = badKey('Listener/web', 'spec.routingKey', key).length > 0;
    assert.equal(isRefused, !isRoutingKey(key), `${key.length} characters`);
  }
});
