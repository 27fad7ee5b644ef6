/** What happens to a site while its controller is away, and while another takes its place. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { LEADER_LABEL } from '../../src/api/skupper/cluster-names.ts';
import type { Deployment, KubeObject, Pod } from '../../src/kube/objects.ts';
import { connectCluster, eventually } from '../harness/index.ts';
import { useNamespace } from './support/namespace.ts';
import { client, fetched, SKUPPER, skupper, untilCondition, webDeployment } from './support/sites.ts';

const CONTROLLER = encodeURIComponent('application=skupper-controller');
const PAGE = 'http://backend:8080/';

describe('a site in a cluster', { timeout: 300_000 }, () => {
  const cluster = connectCluster();
  const west = useNamespace('sites-faults', {}, cluster);
  const list = async <T extends KubeObject>(path: string): Promise<readonly T[]> =>
    (await cluster.api.get<{ items: readonly T[] }>(path)).items;
  const own = <T extends KubeObject>(plural: string, selector = ''): Promise<readonly T[]> =>
    list<T>(`/api/v1/namespaces/${west.name}/${plural}?labelSelector=${encodeURIComponent(selector)}`);
  const controllers = (): Promise<readonly Pod[]> => list<Pod>(`/api/v1/pods?labelSelector=${CONTROLLER}`);
  const deployment = async (): Promise<string> => {
    const [found] = await list<Deployment>(`/apis/apps/v1/deployments?labelSelector=${CONTROLLER}`);
    return `/apis/apps/v1/namespaces/${found?.metadata.namespace}/deployments/${found?.metadata.name}`;
  };
  const scale = async (replicas: number): Promise<void> => void (await cluster.api.patch(await deployment(), { spec: { replicas } }));
  const leader = async (): Promise<Pod | undefined> =>
    (await controllers()).find(({ metadata }) => metadata.labels?.[LEADER_LABEL] === 'true');
  const standing = async (): Promise<readonly string[]> =>
    [...(await own('services')), ...(await own('secrets'))].map(
      ({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`,
    );
  /** Takes the one pod away, and waits for another that is ready. */
  const replacePod = async (selector: string): Promise<void> => {
    const [{ metadata } = assert.fail(`no pod is ${selector}`)] = await own<Pod>('pods', selector);
    await west.remove('v1', 'Pod', metadata.name ?? '');
    await eventually(`another pod ${selector}`, async () => {
      const pods = await own<Pod>('pods', selector);
      return pods.length === 1 && pods.every((one) => one.metadata.uid !== metadata.uid && isReady(one));
    });
  };

  before(async () => {
    await west.create(
      skupper('Site', 'west'),
      skupper('Listener', 'backend', { host: 'backend', port: 8080, routingKey: 'backend' }),
      skupper('Connector', 'backend', { selector: 'app=backend', port: 8080, routingKey: 'backend' }),
      webDeployment('backend', 1),
      await client('client', cluster),
    );
    await west.running('client');
    await untilCondition(west, 'Site', 'west');
    await fetched(west, 'client', PAGE);
  });

  it('goes on without its controller: its router and its servers are replaced, and a controller that comes back writes nothing', async () => {
    const earlier = await standing();
    await scale(0);
    try {
      await eventually('the controllers to be gone', async () => (await controllers()).length === 0);
      await replacePod('skupper.io/component=router');
      const first = await fetched(west, 'client', PAGE);
      await replacePod('app=backend');
      await eventually('an answer of the other server', async () => (await fetched(west, 'client', PAGE)) !== first);
    } finally {
      await scale(2);
    }
    await west.create(skupper('Listener', 'more', { host: 'more', port: 8080, routingKey: 'backend' }));
    await west.untilService('more', 'is there', () => true);
    await west.remove(SKUPPER, 'Listener', 'more');
    await eventually('its Service to be gone', async () => (await west.get('v1', 'Service', 'more')) === undefined);
    assert.deepEqual(await standing(), earlier);
  });

  it('has another controller soon after the leader is killed, and it rewrites nothing', async () => {
    const killed = await eventually('a leader', leader);
    const earlier = await standing();
    const { namespace, name } = killed.metadata;
    await cluster.api.remove(`/api/v1/namespaces/${namespace}/pods/${name}?gracePeriodSeconds=0`);
    await eventually('another leader', async () => ((await leader())?.metadata.name ?? name) !== name);
    // The server of tokens goes with it.
    await west.patch(SKUPPER, 'Site', 'west', { spec: { linkAccess: 'local' } });
    await west.create(skupper('AccessGrant', 'after'));
    await untilCondition(west, 'AccessGrant', 'after');
    const now = new Set(await standing());
    assert.deepEqual(
      earlier.filter((one) => isKept(one) && !now.has(one)),
      [],
    );
  });

  it("comes to rest with a label template of another controller's annotation, and with a Service that both halves are named for", async () => {
    const revision = 'deployment.kubernetes.io/revision';
    const labels = { 'skupper.io/label-template': 'true' };
    const template = { name: 'template', labels, annotations: { [revision]: '7', 'example.com/team': 'blue' } };
    await west.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: template });
    await west.create(
      {
        apiVersion: 'listeners.stackable.tech/v1alpha1',
        kind: 'Listener',
        metadata: { name: 'shared', labels: { 'internal.skupper.io/listener': 'x' } },
        spec: { className: 'cluster-internal', ports: [{ name: 'http', port: 8080 }] },
      },
      skupper('Listener', 'shared', { host: 'shared', port: 8080, routingKey: 'backend' }),
    );
    const router = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'skupper-router' };
    await west.until<Deployment>(router, 'has the team', ({ metadata }) => metadata.annotations?.['example.com/team'] === 'blue');
    await west.untilService('shared', 'is there', () => true);
    await untilCondition(west, 'Listener', 'shared', 'Configured', { value: 'False' });
    const versions = async (): Promise<readonly unknown[]> =>
      Promise.all([
        west.get<Deployment>('apps/v1', 'Deployment', 'skupper-router').then((one) => one?.metadata.resourceVersion),
        west.get('v1', 'Service', 'shared').then((one) => one?.metadata.resourceVersion),
      ]);
    // Each round is several passes of both controllers. Without damping, one of them is hundreds of writes.
    await eventually('a round without a write', async () => {
      const earlier = await versions();
      await west.create(skupper('Listener', 'round', { host: 'round', port: 8080, routingKey: 'backend' }));
      await west.untilService('round', 'is there', () => true);
      await west.remove(SKUPPER, 'Listener', 'round');
      await eventually('its Service to be gone', async () => (await west.get('v1', 'Service', 'round')) === undefined);
      return JSON.stringify(await versions()) === JSON.stringify(earlier);
    });
    const { metadata } = (await west.get<Deployment>('apps/v1', 'Deployment', 'skupper-router')) ?? assert.fail('no Deployment');
    assert.notEqual(metadata.annotations?.[revision], '7');
  });
});

/** The records of grants, and of what was issued, are written with each. */
const isKept = (one: string): boolean => !/^skupper-(?:site-)?(?:grants|ledger|issued)/.test(one);

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'Ready' && holds === 'True') === true;
}
