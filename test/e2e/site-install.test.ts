/** The two halves of the chart, each with and without the other, on a cluster of its own. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import type { Site } from '../../src/api/skupper/index.ts';
import { eventually, startCluster, stopCluster, type Cluster } from '../harness/index.ts';
import { installEarshot } from '../harness/install.ts';
import { CHART, helm } from '../harness/chart.ts';
import { byClass, pod } from './support/manifests.ts';
import type { SystemPod } from './support/installation.ts';
import { Namespace } from './support/namespace.ts';
import { SKUPPER, skupper } from './support/sites.ts';

const NAME = 'site-install';
/** Twelve kinds, and NetworkObserver. */
const DEFINITIONS = 13;
const SYSTEM = 'earshot-system';
const ACCOUNT = `system:serviceaccount:${SYSTEM}:skupper-controller`;
const DEPLOYMENT = `/apis/apps/v1/namespaces/${SYSTEM}/deployments/skupper-controller`;

interface Items<T> {
  readonly items: readonly T[];
}

describe('the chart’s connection half on a cluster', { timeout: 400_000 }, () => {
  let cluster: Cluster;
  let apart: Namespace;
  const kubectl = (...args: readonly string[]): Promise<string> => cluster.kubectl(args);
  const podsOf = async (namespace: string, selector = ''): Promise<readonly SystemPod[]> =>
    (await cluster.api.get<Items<SystemPod>>(`/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`)).items;
  /** What stays the same while nothing of a pod is touched. */
  const asSeen = ({ metadata, status }: SystemPod): unknown => [
    metadata.uid,
    status.containerStatuses?.map(({ restartCount }) => restartCount),
  ];
  const definitions = async (group: string): Promise<readonly string[]> =>
    (await kubectl('get', 'customresourcedefinitions', '--output=name')).split('\n').filter((name) => name.endsWith(`.${group}`));
  /** The name of the controller that says something of a Site. */
  const keeperOf = async (namespace: Namespace, name: string): Promise<string | undefined> => {
    const { status } = (await namespace.get<Site>(SKUPPER, 'Site', name)) ?? {};
    return status?.controller === undefined ? undefined : `${status.controller.namespace}/${status.controller.name}`;
  };
  const untilKept = (namespace: Namespace, name: string, by: string): Promise<unknown> =>
    eventually(`${name} to be kept by ${by}`, async () => (await keeperOf(namespace, name)) === by, { timeoutMs: 60_000 });
  const may = (verb: string, resource: string, ...args: readonly string[]): Promise<boolean> =>
    kubectl('auth', 'can-i', verb, resource, `--as=${ACCOUNT}`, ...args).then(
      () => true,
      () => false,
    );

  before(async () => {
    await stopCluster(NAME);
    cluster = await startCluster({ name: NAME });
    apart = new Namespace(cluster, 'apart');
    await apart.open();
    await installEarshot(cluster);
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  it('is not there unless it is asked for', async () => {
    assert.deepEqual(await definitions('skupper.io'), []);
    assert.equal(await cluster.api.find(DEPLOYMENT), undefined);
    assert.equal(await may('list', 'secrets', '--all-namespaces'), false);
  });

  it('comes without the other half being touched', async () => {
    await apart.create(pod('mounted', { volumes: { address: byClass('cluster-internal') }, ports: [{ containerPort: 8080 }] }));
    await apart.running('mounted');
    const tree = (): Promise<string> =>
      apart.exec('mounted', ['sh', '-c', 'cd /listeners/address; find . -type f -exec stat -c "%i %n" {} + | sort']);
    const [seen, own, others] = [await tree(), await podsOf('apart'), await podsOf(SYSTEM)];
    assert.match(seen, /address/);
    await installEarshot(cluster, { connection: true });
    assert.deepEqual((await podsOf('apart')).map(asSeen), own.map(asSeen));
    assert.equal(await tree(), seen);
    assert.deepEqual((await podsOf(SYSTEM, 'app.kubernetes.io/name=earshot')).map(asSeen), others.map(asSeen));
    const controllers = await podsOf(SYSTEM, 'application=skupper-controller,skupper.io/component=controller');
    assert.equal(new Set(controllers.map(({ spec }) => spec.nodeName)).size, 2);
    // The definitions come once one leads.
    await eventually('all definitions', async () => (await definitions('skupper.io')).length === DEFINITIONS);
  });

  it('has a kind of the same name as the other half, and a distinct short name', async () => {
    await apart.create(skupper('Listener', 'backend', { host: 'backend', port: 8080, routingKey: 'backend' }));
    const named = async (word: string): Promise<string> =>
      kubectl('get', word, '--namespace=apart', '--output=jsonpath={.items[*].apiVersion}');
    assert.match(await named('listener'), /^listeners\.stackable\.tech/);
    assert.equal(await named('lnr'), SKUPPER);
    assert.equal(await named('listeners.skupper.io'), SKUPPER);
    await apart.remove(SKUPPER, 'Listener', 'backend');
  });

  it('keeps the Site of any namespace', async () => {
    await apart.create(skupper('Site', 'apart'));
    await untilKept(apart, 'apart', `${SYSTEM}/skupper-controller`);
  });

  it('may do what its Role says, and what it gives to routers it has', async () => {
    assert.equal(await may('list', 'secrets', '--all-namespaces'), true);
    assert.equal(await may('create', 'serviceaccounts', '--subresource=token', '--namespace=apart'), false);
    assert.equal(await may('create', 'pods', '--subresource=exec', '--namespace=apart'), false);
    for (const [verb, resource] of [
      ['escalate', 'roles'],
      ['bind', 'clusterroles'],
      ['create', 'clusterroles'],
      ['impersonate', 'serviceaccounts'],
      ['patch', 'sites.skupper.io'],
      ['delete', 'nodes'],
    ] as const) {
      assert.equal(await may(verb, resource, '--namespace=apart'), false, `${verb} ${resource}`);
    }
  });

  it('keeps one namespace where it is installed for one, and leaves every other alone', async () => {
    await helm(
      [
        'upgrade',
        '--install',
        'alone',
        CHART,
        '--namespace',
        'alone',
        '--create-namespace',
        '--wait',
        '--timeout',
        '120s',
        '--kubeconfig',
        cluster.kubeconfig,
      ],
      { exposure: { enabled: false }, connection: { enabled: true, scope: 'namespace', replicas: 1 } },
    );
    const alone = new Namespace(cluster, 'alone');
    await alone.create(skupper('Site', 'alone'));
    await untilKept(alone, 'alone', 'alone/skupper-controller');
    assert.equal(await keeperOf(apart, 'apart'), `${SYSTEM}/skupper-controller`);
    const account = '--as=system:serviceaccount:alone:skupper-controller';
    await kubectl('auth', 'can-i', 'list', 'secrets', '--namespace=alone', account);
    await assert.rejects(kubectl('auth', 'can-i', 'list', 'secrets', '--namespace=apart', account));
    await assert.rejects(kubectl('auth', 'can-i', 'get', 'customresourcedefinitions', account));
  });

  it('needed no right that it does not have', () => {
    const refusals = readFileSync(cluster.auditLog, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"code":403') && line.includes(':skupper-controller"'))
      .filter((line) => !line.includes('selfsubject') && !line.includes('"impersonatedUser"'))
      .map((line) => JSON.parse(line) as { verb: string; requestURI: string; responseStatus: { message: string } })
      .map(({ verb, requestURI, responseStatus }) => `${verb} ${requestURI}: ${responseStatus.message}`);
    assert.deepEqual(refusals, []);
  });

  it('goes without anything of a site being lost', async () => {
    await installEarshot(cluster, { values: { connection: { enabled: false } } });
    assert.equal(await cluster.api.find(DEPLOYMENT), undefined);
    assert.equal(await may('list', 'secrets', '--all-namespaces'), false);
    assert.notEqual(await apart.get(SKUPPER, 'Site', 'apart'), undefined);
    assert.equal((await definitions('skupper.io')).length, DEFINITIONS);
  });
});
