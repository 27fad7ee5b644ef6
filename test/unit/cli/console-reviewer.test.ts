/** Questions to the API server about the users of a console in a cluster. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inClusterSources } from '../../../src/cli/actions/console-cluster.ts';
import { openCluster } from '../../../src/cli/resources.ts';
import { Cluster, ready } from './cluster.ts';

interface Review {
  readonly spec: {
    readonly token?: string;
    readonly user?: string;
    readonly groups?: readonly string[];
    readonly resourceAttributes?: {
      readonly verb: string;
      readonly resource: string;
      readonly subresource?: string;
      readonly name?: string;
      readonly namespace: string;
    };
  };
}

/** Knows the user of the token `good`, who may get sites, their connections and revocations. */
async function reviewingCluster(): Promise<Cluster> {
  const cluster = await Cluster.start();
  cluster.store('sites/west', { metadata: {}, status: ready() });
  cluster.refuse = ({ what, body }) => {
    if (body === undefined) return undefined;
    // Only reviews are created here.
    const { spec } = body as Review;
    const { verb, resource, subresource, name, namespace } = spec?.resourceAttributes ?? {};
    const answer = (status: object): object => ({ code: 201, metadata: {}, status });
    switch (what.split('/').at(-1)) {
      case 'selfsubjectaccessreviews':
        return answer({ allowed: true });
      case 'tokenreviews':
        return answer(spec.token === 'good' ? { authenticated: true, user: { username: 'me', groups: ['team'] } } : {});
      case 'subjectaccessreviews':
        return answer({
          allowed:
            spec.user === 'me' &&
            spec.groups?.[0] === 'team' &&
            namespace === 'west' &&
            verb === 'get' &&
            (resource === 'sites' || (resource === 'secrets' && name === 'skupper-site-ledger')),
          reason: subresource,
        });
      default:
        return undefined;
    }
  };
  return cluster;
}

test('a user of a console in a cluster sees the kinds that the API server permits', async () => {
  await using cluster = await reviewingCluster();
  const opened = await openCluster({ kubeconfig: cluster.kubeconfig }, 2_000);
  await using open = await inClusterSources(opened, new AbortController().signal, true);
  const admit = (token: string): Promise<unknown> | undefined =>
    open.users?.admit({ authorization: `Bearer ${token}`, address: '192.0.2.1', now: 0 });
  const permissions = { kinds: new Set(['Site']), connections: true, revocations: true, probe: false };
  assert.deepEqual(await admit('good'), { user: 'me', permissions });
  assert.equal(await admit('bad'), undefined);
});

test('a console in a cluster reads neither grants nor tokens, and does not miss them', async () => {
  await using cluster = await reviewingCluster();
  const opened = await openCluster({ kubeconfig: cluster.kubeconfig }, 2_000);
  await using open = await inClusterSources(opened, new AbortController().signal, true);
  assert.deepEqual(await open.sources.resources.list('AccessGrant'), []);
  assert.deepEqual(open.sources.notReadable?.(), []);
  assert.ok(!cluster.requests.some(({ what }) => what.startsWith('accessgrants')));
});
