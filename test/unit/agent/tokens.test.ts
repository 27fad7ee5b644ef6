import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { test } from 'node:test';
import { pino } from 'pino';
import type { AccessToken, Site } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import { Tokens } from '../../../src/agent/tokens.ts';
import { makeAuthority, makeSite } from '../trust/support/site.ts';
import { MemoryBundles } from '../trust/support/memory-stores.ts';

const site: Site = { apiVersion: API_VERSION, kind: 'Site', metadata: { name: 'west' }, spec: {} };

test('a token that is taken away while it is being redeemed is not tried again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const own = makeSite();
  const failed = Promise.withResolvers<never>();
  let tries = 0;
  using tokens = new Tokens({
    stores: {
      bundles: new MemoryBundles(),
      pendingKeys: {
        keyFor: () => {
          tries += 1;
          return failed.promise;
        },
        drop: () => Promise.resolve(),
      },
      tokens: { redeemed: () => Promise.resolve(new Map()), setRedeemed: () => Promise.resolve(), putLink: () => Promise.resolve() },
    },
    identity: { id: own.siteId, key: own.siteKey },
    log: pino({ enabled: false }),
    onChange: () => {},
  });
  const { ca } = makeAuthority();
  const token: AccessToken = {
    apiVersion: API_VERSION,
    kind: 'AccessToken',
    metadata: { name: 'west' },
    spec: { url: 'https://west.example:9090/v1/redeem/west', code: 'code', ca },
  };
  await tokens.ensure([token], site);
  assert.equal(tries, 1);
  await tokens.ensure([], site);
  failed.reject(new Error('the disk is full'));
  await setImmediate();
  t.mock.timers.tick(120_000);
  assert.equal(tries, 1);
});
