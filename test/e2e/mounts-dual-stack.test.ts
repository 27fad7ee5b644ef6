import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ListenerIngress } from '../../src/api/listeners/index.ts';
import type { Node } from '../../src/kube/objects.ts';
import { startCluster, stopCluster, type Cluster, type NodeAddress } from '../harness/index.ts';
import { installEarshot } from '../harness/install.ts';
import { answerFromOutside } from './support/clients.ts';
import { byListener, claim, pod } from './support/manifests.ts';
import { openNamespace, type Namespace, type RunningPod } from './support/namespace.ts';
import { becomesTree, expectedTree } from './support/tree.ts';

const NAME = 'dual-stack-test';
const PORT = 8080;
const IPV6_EXTERNAL = '2001:db8::77';

/** `httpd` of busybox takes one family; on `::` the kernel gives it both. */
const script = `mkdir -p /tmp/www; hostname > /tmp/www/index.html; exec httpd -f -p '[::]:${PORT}' -h /tmp/www`;

describe('on a cluster of two IP families', { timeout: 580_000 }, () => {
  let cluster: Cluster;
  let namespace: Namespace;
  let server: RunningPod;
  /** Of the only node. */
  let own: readonly string[];
  const rows = [
    { name: 'both', serviceOverrides: { spec: { ipFamilyPolicy: 'PreferDualStack' } }, families: ['IPv4', 'IPv6'] },
    {
      name: 'six-first',
      serviceOverrides: { spec: { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6', 'IPv4'] } },
      families: ['IPv6', 'IPv4'],
    },
    { name: 'six-only', serviceOverrides: { spec: { ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv6'] } }, families: ['IPv6'] },
    { name: 'default', serviceOverrides: {}, families: ['IPv4'] },
  ] as const;

  before(async () => {
    await stopCluster(NAME);
    cluster = await startCluster({ name: NAME, nodes: 1, dualStack: true });
    await installEarshot(cluster, { values: { controller: { replicas: 1 } } });
    namespace = await openNamespace(cluster, 'dual');
    for (const { name, serviceOverrides } of rows) {
      for (const serviceType of ['NodePort', 'ClusterIP'] as const) {
        const full = `${name}-${serviceType.toLowerCase()}`;
        const className = await namespace.class(full, { serviceType, serviceOverrides, preferredAddressType: 'IP' });
        await namespace.listener(full, { className, ports: [{ name: 'http', port: PORT }] });
        await namespace.create(claim(full, byListener(full)));
      }
    }
    const names = rows.flatMap(({ name }) => [`${name}-nodeport`, `${name}-clusterip`]);
    await namespace.create(pod('server', { volumes: Object.fromEntries(names.map((name) => [name, name])), script }));
    const [first] = await namespace.running('server');
    assert.ok(first);
    server = first;
    // As Kubernetes spells them.
    const node = await cluster.api.get<Node>(`/api/v1/nodes/${server.spec.nodeName}`);
    own = (node.status?.addresses ?? []).filter(({ type }) => type === 'InternalIP').map(({ address }) => address);
  });
  after(() => cluster?.[Symbol.asyncDispose]());

  for (const { name, families } of rows) {
    it(`a Service with node ports of ${families.join(' and ')} is reached at the node's addresses of these, in this order`, async () => {
      const { status } = await namespace.ready(`${name}-nodeport`);
      const expected = families.map((family) => own.find((address) => address.includes(':') === (family === 'IPv6')));
      assert.deepEqual(addressesOf(status?.ingressAddresses), expected);
      assert.deepEqual(await namespace.tree('server', `${name}-nodeport`), expectedTree(status?.ingressAddresses ?? []));
      for (const { address, ports } of status?.ingressAddresses ?? []) {
        assert.equal(await answerFromOutside(cluster, address, ports['http'] ?? 0), server.metadata.name);
      }
    });

    it(`a Service inside the cluster of ${families.join(' and ')} is reached at its cluster IPs, in this order`, async () => {
      const { status } = await namespace.ready(`${name}-clusterip`);
      const { spec } = await namespace.service(`${name}-clusterip`);
      assert.deepEqual(spec?.ipFamilies, families);
      assert.deepEqual(addressesOf(status?.ingressAddresses), spec?.clusterIPs);
      assert.deepEqual(await namespace.tree('server', `${name}-clusterip`), expectedTree(status?.ingressAddresses ?? []));
    });
  }

  it('a new external IPv6 address of the node takes the place of its internal one, and leaves IPv4 as it is', async () => {
    const [node] = cluster.nodes;
    const internal = own.map((address): NodeAddress => ({ type: 'InternalIP', address }));
    await cluster.setNodeAddresses(node?.name ?? '', [...internal, { type: 'ExternalIP', address: IPV6_EXTERNAL }]);
    const wanted = [own.find((address) => !address.includes(':')), IPV6_EXTERNAL];
    const { status } = await namespace.untilListener(
      'both-nodeport',
      `to be at ${wanted.join()}`,
      (listener) => addressesOf(listener.status?.ingressAddresses).join() === wanted.join(),
    );
    await becomesTree(() => namespace.tree('server', 'both-nodeport'), status?.ingressAddresses ?? []);
    await namespace.untilFile('server', 'six-only-nodeport', 'default-address/address', IPV6_EXTERNAL);
    assert.equal(await answerFromOutside(cluster, IPV6_EXTERNAL, status?.nodePorts?.['http'] ?? 0), 'server');
  });
});

function addressesOf(ingress: readonly ListenerIngress[] | null | undefined): readonly string[] {
  return (ingress ?? []).map(({ address }) => address);
}
