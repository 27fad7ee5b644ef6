import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ListenerClassSpec, ListenerIngress, PreferredAddressType } from '../../src/api/listeners/index.ts';
import type { Service } from '../../src/kube/objects.ts';
import { connectCluster, eventually, startMetalLB, type LoadBalancers, type NodeAddress } from '../harness/index.ts';
import { answerFromOutside } from './support/clients.ts';
import { poolOf } from './support/load-balancer-pool.ts';
import { byListener, claim, pod, webServer } from './support/manifests.ts';
import { conditionOf, openNamespace, type Namespace, type RunningPod } from './support/namespace.ts';
import { expectedTree } from './support/tree.ts';

const PORT = 8080;
const LOAD_BALANCER_CLASS = 'metallb.example/pool';

interface Row {
  readonly serviceType: ListenerClassSpec['serviceType'];
  readonly preferred: PreferredAddressType;
  readonly addressType: ListenerIngress['addressType'];
}

const rows: readonly Row[] = [
  { serviceType: 'NodePort', preferred: 'HostnameConservative', addressType: 'IP' },
  { serviceType: 'NodePort', preferred: 'IP', addressType: 'IP' },
  { serviceType: 'NodePort', preferred: 'Hostname', addressType: 'Hostname' },
  { serviceType: 'ClusterIP', preferred: 'HostnameConservative', addressType: 'Hostname' },
  { serviceType: 'ClusterIP', preferred: 'IP', addressType: 'IP' },
  { serviceType: 'ClusterIP', preferred: 'Hostname', addressType: 'Hostname' },
  // This load balancer knows no host names, so every preference ends at its IP.
  { serviceType: 'LoadBalancer', preferred: 'HostnameConservative', addressType: 'IP' },
  { serviceType: 'LoadBalancer', preferred: 'IP', addressType: 'IP' },
  { serviceType: 'LoadBalancer', preferred: 'Hostname', addressType: 'IP' },
];

describe('addresses of each service type with each preference', { timeout: 400_000 }, () => {
  const cluster = connectCluster();
  let balancer: LoadBalancers;
  let namespace: Namespace;
  /** Serves all nine Listeners. */
  let server: RunningPod;

  before(async () => {
    [balancer, namespace] = await Promise.all([
      startMetalLB(cluster, { addresses: [poolOf(cluster)], loadBalancerClass: LOAD_BALANCER_CLASS }),
      openNamespace(cluster, 'addresses'),
    ]);
    for (const { name, addresses } of cluster.nodes) {
      await cluster.setNodeAddresses(name, [...internal(addresses), { type: 'Hostname', address: hostnameOf(name) }]);
    }
    for (const row of rows) {
      const { serviceType, preferred: preferredAddressType } = row;
      const forBalancer = serviceType === 'LoadBalancer' ? { loadBalancerClass: LOAD_BALANCER_CLASS } : {};
      const className = await namespace.class(nameOf(row), { serviceType, preferredAddressType, ...forBalancer });
      await namespace.listener(nameOf(row), { className, ports: [{ name: 'http', port: PORT }] });
      await namespace.create(claim(nameOf(row), byListener(nameOf(row))));
    }
    const volumes = Object.fromEntries(rows.map((row) => [nameOf(row), nameOf(row)]));
    await namespace.create(pod('server', { volumes, script: webServer(PORT) }), pod('client'));
    const [first] = await namespace.running('server', 'client');
    assert.ok(first);
    server = first;
  });
  after(async () => {
    for (const { name, addresses } of cluster.nodes)
      await cluster.setNodeAddresses(name, [...internal(addresses), { type: 'Hostname', address: name }]);
    await namespace?.[Symbol.asyncDispose]();
    await balancer?.stop();
    await cluster.api.close();
  });

  for (const row of rows) {
    const { serviceType, preferred, addressType } = row;
    it(`${serviceType}, preferring ${preferred}: status and files name the ${addressType} at which the pod answers`, async () => {
      const name = nameOf(row);
      const listener = await namespace.ready(name);
      const { metadata, status } = listener;
      const service = await namespace.service(name);
      const isNodePort = serviceType === 'NodePort';
      const port = (isNodePort ? service.spec?.ports?.[0]?.nodePort : PORT) ?? 0;

      assert.equal(service.spec?.type, serviceType);
      assert.equal(status?.serviceName, name);
      assert.deepEqual(status?.ingressAddresses, [{ address: expectedAddress(row, service), addressType, ports: { http: port } }]);
      assert.deepEqual(status?.nodePorts, isNodePort ? { http: port } : undefined);
      assert.equal(status?.observedGeneration, metadata.generation);
      assert.equal(conditionOf(listener, 'Accepted')?.reason, 'Accepted');
      assert.equal(conditionOf(listener, 'Ready')?.reason, 'AddressesAssigned');

      const entry = (await namespace.podListeners('server')).spec.listeners[name];
      assert.equal(entry?.scope, isNodePort ? 'Node' : 'Cluster');
      assert.deepEqual(entry?.ingressAddresses, status?.ingressAddresses);
      assert.deepEqual(await namespace.tree('server', name), expectedTree(entry?.ingressAddresses ?? []));

      assert.equal(await answer(row, expectedAddress(row, service), port), 'server');
    });
  }

  function expectedAddress({ serviceType, addressType }: Row, service: Service): string {
    const { metadata, spec, status } = service;
    switch (serviceType) {
      case 'NodePort': {
        const node = cluster.nodes.find(({ name }) => name === server.spec.nodeName);
        return addressType === 'IP' ? (node?.addresses[0] ?? '') : hostnameOf(server.spec.nodeName);
      }
      case 'LoadBalancer':
        return status?.loadBalancer?.ingress?.[0]?.ip ?? '';
      default:
        return addressType === 'IP' ? (spec?.clusterIP ?? '') : `${metadata.name}.${namespace.name}.svc.cluster.local`;
    }
  }

  /** Cluster-internal addresses answer in the cluster only. */
  async function answer({ serviceType }: Row, address: string, port: number): Promise<string> {
    if (serviceType !== 'ClusterIP') return answerFromOutside(cluster, address, port);
    return eventually(`${address} to answer in a pod`, async () =>
      (await namespace.exec('client', ['timeout', '3', 'wget', '-q', '-O', '-', `http://${address}:${port}/`])).trim(),
    );
  }
});

function internal(addresses: readonly string[]): readonly NodeAddress[] {
  return addresses.map((address) => ({ type: 'InternalIP', address }));
}

function nameOf({ serviceType, preferred }: Row): string {
  return `${serviceType}-${preferred}`.toLowerCase();
}

/** What the test makes the node's Hostname: a name that resolves outside the cluster as well. */
function hostnameOf(node: string): string {
  return `${node}.example.test`;
}
