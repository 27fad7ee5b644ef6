import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { keptObjects } from '../../../src/connection/kept-objects.ts';
import type { Secret } from '../../../src/kube/objects.ts';
import { secrets } from '../../../src/kube/resource.ts';

const project = keptObjects.find(({ of }) => of === secrets)?.project ?? assert.fail();
const big = 'x'.repeat(100_000);
const secret = (name: string, type: string, data: Readonly<Record<string, string>> = { any: big }): Secret => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'ns', uid: 'u', resourceVersion: '1', annotations: { big } },
  type,
  data,
});

describe('of Secrets the controller of sites keeps', () => {
  for (const type of ['kubernetes.io/dockerconfigjson', 'kubernetes.io/service-account-token', 'helm.sh/release.v1']) {
    it(`name and type of ${type}, in less than 1 KiB`, () => {
      const kept = project(secret('other', type));
      assert.equal((kept as Secret).type, type);
      assert.ok(JSON.stringify(kept).length < 1024);
    });
  }
  it('nothing of one that could hold a bundle and does not', () => assert.equal(project(secret('other', 'Opaque')), undefined));
  for (const key of ['tls.crt', 'ca.crt']) {
    it(`all of one with ${key}`, () =>
      assert.deepEqual((project(secret('other', 'Opaque', { [key]: 'x' })) as Secret).data, { [key]: 'x' }));
  }
});
