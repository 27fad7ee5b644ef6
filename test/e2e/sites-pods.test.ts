/** Pods by their names: a Service for each pod of another site. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { Connector, Listener } from '../../src/api/skupper/index.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { eventually } from '../harness/index.ts';
import { pod, webServer } from './support/manifests.ts';
import { useNamespace, type Namespace } from './support/namespace.ts';
import { client, fetched, linkByToken, SKUPPER, skupper, untilCondition, webDeployment } from './support/sites.ts';

describe('pods exposed by name', { timeout: 300_000 }, () => {
  const west = useNamespace('west');
  const east = useNamespace('east');

  const namesOf = async (namespace: Namespace, kind: 'pods' | 'services', labels: string): Promise<readonly string[]> => {
    const path = `/api/v1/namespaces/${namespace.name}/${kind}?labelSelector=${encodeURIComponent(labels)}`;
    const { items } = await namespace.cluster.api.get<{ readonly items: readonly KubeObject[] }>(path);
    return items.flatMap(({ metadata: { name, deletionTimestamp } }) => (deletionTimestamp === undefined ? [name ?? ''] : [])).sort();
  };
  /** Waits until there is a Service for each pod that runs, and no other; returns their names. */
  const settled = (count: number): Promise<readonly string[]> =>
    eventually('a Service for each pod', async () => {
      const pods = (await namesOf(east, 'pods', 'app=backend')).filter((name) => name !== 'taken');
      const services = (await namesOf(west, 'services', 'internal.skupper.io/listener')).filter((name) => name !== 'backend');
      assert.deepEqual(services, pods);
      return pods.length === count && pods;
    });

  before(async () => {
    await west.create(
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'taken' }, spec: { selector: { app: 'x' }, ports: [{ port: 80 }] } },
      skupper('Site', 'west', { linkAccess: 'default' }),
      skupper('Listener', 'backend', { routingKey: 'backend', host: 'backend', port: 8080, exposePodsByName: true }),
      await client('client', west.cluster),
    );
    await east.create(
      skupper('Site', 'east'),
      skupper('Connector', 'backend', { routingKey: 'backend', selector: 'app=backend', port: 8080, exposePodsByName: true }),
      webDeployment('backend', 2),
    );
    await linkByToken(east, west, 'to-west');
  });

  it('each have a Service of their names at the other site, beside that of all', async () => {
    const names = await settled(2);
    await west.running('client');
    for (const name of names) assert.equal((await fetched(west, 'client', `http://${name}:8080/`)).trim(), name);
    const { status } = await untilCondition<Connector>(east, 'Connector', 'backend');
    assert.deepEqual(status?.selectedPods?.map((each) => each.name).sort(), names);
    const { spec, metadata } = await west.service(names[0] ?? '');
    assert.deepEqual(spec?.selector, { application: 'skupper-router', 'skupper.io/component': 'router' });
    assert.deepEqual(
      spec?.ports?.map(({ name, port }) => [name, port]),
      [['backend', 8080]],
    );
    assert.equal(metadata.annotations?.['internal.skupper.io/controlled'], 'true');
  });

  it('follow a rollout: the old go, the new come', async () => {
    const old = await settled(2);
    await east.cluster.kubectl(['rollout', 'restart', 'deployment/backend', '-n', east.name]);
    await eventually('none of the old to be there', async () =>
      (await namesOf(west, 'services', 'internal.skupper.io/listener')).every((name) => !old.includes(name)),
    );
    for (const name of await settled(2)) assert.equal((await fetched(west, 'client', `http://${name}:8080/`)).trim(), name);
  });

  it('never take a Service of another owner', async () => {
    const labels = { app: 'backend' };
    await east.create(pod('taken', { labels, script: webServer(8080) }));
    const { status } = await west.until<Listener>(
      { apiVersion: SKUPPER, kind: 'Listener', name: 'backend' },
      'reports the Service',
      (listener) => JSON.stringify(listener.status).includes('taken'),
    );
    assert.match(status?.message ?? '', /^OK; the pod "taken" cannot be reached by its name: Service taken already exists in namespace/);
    const { spec } = await west.service('taken');
    assert.deepEqual(spec?.selector, { app: 'x' });
    await east.remove('v1', 'Pod', 'taken');
    await west.until<Listener>(
      { apiVersion: SKUPPER, kind: 'Listener', name: 'backend' },
      'has nothing more to report',
      (listener) => listener.status?.message === 'OK',
    );
  });
});
