/** A namespace is deleted with everything in it: Earshot does not recreate what Kubernetes deletes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connectCluster, eventually } from '../harness/index.ts';
import { auditFromNow, describeRequest } from './support/audit.ts';
import { untilInstalled } from './support/installation.ts';
import { byClass, pod } from './support/manifests.ts';
import { openNamespace, type Namespace } from './support/namespace.ts';
import { untilCollected, VOLUME } from './support/replicas.ts';

const LISTENERS = 20;

describe('a namespace that is deleted', { timeout: 400_000 }, () => {
  const cluster = connectCluster();
  /** Holds nothing but the class, which stays. */
  let elsewhere: Namespace;
  let namespace: Namespace;

  before(async () => {
    await untilInstalled(cluster);
    elsewhere = await openNamespace(cluster, 'class');
    namespace = await openNamespace(cluster, 'namespace');
    const className = await elsewhere.class('internal', { serviceType: 'ClusterIP' });
    const names = Array.from({ length: LISTENERS }, (_, n) => `listener-${n}`);
    await Promise.all(names.map((name) => namespace.listener(name, { className, ports: [{ name: 'http', port: 8080 }] })));
    await namespace.create(pod('mounts', { volumes: { [VOLUME]: byClass(className) }, ports: [{ name: 'http', containerPort: 8080 }] }));
    await Promise.all([...names.map((name) => namespace.ready(name)), namespace.running('mounts')]);
  });
  after(async () => {
    await namespace?.[Symbol.asyncDispose]();
    await elsewhere?.[Symbol.asyncDispose]();
    await cluster.api.close();
  });

  it('takes its Listeners, Services and volumes with it, and no controller writes to them meanwhile', async () => {
    const audit = await auditFromNow(cluster);
    await namespace[Symbol.asyncDispose]();
    const path = `/api/v1/namespaces/${namespace.name}`;
    await eventually('the namespace to be gone', async () => (await cluster.api.find(path)) === undefined, { timeoutMs: 180_000 });
    await untilCollected(cluster, namespace.name);
    await audit.settle();
    const succeeded = audit.writes(namespace.name).filter(({ responseStatus }) => (responseStatus?.code ?? 0) < 300);
    assert.deepEqual(succeeded.map(describeRequest), []);
    // That a namespace is going can be learnt only by trying: when a Service, and when its EndpointSlice, goes before the Listener.
    const tried = audit.changes(namespace.name);
    // And once more where a Listener goes before its pod's mount; not again and again.
    assert.ok(tried.length <= 3 * (LISTENERS + 1), tried.map(describeRequest).join('\n'));
  });
});
