import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LEDGER, ROUTER, ROUTER_DATA } from '../../../src/api/skupper/cluster-names.ts';
import { sites } from '../../../src/api/skupper/index.ts';
import { revokeInCluster, unrevokeInCluster } from '../../../src/cli/actions/cluster-revocations.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { configMaps, secrets } from '../../../src/kube/resource.ts';
import { site } from '../site-controller/support/trust-world.ts';
import { PlayedApi } from '../exposure/support/played-api.ts';

const EAST = '873f7632-3838-8275-8aad-abfcf2526e25';

class Cluster extends PlayedApi {
  override async *list<T extends KubeObject>(): AsyncGenerator<T> {
    // Only Sites are asked for; their items have no kind.
    const { kind: _kind, apiVersion: _version, ...item } = this.read(sites, 'west/west') ?? site();
    yield item as unknown as T;
  }
}

test('a revocation in a cluster is recorded in its Site, and returns once the routers have received it', async () => {
  const api = new Cluster();
  api.put(sites, site());
  const words: string[] = [];
  const terminal = { out: (text: string) => void words.push(text), note: () => {}, input: () => Promise.resolve('') };
  const place = { client: api, namespace: 'west' };
  await assert.rejects(revokeInCluster(place, EAST, terminal, 0), { code: 'not-ready', message: /controller of sites/ });
  const { metadata, data } = api.read(secrets, `west/${LEDGER}`) ?? { metadata: {} };
  assert.deepEqual([metadata.ownerReferences?.[0]?.kind, metadata.ownerReferences?.[0]?.uid], ['Site', 'site-1']);
  assert.match(Buffer.from(data?.['revoked.yaml'] ?? '', 'base64').toString(), new RegExp(EAST));
  const told = JSON.stringify({ sites: [EAST], serials: [] });
  api.put(configMaps, { metadata: { name: ROUTER, namespace: 'west' }, data: { [ROUTER_DATA.revoked]: told } });
  await revokeInCluster(place, EAST, terminal, 0);
  await unrevokeInCluster(place, EAST, terminal);
  assert.match(words.at(-1) ?? '', /may link again/);
  await assert.rejects(unrevokeInCluster(place, EAST, terminal), { code: 'not-found' });
});
