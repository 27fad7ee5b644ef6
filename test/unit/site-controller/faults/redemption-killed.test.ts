import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { describe, test, type TestContext } from 'node:test';
import { GRANT_SERVER, PENDING_KEYS } from '../../../../src/api/skupper/cluster-names.ts';
import { accessGrants, accessTokens, sites } from '../../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../../src/api/skupper/names.ts';
import type { ControllerSettings } from '../../../../src/site-controller/settings.ts';
import { secrets } from '../../../../src/kube/resource.ts';
import { issueBundle } from '../../../../src/trust/issue.ts';
import { freePort } from '../../support/free-port.ts';
import { makeAuthority } from '../../trust/support/site.ts';
import { lookOf, PlayedController, SitesApi, type Death } from '../support/played-sites.ts';
import { settings } from '../support/view.ts';

const authority = makeAuthority({ name: 'grants' });
const shown = issueBundle(authority, GRANT_SERVER, { subject: GRANT_SERVER, hosts: ['127.0.0.1'], server: true });
const port = await freePort();
const GRANTS: ControllerSettings['grants'] = { ...settings.grants, autoconfigure: false, baseUrl: `https://127.0.0.1:${port}`, port };

describe('A token of one cluster that is redeemed in another', () => {
  for (const side of ['west', 'east'] as const) {
    test(`costs one redemption and leaves one Link, at whichever write the controller in the ${side} is killed`, async (t) => {
      t.mock.timers.enable({ apis: ['setTimeout'] });
      const start = await granted();
      const whole = await redeemed(t, start);
      const writes = whole[side].writes.length;
      assert.ok(writes >= 3, `${writes}`);
      for (let death = 1; death <= writes; death += 1) {
        for (const lastWrite of ['lands late', 'is lost'] as const) {
          const words = `killed at write ${death}, which ${lastWrite}`;
          const killed = await redeemed(t, start, { side, death, lastWrite }).catch((error: unknown) => assert.fail(`${words}: ${error}`));
          assert.equal(killed.west.read(accessGrants, 'west/grant')?.status?.redemptions, 1, words);
          assert.deepEqual(killed.east.read(secrets, `east/${PENDING_KEYS}`)?.data, {}, words);
          assert.deepEqual(lookOf(killed.west), lookOf(whole.west), words);
          assert.deepEqual(lookOf(killed.east), lookOf(whole.east), words);
        }
      }
    });
  }

  test('is reported by the next controller as by the one before, without any write', async () => {
    const { west } = await granted();
    const before = west.writes.length;
    await rest(west);
    assert.deepEqual(west.writes.slice(before), []);
  });
});

interface Clusters {
  readonly west: SitesApi;
  readonly east: SitesApi;
}

interface Killed {
  readonly side: keyof Clusters;
  readonly death: Death;
  readonly lastWrite: 'lands late' | 'is lost';
}

/** Two idle sites, one with a grant that can be used once. */
async function granted(): Promise<Clusters> {
  const [west, east] = [new SitesApi(), new SitesApi()];
  west.put(secrets, { ...meta('v1', 'Secret', 'skupper', GRANT_SERVER), data: dataOf(shown) });
  west.put(sites, { ...meta(API_VERSION, 'Site', 'west', 'west'), spec: { linkAccess: 'default' } });
  west.put(accessGrants, { ...meta(API_VERSION, 'AccessGrant', 'west', 'grant'), spec: { redemptionsAllowed: 1 } });
  east.put(sites, { ...meta(API_VERSION, 'Site', 'east', 'east'), spec: {} });
  await rest(west);
  await rest(east);
  return { west, east };
}

/** The token is applied in the east, and all comes to rest; where a controller is killed, another one takes its place. */
async function redeemed(t: TestContext, from: Clusters, killed?: Killed): Promise<Clusters> {
  const [west, east] = [new SitesApi(), new SitesApi()];
  west.startFrom(from.west);
  east.startFrom(from.east);
  const { url = '', code = '', ca = '' } = west.read(accessGrants, 'west/grant')?.status ?? {};
  east.put(accessTokens, { ...meta(API_VERSION, 'AccessToken', 'east', 'token'), spec: { url, code, ca } });
  const apis = { west, east };
  const controllers = {
    west: await started(west, killed?.side === 'west' ? killed.death : undefined),
    east: await started(east, killed?.side === 'east' ? killed.death : undefined),
  };
  try {
    const settle = async (): Promise<void> => {
      await controllers.west.settle();
      await controllers.east.settle();
    };
    await until(t, async () => {
      await settle();
      if (killed !== undefined && controllers[killed.side].isDead) {
        if (killed.lastWrite === 'lands late') await controllers[killed.side].land();
        await controllers[killed.side][Symbol.asyncDispose]();
        controllers[killed.side] = await started(apis[killed.side]);
      }
      return east.read(accessTokens, 'east/token')?.status?.redeemed === true;
    });
    await settle();
  } finally {
    await controllers.west[Symbol.asyncDispose]();
    await controllers.east[Symbol.asyncDispose]();
  }
  await rest(west);
  await rest(east);
  return apis;
}

async function started(api: SitesApi, death?: Death): Promise<PlayedController> {
  const controller = await PlayedController.start(api, death, { grants: GRANTS });
  await controller.lead();
  return controller;
}

async function rest(api: SitesApi): Promise<void> {
  await using controller = await started(api);
  await controller.settle();
}

/** Requests are real, waiting is not. */
async function until(t: TestContext, isDone: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + 60_000; !(await isDone()); await setImmediate()) {
    assert.ok(performance.now() < end, 'the token is not redeemed');
    t.mock.timers.tick(1_000);
  }
}

const meta = <V extends string, K extends string>(apiVersion: V, kind: K, namespace: string, name: string) => ({
  apiVersion,
  kind,
  metadata: { namespace, name },
});

function dataOf({ cert, key, ca }: typeof shown): Record<string, string> {
  const texts = { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca };
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, Buffer.from(text).toString('base64')]));
}
