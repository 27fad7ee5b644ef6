import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  clusterAddresses,
  loadBalancerAddresses,
  nodeAddresses,
  preferenceOf,
  preferredKind,
  publicPorts,
} from '../../../../src/exposure/listeners/addresses.ts';
import { aClass, aListener, aNode, aService } from './fixtures.ts';

const internal4 = { type: 'InternalIP', address: '10.0.0.1' };
const internal6 = { type: 'InternalIP', address: 'fd00::1' };
const external4 = { type: 'ExternalIP', address: '203.0.113.1' };
const hostname = { type: 'Hostname', address: 'n1.example' };

for (const [serviceType, kind] of [
  ['NodePort', 'IP'],
  ['LoadBalancer', 'Hostname'],
  ['ClusterIP', 'Hostname'],
] as const) {
  test(`HostnameConservative means ${kind} for ${serviceType}`, () => {
    assert.equal(preferredKind('HostnameConservative', serviceType), kind);
    assert.equal(preferredKind('IP', serviceType), 'IP');
    assert.equal(preferredKind('Hostname', serviceType), 'Hostname');
  });
}

for (const [name, listenerClass, addressType, expected] of [
  ["the class's word", aClass({ serviceType: 'NodePort', preferredAddressType: 'IP' }), 'Hostname', 'IP'],
  ['conservative where the class says nothing', aClass({ serviceType: 'NodePort' }), 'Hostname', 'HostnameConservative'],
  ['what the Listener has, while the class is gone', undefined, 'IP', 'IP'],
  ['conservative, before there is any address', undefined, undefined, 'HostnameConservative'],
] as const) {
  test(`the preference is ${name}`, () => {
    const ingressAddresses = addressType === undefined ? [] : [{ address: 'x', addressType, ports: {} }];
    assert.equal(preferenceOf({ ...aListener(), status: { ingressAddresses } }, listenerClass), expected);
  });
}

for (const [name, addresses, preferred, families, expected] of [
  ['an external IP comes instead of an internal one', [internal4, external4], 'IP', ['IPv4'], ['203.0.113.1']],
  ['an internal IP is used where there is no external one', [internal4, hostname], 'IP', ['IPv4'], ['10.0.0.1']],
  ['a single-stack Service does not answer on the other family', [internal6, internal4], 'IP', ['IPv4'], ['10.0.0.1']],
  ['both families are listed, in the order of the Service', [internal4, internal6], 'IP', ['IPv6', 'IPv4'], ['fd00::1', '10.0.0.1']],
  ['each family ranks its own addresses', [internal4, internal6, external4], 'IP', ['IPv4', 'IPv6'], ['203.0.113.1', 'fd00::1']],
  ['a hostname is used where it is preferred', [internal4, hostname], 'Hostname', ['IPv4'], ['n1.example']],
  ['an IP stands in for a missing hostname', [internal4], 'Hostname', ['IPv4'], ['10.0.0.1']],
  ['a hostname stands in for a missing IP', [hostname], 'IP', ['IPv4'], ['n1.example']],
  [
    'all external IPs of a node are listed',
    [external4, { type: 'ExternalIP', address: '203.0.113.2' }],
    'IP',
    ['IPv4'],
    ['203.0.113.1', '203.0.113.2'],
  ],
  [
    'what is no host name is not announced',
    [internal4, { type: 'Hostname', address: '../../etc' }, { type: 'Hostname', address: 'a b' }],
    'Hostname',
    ['IPv4'],
    ['10.0.0.1'],
  ],
  ['what is no IP address is not announced', [{ type: 'ExternalIP', address: '../../etc' }, internal4], 'IP', ['IPv4'], ['10.0.0.1']],
  ...['0.0.0.0', '127.0.0.1', '127.1.2.3', '169.254.10.20', '224.0.0.1', '::', '::1', 'fe80::1', 'ff02::1', '::ffff:127.0.0.1'].map(
    (address) =>
      [
        `${address} leads no other machine to the node`,
        [{ type: 'ExternalIP', address }, internal4, internal6],
        'IP',
        ['IPv4', 'IPv6'],
        ['10.0.0.1', 'fd00::1'],
      ] as const,
  ),
  ...['localhost', 'LOCALHOST', 'localhost.', 'localhost.localdomain', 'n1.localhost'].map(
    (address) =>
      [
        `${address} leads no other machine to the node`,
        [{ type: 'Hostname', address }, internal4],
        'Hostname',
        ['IPv4'],
        ['10.0.0.1'],
      ] as const,
  ),
  ['an empty address is no address', [{ type: 'ExternalIP', address: '' }, internal4], 'IP', ['IPv4'], ['10.0.0.1']],
] as const) {
  test(`node addresses: ${name}`, () => {
    assert.deepEqual(
      nodeAddresses(aNode('n1', addresses), preferred, families).map(({ address }) => address),
      expected,
    );
  });
}

for (const [name, ingress, preferred, expected] of [
  ['a hostname where preferred', [{ ip: '198.51.100.1', hostname: 'lb.example' }], 'Hostname', ['lb.example']],
  ['an IP where preferred', [{ ip: '198.51.100.1', hostname: 'lb.example' }], 'IP', ['198.51.100.1']],
  ['the other kind where the preferred one is absent', [{ hostname: 'lb.example' }], 'IP', ['lb.example']],
  ['every entry', [{ ip: '198.51.100.1' }, { ip: '198.51.100.2' }], 'Hostname', ['198.51.100.1', '198.51.100.2']],
  ['an address once', [{ ip: '198.51.100.1' }, { ip: '198.51.100.1' }], 'IP', ['198.51.100.1']],
  ['nothing for an empty answer', [{}], 'IP', []],
] as const) {
  test(`load balancer addresses: ${name}`, () => {
    const service = aService({ type: 'LoadBalancer' }, ingress);
    assert.deepEqual(
      loadBalancerAddresses(service, preferred).map(({ address }) => address),
      expected,
    );
  });
}

test('cluster addresses: the name by default, every cluster IP where IPs are preferred', () => {
  const service = aService({ clusterIPs: ['10.96.0.7', 'fd01::7'] });
  assert.deepEqual(clusterAddresses(service, 'Hostname', 'corp.local'), [{ address: 'web.shop.svc.corp.local', addressType: 'Hostname' }]);
  assert.deepEqual(clusterAddresses(service, 'IP', 'corp.local'), [
    { address: '10.96.0.7', addressType: 'IP' },
    { address: 'fd01::7', addressType: 'IP' },
  ]);
});

test('cluster addresses: a headless Service has only its name', () => {
  const service = aService({ clusterIP: 'None', clusterIPs: ['None'] });
  assert.deepEqual(
    clusterAddresses(service, 'IP', 'cluster.local').map(({ address }) => address),
    ['web.shop.svc.cluster.local'],
  );
});

test('public ports leave out what has no name or no number yet', () => {
  const service = aService({
    ports: [
      { name: 'a', port: 1, nodePort: 30001 },
      { port: 2, nodePort: 30002 },
      { name: 'c', port: 3 },
    ],
  });
  assert.deepEqual(publicPorts(service, 'node'), { a: 30001 });
  assert.deepEqual(publicPorts(service, 'service'), { a: 1, c: 3 });
});
