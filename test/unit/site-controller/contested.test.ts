/** Something else reverts what the controller writes: it writes less and less often, and reports which object and field. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sites } from '../../../src/api/skupper/index.ts';
import type { Deployment, KubeObject } from '../../../src/kube/objects.ts';
import { configMaps, deployments, type Resource } from '../../../src/kube/resource.ts';
import { edited, world, type AdversaryApi, type Revert, OBJECTS } from './support/adversary.ts';

const MINUTE = 60_000;

function mostInOneMinute(times: readonly number[]): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + MINUTE).length));
}

/** The trust of a site limits writes of its Secrets itself. */
const isOfTrust = (id: string): boolean => id.startsWith('secrets ');

function assertBounded({ written }: AdversaryApi, since: number): void {
  for (const [id, times] of written) {
    if (isOfTrust(id)) continue;
    const most = mostInOneMinute(times.filter((at) => at >= since));
    assert.ok(most <= 6, `${id}: ${most} writes in a minute`);
  }
}

describe('A client that reverts writes of the controller', () => {
  /** All kinds at once, and some kinds alone. The others are applied in the same way. */
  const ids = ['', 'configmaps ', 'services ', 'deployments ', 'certificates ', 'securedaccesses ', 'sites '];
  const cases: readonly (readonly [Revert, string])[] = [
    ['restores', ''],
    ['deletes', ''],
    ...ids.map((prefix) => ['edits', prefix] as const),
  ];
  for (const [reverts, prefix] of cases) {
    test(`${reverts} ${prefix === '' ? 'all objects' : prefix.trim()}: no object is written more than 6 times in any minute after the first`, async () => {
      await using played = await world();
      const { api, run } = played;
      api.reverts = reverts;
      // Its own resources it would never be rid of.
      api.isMeant = (id) =>
        id.startsWith(prefix) && !(reverts === 'deletes' && OBJECTS.some((object) => id.endsWith(` west/${object.metadata.name}`)));
      // The fight begins.
      for (const [id, object] of api.objects) {
        if (api.isMeant(id) && !isOfTrust(id) && !OBJECTS.some(({ metadata }) => metadata.uid === object.metadata.uid))
          tamper(api, id, object, reverts);
      }
      const since = api.now + MINUTE;
      // After the first minute: one more for each kind alone, and two for all kinds together.
      await run(prefix === '' ? 180 : 120);
      assertBounded(api, since);
    });
  }

  test('the object, the field and the field manager are reported, and the report ends with the fight', async () => {
    await using played = await world();
    const { api, notes, run } = played;
    api.reverts = 'edits';
    api.isMeant = (id) => id === 'deployments west/skupper-router';
    const managedFields = [{ manager: 'other', operation: 'Update', fieldsV1: { 'f:spec': { 'f:replicas': {} } } }];
    const router = api.read(deployments, 'west/skupper-router') ?? assert.fail();
    api.put(deployments, { ...edited(router), metadata: { ...router.metadata, managedFields } });
    await run(30);
    const message = /Deployment skupper-router is reverted by "other" \(.*spec/;
    assert.match([...notes].join('\n'), message);
    const site = (): string => api.read(sites, 'west/west')?.status?.message ?? '';
    assert.match(site(), message);
    api.reverts = undefined;
    await run(180);
    assert.doesNotMatch(site(), /is reverted/);
    assert.equal(api.read<Deployment>(deployments, 'west/skupper-router')?.spec?.replicas, 1);
  });
});

function tamper(api: AdversaryApi, id: string, object: KubeObject, reverts: Revert): void {
  const [plural = '', key = ''] = id.split(' ');
  const of = { ...configMaps, plural } as Resource;
  if (reverts === 'deletes') api.remove(of, key);
  else api.put(of, edited(object));
}
