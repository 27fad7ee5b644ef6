/** Labels and annotations can be written by anyone. What another controller owns is never written, whatever marks it bears. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listeners } from '../../../src/api/listeners/index.ts';
import { RECORDS } from '../../../src/api/skupper/cluster-names.ts';
import { links, sites } from '../../../src/api/skupper/index.ts';
import { API_VERSION } from '../../../src/api/skupper/names.ts';
import { TokenLinks } from '../../../src/site-controller/tokens/token-links.ts';
import { services, type Resource } from '../../../src/kube/resource.ts';
import { OBJECTS, world } from './support/adversary.ts';
import { KINDS } from './support/played-sites.ts';
import { playedCluster } from './support/played-cluster.ts';

const LISTENER = { apiVersion: 'listeners.stackable.tech/v1alpha1', kind: 'Listener', name: 'web', uid: 'uid-other', controller: true };

describe("An object of another controller's", () => {
  test('is never written, of whatever kind it is and whatever marks it bears', async () => {
    await using baseline = await world();
    const persons = new Set(OBJECTS.map(({ metadata }) => metadata.uid));
    const created = [...baseline.api.objects].filter(([, { metadata }]) => !persons.has(metadata.uid) && !RECORDS.has(metadata.name ?? ''));
    assert.ok(created.length > 15, `${created.length}`);
    for (const [id, object] of created) {
      const [plural = ''] = id.split(' ');
      const of: Resource = KINDS.find((kind) => kind.plural === plural) ?? assert.fail(plural);
      await using played = await world((api) => {
        api.put(of, {
          ...object,
          metadata: { ...object.metadata, labels: { ...object.metadata.labels, changed: 'x' }, ownerReferences: [LISTENER] },
        });
      });
      const { api, run } = played;
      await run(4);
      // One of ours it changes where a status is to be written.
      const written = api.writes.filter((call) => call.endsWith(` ${id}`) && !call.startsWith('patch-status'));
      assert.deepEqual(written, [], id);
    }
  });

  test('is not taken for the Service of a listener by its label, and the listener has no Service', async () => {
    const service = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        namespace: 'west',
        name: 'web',
        uid: 'uid-service',
        labels: { 'internal.skupper.io/listener': 'web', 'internal.skupper.io/secured-access': 'true' },
        annotations: { 'internal.skupper.io/controlled': 'true' },
        ownerReferences: [{ ...LISTENER, apiVersion: `${listeners.group}/${listeners.version}` }],
      },
      spec: { type: 'NodePort', ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 8080 }] },
    } as const;
    await using played = await world((api) => void api.put(services, service));
    const { api, run } = played;
    await run(4);
    assert.deepEqual(
      api.writes.filter((call) => call.endsWith(' services west/web')),
      [],
    );
    assert.deepEqual(api.read(services, 'west/web')?.spec?.ports?.[0]?.targetPort, 8080);
  });
});

describe('A Link', () => {
  const link = (name: string, more: object = {}) =>
    ({
      apiVersion: API_VERSION,
      kind: 'Link',
      metadata: { namespace: 'west', name, ...more },
      spec: { endpoints: [{ name: 'inter-router', host: 'mine', port: '1' }], tlsCredentials: name },
    }) as const;
  const owner = { apiVersion: API_VERSION, kind: 'Site', name: 'west', uid: 'uid-site' };

  for (const [whose, more, isKept] of [
    ["of a person's", {}, true],
    ['of another Site', { ownerReferences: [{ ...owner, uid: 'uid-other' }] }, true],
    ['that a token of the Site made', { ownerReferences: [owner] }, false],
  ] as const) {
    test(`${whose} is ${isKept ? 'neither overwritten nor deleted by a token of its name' : 'written again by its token'}`, async () => {
      using cluster = await playedCluster();
      const { api, caches } = cluster;
      api.put(sites, { apiVersion: API_VERSION, kind: 'Site', metadata: { namespace: 'west', name: 'west', uid: 'uid-site' }, spec: {} });
      api.put(links, link('east', more));
      const store = new TokenLinks({ client: api, caches, namespace: 'west', owner: () => owner });
      const offered = {
        ...link('east'),
        spec: { ...link('east').spec, endpoints: [{ name: 'inter-router', host: 'offered', port: '1' }] },
      };
      if (isKept) await assert.rejects(store.putLink(offered), /Link east already exists/);
      else await store.putLink(offered);
      await store.removeLink('other');
      assert.equal(api.read(links, 'west/east')?.spec.endpoints[0]?.host, isKept ? 'mine' : 'offered');
      await store.removeLink('east');
      assert.equal(api.read(links, 'west/east') !== undefined, isKept);
    });
  }
});
