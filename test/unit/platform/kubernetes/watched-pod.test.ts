import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ROUTER_SELECTOR } from '../../../../src/api/skupper/cluster-names.ts';
import { watchedPod } from '../../../../src/platform/kubernetes/watched-pod.ts';

it('takes pods with the labels of routers for routers while they run, but not those that Skupper has left', () => {
  const isRouter = (
    containers: readonly string[],
    labels: Readonly<Record<string, string>> = ROUTER_SELECTOR,
    phase = 'Running',
  ): boolean =>
    watchedPod({ metadata: { name: 'a', labels }, spec: { containers: containers.map((name) => ({ name })) }, status: { phase } }).isRouter;
  assert.deepEqual(
    [
      isRouter(['router']),
      isRouter(['router', 'kube-adaptor']),
      isRouter(['router'], {}),
      isRouter(['router'], ROUTER_SELECTOR, 'Pending'),
    ],
    [true, false, false, false],
  );
});
