import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observeListener, sameStatus, type Acceptance, type Surroundings } from '../../../../src/exposure/listeners/listener-status.ts';
import type { Node } from '../../../../src/kube/objects.ts';
import type { ListenerStatus } from '../../../../src/api/listeners/index.ts';
import { aListener, aNode, aService } from './fixtures.ts';

const accepted: Acceptance = { accepted: true, notices: [] };
const now = '2026-01-02T03:04:05Z';
const nodePort = aService({ type: 'NodePort', ports: [{ name: 'http', port: 8080, nodePort: 30080 }] });

function around(changes: Partial<Surroundings> & { nodes?: readonly Node[] } = {}): Surroundings {
  const { nodes = [], ...rest } = changes;
  return {
    service: nodePort,
    preferredAddressType: 'HostnameConservative',
    pinnedNodes: new Set(),
    endpointNodes: new Set(),
    unreadyPods: [],
    nodeNamed: (name) => nodes.find((node) => node.metadata.name === name),
    clusterDomain: 'cluster.local',
    ...rest,
  };
}

function condition(status: ListenerStatus, type: string): { status: string; reason: string; message: string } {
  const found = (status.conditions ?? []).find((candidate) => candidate.type === type);
  assert.ok(found, `no condition ${type}`);
  return found;
}

const n1 = aNode('n1', [{ type: 'InternalIP', address: '10.0.0.1' }]);
const n2 = aNode('n2', [{ type: 'InternalIP', address: '10.0.0.2' }]);

test('a node port is reachable at the nodes of pinned volumes and of endpoints, by name', () => {
  const status = observeListener(
    aListener(),
    accepted,
    around({ pinnedNodes: new Set(['n2']), endpointNodes: new Set(['n1', 'n2']), nodes: [n1, n2] }),
    now,
  );
  assert.deepEqual(status.ingressAddresses, [
    { address: '10.0.0.1', addressType: 'IP', ports: { http: 30080 } },
    { address: '10.0.0.2', addressType: 'IP', ports: { http: 30080 } },
  ]);
  assert.deepEqual(status.nodePorts, { http: 30080 });
  assert.equal(status.serviceName, 'web');
  assert.equal(condition(status, 'Ready').reason, 'AddressesAssigned');
});

test('the message names addresses and ports, ten of each at most', () => {
  const ready = (nodes: readonly Node[], ports: readonly string[]): string => {
    const service = aService({
      type: 'NodePort',
      ports: ports.map((name, index) => ({ name, port: 8080 + index, nodePort: 30_080 + index })),
    });
    const endpointNodes = new Set(nodes.map(({ metadata }) => metadata.name ?? ''));
    return condition(observeListener(aListener(), accepted, around({ service, endpointNodes, nodes }), now), 'Ready').message;
  };
  assert.equal(ready([n1, n2], ['http', 'admin']), 'Reachable at 10.0.0.1, 10.0.0.2, admin 30081, http 30080.');
  const many = Array.from({ length: 300 }, (_, index) => aNode(`n${index}`, [{ type: 'InternalIP', address: `10.0.1.${index % 250}` }]));
  const message = ready(
    many,
    Array.from({ length: 30 }, (_, index) => `port-${index}`),
  );
  assert.match(message, /^Reachable at (10[^,]+, ){9}10\S+ and 240 more, (port-\d+ \d+, ){9}port-\d+ \d+ and 20 more\.$/);
});

test('one missing node costs its own address only, and the condition names it', () => {
  const status = observeListener(aListener(), accepted, around({ pinnedNodes: new Set(['n1', 'gone']), nodes: [n1] }), now);
  assert.deepEqual(
    status.ingressAddresses?.map(({ address }) => address),
    ['10.0.0.1'],
  );
  const ready = condition(status, 'Ready');
  assert.deepEqual([ready.status, ready.reason], ['True', 'SomeNodesMissing']);
  assert.match(ready.message, /Node gone does not exist/);
});

test('without any node left the Listener is not ready', () => {
  const status = observeListener(aListener(), accepted, around({ pinnedNodes: new Set(['gone']) }), now);
  assert.deepEqual([condition(status, 'Ready').status, condition(status, 'Ready').reason], ['False', 'NodeMissing']);
});

test('a node port without pods keeps its port numbers and says what is missing', () => {
  const status = observeListener(aListener(), accepted, around(), now);
  assert.deepEqual(status.nodePorts, { http: 30080 });
  assert.deepEqual(status.ingressAddresses, []);
  assert.equal(condition(status, 'Ready').reason, 'NoNodes');
});

test('a node port whose pods are not ready names them and what helps', () => {
  const one = condition(observeListener(aListener(), accepted, around({ unreadyPods: ['web-0'] }), now), 'Ready');
  assert.equal(one.reason, 'PodsNotReady');
  assert.match(
    one.message,
    /^Pod web-0 runs but is not ready.* when one is ready: see its readiness probe, or set publishNotReadyAddresses/,
  );
  const two = condition(observeListener(aListener(), accepted, around({ unreadyPods: ['web-0', 'web-1'] }), now), 'Ready');
  assert.match(two.message, /^Pods web-0, web-1 run but are not ready/);
  const ready = around({ unreadyPods: ['web-0'], endpointNodes: new Set(['n1']), nodes: [n1] });
  assert.equal(condition(observeListener(aListener(), accepted, ready, now), 'Ready').reason, 'AddressesAssigned');
});

test('a node port without pods names the labels that a pod must have as well', () => {
  const listener = aListener({ extraPodSelectorLabels: { role: 'leader' } });
  const { message } = condition(observeListener(listener, accepted, around(), now), 'Ready');
  assert.match(message, /a pod that mounts it and has the labels of extraPodSelectorLabels \(role=leader\) has started/);
});

test('a load balancer without an answer is pending, and has no node ports in the status', () => {
  const service = aService({ type: 'LoadBalancer', loadBalancerClass: 'fast', ports: [{ name: 'http', port: 80, nodePort: 30081 }] });
  const status = observeListener(aListener(), accepted, around({ service }), now);
  assert.equal(status.nodePorts, undefined);
  assert.equal(condition(status, 'Ready').reason, 'LoadBalancerPending');
  assert.match(condition(status, 'Ready').message, /load balancer class fast/);
});

test("a load balancer is reachable at the Service's own ports", () => {
  const service = aService({ type: 'LoadBalancer', ports: [{ name: 'http', port: 80, nodePort: 30081 }] }, [{ ip: '198.51.100.9' }]);
  const status = observeListener(aListener(), accepted, around({ service }), now);
  assert.deepEqual(status.ingressAddresses, [{ address: '198.51.100.9', addressType: 'IP', ports: { http: 80 } }]);
});

test('a Service whose type an override changed is observed as what it is', () => {
  const status = observeListener(
    aListener(),
    accepted,
    around({ service: aService({ type: 'ClusterIP', ports: [{ name: 'http', port: 80 }] }) }),
    now,
  );
  assert.deepEqual(
    status.ingressAddresses?.map(({ address }) => address),
    ['web.shop.svc.cluster.local'],
  );
});

test('a Listener that is not accepted is not ready, and keeps addresses that still answer', () => {
  const refused: Acceptance = { accepted: false, reason: 'ClassNotFound', message: 'ListenerClass x does not exist.' };
  const status = observeListener(aListener(), refused, around({ endpointNodes: new Set(['n1']), nodes: [n1] }), now);
  assert.deepEqual(
    status.ingressAddresses?.map(({ address }) => address),
    ['10.0.0.1'],
  );
  assert.deepEqual([condition(status, 'Accepted').status, condition(status, 'Accepted').reason], ['False', 'ClassNotFound']);
  assert.deepEqual([condition(status, 'Ready').status, condition(status, 'Ready').reason], ['False', 'NotAccepted']);
});

test('an obstacle is the reason for not being ready', () => {
  const obstacle = { reason: 'ServiceNotOwned', message: 'Service shop/web exists.' } as const;
  const status = observeListener(aListener(), accepted, around({ service: undefined, obstacle }), now);
  assert.equal(condition(status, 'Ready').reason, 'ServiceNotOwned');
  assert.deepEqual(status.ingressAddresses, []);
});

test('notices are in the Accepted condition', () => {
  const status = observeListener(aListener(), { accepted: true, notices: ['spec.x: ignored'] }, around(), now);
  assert.deepEqual([condition(status, 'Accepted').reason, condition(status, 'Accepted').message], ['AcceptedWithNotes', 'spec.x: ignored']);
});

test('the transition time moves only when the status of a condition does', () => {
  const first = observeListener(aListener(), accepted, around(), now);
  const later = '2026-01-02T04:00:00Z';
  const same = observeListener({ ...aListener(), status: first }, accepted, around(), later);
  assert.ok(sameStatus(first, same));
  assert.deepEqual(
    (same.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime),
    [now, now],
  );
  const ready = observeListener(
    { ...aListener(), status: first },
    accepted,
    around({ endpointNodes: new Set(['n1']), nodes: [n1] }),
    later,
  );
  assert.ok(!sameStatus(first, ready));
  assert.deepEqual(
    (ready.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime),
    [now, later],
  );
});

test('a condition of someone else stays', () => {
  const theirs = { type: 'Audited', status: 'True' as const, reason: 'Yes', message: '', lastTransitionTime: now };
  const status = observeListener({ ...aListener(), status: { conditions: [theirs] } }, accepted, around(), now);
  assert.deepEqual(
    (status.conditions ?? []).find(({ type }) => type === 'Audited'),
    theirs,
  );
});

test('text from elsewhere stays on one line and within bounds', () => {
  const status = observeListener(
    aListener(),
    { accepted: false, reason: 'ServiceRejected', message: `a\nb\u001B[31m${'x'.repeat(5000)}` },
    around(),
    now,
  );
  const { message } = condition(status, 'Accepted');
  assert.ok(message.length <= 1024);
  assert.match(message, /^a b\\u\{1b\}\[31m/);
});

const lb = (spec: object, ingress: readonly object[]): NonNullable<Surroundings['service']> => {
  const ports = [
    { name: 'http', port: 80, protocol: 'TCP' },
    { name: 'dns', port: 53, protocol: 'UDP' },
  ];
  return { ...aService({ type: 'LoadBalancer', ports, ...spec }), status: { loadBalancer: { ingress } } };
};
const observed = (service: Surroundings['service']): ListenerStatus => observeListener(aListener(), accepted, around({ service }), now);

test('addresses that an override adds are announced last, at the ports of the Service, and count without a load balancer', () => {
  const ports = { http: 80, dns: 53 };
  const added = { address: '198.51.100.7', addressType: 'IP', ports };
  const external = { externalIPs: ['198.51.100.7', '127.0.0.1', 'nonsense'] };
  const balanced = observed(lb(external, [{ ip: '192.0.2.1' }]));
  assert.deepEqual(balanced.ingressAddresses, [{ address: '192.0.2.1', addressType: 'IP', ports }, added]);
  const pending = observed(lb(external, []));
  assert.deepEqual([pending.ingressAddresses, condition(pending, 'Ready').status], [[added], 'True']);
  const spec = { type: 'NodePort', ports: [{ name: 'http', port: 8080, nodePort: 30_080 }], externalIPs: ['198.51.100.7'] };
  const nodes = around({ service: aService(spec), endpointNodes: new Set(['n1']), nodes: [n1] });
  assert.deepEqual(observeListener(aListener(), accepted, nodes, now).ingressAddresses?.at(-1)?.ports, { http: 8080 });
});

test('a port error of the load balancer is reported, and an address whose ports all have one is omitted', () => {
  const failed = { port: 53, protocol: 'UDP', error: 'MixedProtocolNotSupported' };
  const one = observed(lb({}, [{ ip: '192.0.2.1', ports: [{ port: 80, protocol: 'TCP' }, failed] }]));
  assert.deepEqual(
    one.ingressAddresses?.map(({ address }) => address),
    ['192.0.2.1'],
  );
  assert.match(condition(one, 'Ready').message, /The load balancer reports: MixedProtocolNotSupported for port 53\/UDP at 192\.0\.2\.1\.$/);
  const all = observed(lb({}, [{ ip: '192.0.2.1', ports: [{ port: 80, protocol: 'TCP', error: 'example.com/NoQuota' }, failed] }]));
  assert.deepEqual(all.ingressAddresses, []);
  assert.equal(condition(all, 'Ready').reason, 'LoadBalancerPending');
  assert.match(condition(all, 'Ready').message, /example\.com\/NoQuota for port 80\/TCP/);
});
