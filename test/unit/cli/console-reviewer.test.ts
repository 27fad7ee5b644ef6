/** Questions to the API server about the users of a console in a cluster. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inClusterSources } from '../../../src/cli/actions/console-cluster.ts';
import { openCluster } from '../../../src/cli/resources.ts';
import { valueOf } from '../../../src/explain/connection/site-facts.ts';
import { failure } from '../kube/raw-server.ts';
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
      readonly namespace?: string;
    };
  };
}

/**
 * Knows the user of the token `good`, who may get sites, their connections and revocations.
 * @param listed what the user may list, as `pods in west`
 */
async function reviewingCluster(listed: readonly string[] = []): Promise<Cluster> {
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
            (verb === 'list'
              ? listed.includes(`${resource} in ${namespace ?? 'the cluster'}`)
              : namespace === 'west' &&
                verb === 'get' &&
                (resource === 'sites' || (resource === 'secrets' && name === 'skupper-site-ledger'))),
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
  const kinds = new Set(['Site']);
  const permissions = { kinds, connections: true, revocations: true, exposure: false, classes: false, probe: false };
  assert.deepEqual(await admit('good'), { user: 'me', permissions });
  assert.equal(await admit('bad'), undefined);
});

test('a user sees exposed objects who may list all of their kinds, and ListenerClasses who may list these in the cluster', async () => {
  const kinds = ['listeners', 'podlisteners', 'pods', 'services', 'endpointslices', 'persistentvolumeclaims', 'events'];
  const listed = [...kinds.map((kind) => `${kind} in west`), 'listenerclasses in the cluster'];
  for (const without of [undefined, ...listed]) {
    await using cluster = await reviewingCluster(listed.filter((each) => each !== without));
    const opened = await openCluster({ kubeconfig: cluster.kubeconfig }, 2_000);
    await using open = await inClusterSources(opened, new AbortController().signal, true);
    const admission = await open.users?.admit({ authorization: 'Bearer good', address: '192.0.2.1', now: 0 });
    assert.ok(typeof admission === 'object');
    const { exposure, classes } = admission.permissions;
    const isOfClasses = without === 'listenerclasses in the cluster';
    assert.deepEqual([exposure, classes], [without === undefined || isOfClasses, !isOfClasses], `without ${without ?? 'nothing'}`);
  }
});

test('a console in a cluster reads exposed objects if its account may, and names the account where a right is missing', async () => {
  await using cluster = await reviewingCluster();
  cluster.store('listeners/web', { metadata: {}, spec: { className: 'public' } });
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
  cluster.store('pods/web', { metadata: {}, spec: { nodeName: 'n1', containers: [], volumes }, status: { phase: 'Running' } });
  const storageClassName = 'listeners.stackable.tech';
  cluster.store('persistentvolumeclaims/data', { metadata: {}, spec: { storageClassName, volumeName: 'pv-1' } });
  const review = cluster.refuse;
  let mayList = true;
  cluster.refuse = (asked) => {
    if (asked.what.endsWith('selfsubjectaccessreviews'))
      return { code: 201, metadata: {}, status: { allowed: mayList || !isOfExposure(asked.body) } };
    return asked.what === 'events' ? failure(403, 'Forbidden', 'events is forbidden') : review(asked);
  };
  const opened = await openCluster({ kubeconfig: cluster.kubeconfig }, 2_000);
  await using open = await inClusterSources(opened, new AbortController().signal, true);
  const found = await open.sources.exposure?.();
  assert.ok(found !== undefined);
  const [web] = valueOf(found.listeners) ?? [];
  assert.equal(valueOf(found.pods)?.length, 1);
  assert.deepEqual(web?.serviceEvents, { unknown: "the console's account has no right to list events in the namespace west" });
  // Nothing outside of the namespace is listed, and each object is read once.
  assert.deepEqual(
    cluster.requests
      .map(({ what }) => what)
      .filter((what) => /nodes|persistentvolumes|storageclasses/.test(what))
      .toSorted(),
    [
      '/api/v1/persistentvolumes/pv-1',
      '/apis/storage.k8s.io/v1/csinodes/n1',
      '/apis/storage.k8s.io/v1/storageclasses/listeners.stackable.tech',
    ],
  );
  mayList = false;
  assert.equal(await open.sources.exposure?.(), undefined);
  await using shared = await inClusterSources(
    await openCluster({ kubeconfig: cluster.kubeconfig }, 2_000),
    new AbortController().signal,
    false,
  );
  assert.equal(shared.sources.exposure, undefined);
});

const isOfExposure = (body: unknown): boolean => JSON.stringify(body).includes('"listeners.stackable.tech"');

test('a console in a cluster reads neither grants nor tokens, and does not miss them', async () => {
  await using cluster = await reviewingCluster();
  const opened = await openCluster({ kubeconfig: cluster.kubeconfig }, 2_000);
  await using open = await inClusterSources(opened, new AbortController().signal, true);
  assert.deepEqual(await open.sources.resources.list('AccessGrant'), []);
  assert.deepEqual(open.sources.notReadable?.(), []);
  assert.ok(!cluster.requests.some(({ what }) => what.startsWith('accessgrants')));
});
