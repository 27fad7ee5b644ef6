import assert from 'node:assert/strict';
import { test } from 'node:test';
import { routes } from '../../../src/connection/access/kinds.ts';
import { servedOptional } from '../../../src/connection/served.ts';
import type { KubeClient } from '../../../src/kube/contract.ts';
import { ApiError } from '../../../src/kube/errors.ts';

const answering = (status: number | undefined): Pick<KubeClient, 'page'> => ({
  page: (of) => {
    if (of.group === routes.group && status !== undefined)
      return Promise.reject(new ApiError('GET', { status, reason: '', message: 'no' }));
    return Promise.resolve({ items: [], resourceVersion: '1' });
  },
});
const { signal } = new AbortController();

for (const [what, status, served] of [
  ['is served', undefined, true],
  ['is not there', 404, false],
  ['came after the rights of the controller were written', 403, false],
] as const) {
  test(`an optional kind that ${what} is ${served ? '' : 'not '}watched`, async () => {
    const all = await servedOptional(answering(status), { signal });
    assert.equal(all.has('routes.v1.route.openshift.io'), served);
    assert.equal(all.has('ingresses.v1.networking.k8s.io'), true);
  });
}

test('nobody takes an API server that fails for one that does not serve a kind', async () => {
  await assert.rejects(servedOptional(answering(500), { signal }), ApiError);
});
