import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SkupperKind } from '../../../src/api/skupper/index.ts';
import { ForbiddenError } from '../../../src/errors/forbidden-error.ts';
import type { ExplainPlace } from '../../../src/explain/gather/explainable-kind.ts';
import { runChecks } from '../../../src/explain/gather/run-checks.ts';
import { clusterOf, type ClusterContent } from './support-cluster.ts';

const lease = { holderIdentity: 'controller-1', renewTime: new Date().toISOString(), leaseDurationSeconds: 15 };
const installed = { leases: [{ metadata: { name: 'earshot-controller', namespace: 'earshot-system' }, spec: lease }] };

/** Findings that do not pass, for a namespace without a resource of a site. @param refused kinds that the user may not list */
async function findings(content: ClusterContent, refused: readonly SkupperKind[] = []): Promise<readonly string[]> {
  // Only these members are used.
  const resources = {
    namespace: 'shop',
    where: 'the namespace shop',
    commandFlags: '',
    conventions: { platform: { access: {}, capabilities: new Set(['pods', 'services']) } },
    notRunning: async () => undefined,
    list: async (kind: SkupperKind) => {
      if (refused.includes(kind)) throw new ForbiddenError('kube-api', `${kind} is forbidden`);
      return [];
    },
    written: async () => [],
    about: async () => ({ problems: [] }),
  } as unknown as ExplainPlace['site']['resources'];
  // Only the reads of a client and access reviews are used.
  const client = clusterOf(content) as unknown as NonNullable<ExplainPlace['cluster']>['client'];
  const report = await runChecks({ site: { resources }, cluster: { client, namespace: 'shop' }, probe: false });
  return report.findings.filter(({ state }) => state !== 'pass').map(({ id, state, says }) => `${id} ${state} ${says}`);
}

test('a namespace that only exposes pods is not taken for a site', async () => {
  assert.deepEqual(await findings({ objects: installed }), []);
  assert.deepEqual(await findings({ objects: installed }, ['AccessGrant', 'AccessToken']), []);
});

test('a missing right to NetworkObservers is a finding in a namespace without a Site', async () => {
  assert.deepEqual(await findings({ objects: installed, denied: ['networkobservers'] }), [
    'check.rights unknown you have no right to list networkobservers.observability.skupper.io in the namespace shop',
  ]);
});

test('without the right to list Sites it is unknown whether the namespace is a site, if the cluster has Sites', async () => {
  const unread = ['check.site unknown your user may not list sites.skupper.io in the namespace shop'];
  assert.deepEqual(await findings({ objects: installed }, ['Site']), unread);
  assert.deepEqual(await findings({ objects: installed, undefinedKinds: ['sites'] }, ['Site']), []);
});
