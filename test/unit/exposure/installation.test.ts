import assert from 'node:assert/strict';
import { test } from 'node:test';
import { install } from '../../../src/exposure/installation.ts';
import type { KubeClient } from '../../../src/kube/contract.ts';
import { createLogger } from '../../../src/telemetry/log.ts';

const log = createLogger({ level: 'error', component: 'test' });

/** Definitions come back with what the cluster has besides; returns the patches. */
async function patchesOver(conversion: object | undefined): Promise<readonly unknown[]> {
  const patches: unknown[] = [];
  const client = {
    find: () => Promise.resolve(undefined),
    apply: (_of: unknown, object: { spec: object }) => Promise.resolve({ ...object, spec: { ...object.spec, conversion } }),
    patch: (_of: unknown, { name }: { name: string }, patch: unknown, { type }: { type: string }) => {
      patches.push([name, type, patch]);
      return Promise.resolve({});
    },
  };
  // Nothing else is called without classes to make.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const asClient = client as unknown as KubeClient;
  await install(asClient, { manageDefinitions: true, preset: 'none', log }, new AbortController().signal);
  return patches;
}

test('a conversion webhook that an earlier system left in the definitions is taken away, in one patch', async () => {
  const webhook = { conversionReviewVersions: ['v1'], clientConfig: { service: { namespace: 'gone', name: 'gone' } } };
  const patch = { spec: { conversion: { strategy: 'None', webhook: null } } };
  assert.deepEqual(
    await patchesOver({ strategy: 'Webhook', webhook }),
    ['listenerclasses', 'listeners', 'podlisteners'].map((plural) => [`${plural}.listeners.stackable.tech`, 'merge', patch]),
  );
});

test('definitions without one are applied and left alone', async () => {
  assert.deepEqual(await patchesOver({ strategy: 'None' }), []);
  assert.deepEqual(await patchesOver(undefined), []);
});
