/** A user deletes a resource and creates it again. The objects of the new one have never been written, so no repair delays them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { routerAccesses, sites } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import { PlayedController, SitesApi } from './support/played-sites.ts';

/** More often than an object is repaired without a delay. */
const TIMES = 5;

const putSite = (api: SitesApi): void =>
  void api.put(sites, {
    apiVersion: API_VERSION,
    kind: 'Site',
    metadata: { namespace: 'west', name: 'west' },
    spec: { linkAccess: 'default', ha: true },
  });

const putAccess = (api: SitesApi): void =>
  void api.put(routerAccesses, {
    apiVersion: API_VERSION,
    kind: 'RouterAccess',
    metadata: { namespace: 'west', name: 'more' },
    spec: { roles: [{ name: 'inter-router', port: 55_672 }], generateTlsCredentials: true, tlsCredentials: 'more' },
  });

describe('A resource that is deleted and created again several times within a minute', () => {
  for (const [kind, remove, put] of [
    ['Site', (api: SitesApi) => void api.remove(sites, 'west/west'), putSite],
    ['RouterAccess', (api: SitesApi) => void api.remove(routerAccesses, 'west/more'), putAccess],
  ] as const) {
    for (const [when, isCollected] of [
      ['before', false],
      ['after', true],
    ] as const) {
      test(`${kind} has all objects at once, if it is created ${when} the garbage collector has run`, async () => {
        const api = new SitesApi();
        putSite(api);
        putAccess(api);
        await using controller = await PlayedController.start(api);
        await controller.lead();
        await controller.settle();
        const complete = [...api.objects.keys()].toSorted();
        for (let time = 1; time <= TIMES; time += 1) {
          remove(api);
          if (isCollected) api.collect();
          put(api);
          await controller.settle();
          api.collect();
          await controller.settle();
          assert.deepEqual([...api.objects.keys()].toSorted(), complete, `time ${time}`);
        }
      });
    }
  }
});
