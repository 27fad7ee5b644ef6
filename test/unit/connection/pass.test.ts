import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listeners } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import { NamespaceKeeper } from '../../../src/connection/pass.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { playedCluster } from './support/played-cluster.ts';
import { settings } from './support/view.ts';

const LISTENER = { apiVersion: API_VERSION, kind: 'Listener' } as const;

test('statuses do not wait for each other', async () => {
  using cluster = await playedCluster();
  const { api, caches } = cluster;
  for (const name of ['a', 'b', 'c']) {
    api.put(listeners, { ...LISTENER, metadata: { namespace: 'west', name }, spec: { host: name, port: 80, routingKey: name } });
  }
  await using keeper = new NamespaceKeeper({
    client: api,
    caches,
    settings: { ...settings, grants: { ...settings.grants, enabled: false } },
    events: { record: () => {}, [Symbol.asyncDispose]: async () => {} },
    log: createLogger({ level: 'silent', component: 'test' }),
    now: () => '2026-01-31T00:00:00Z',
    wake: () => {},
  });
  const { promise: together, resolve } = Promise.withResolvers<void>();
  const underWay: string[] = [];
  // None is answered before all are asked for.
  api.meets = ({ verb, plural }) => {
    if (verb !== 'patch-status') return undefined;
    underWay.push(plural);
    if (underWay.length === 3) resolve();
    return together;
  };
  await keeper.pass('west', cluster.signal);
  assert.deepEqual(underWay, ['listeners', 'listeners', 'listeners']);
});
