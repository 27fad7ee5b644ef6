import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listeners } from '../../../../src/api/listeners/index.ts';
import { earlyTlsRoutes, gateways, httpProxies, routes, tlsRoutes } from '../../../../src/site-controller/access/kinds.ts';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import { anAccess, marks, problems, seen, told, obsolete, desired, desiredObject, type Given } from './support.ts';

const service = (type: string, more: object = {}, status: object = {}): KubeObject =>
  ({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'a', uid: 's', ...marks }, spec: { type, ...more }, status }) as KubeObject;
const balancer = (...ingress: readonly object[]): KubeObject => service('LoadBalancer', {}, { loadBalancer: { ingress } });
const ports = [
  { name: 'inter-router', port: 55_671, nodePort: 30_671 },
  { name: 'edge', port: 45_671, nodePort: 30_045 },
];
const route = (port: string, ...hosts: readonly string[]): KubeObject =>
  ({
    apiVersion: 'route.openshift.io/v1',
    kind: 'Route',
    metadata: { name: `a-${port}`, ...marks },
    status: { ingress: hosts.map((host) => ({ host })) },
  }) as KubeObject;
const ingress = (...list: readonly object[]): KubeObject =>
  ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'a', ...marks },
    status: { loadBalancer: { ingress: list } },
  }) as KubeObject;
const gateway = (...addresses: readonly object[]): KubeObject =>
  ({
    apiVersion: 'gateway.networking.k8s.io/v1',
    kind: 'Gateway',
    metadata: { name: 'skupper', namespace: 'skupper', ...marks },
    status: { addresses },
  }) as KubeObject;
const listener = (status: object): KubeObject =>
  ({
    apiVersion: 'listeners.stackable.tech/v1alpha1',
    kind: 'Listener',
    metadata: {
      name: 'a',
      annotations: marks.annotations,
      ownerReferences: [{ apiVersion: '', kind: 'SecuredAccess', name: 'a', uid: 'sa-a' }],
    },
    spec: {},
    status,
  }) as KubeObject;
const byNumbers = { 'inter-router': 30_671, edge: 30_045 };
const gatewayFlags = { gatewayClass: 'contour', gatewayDomain: 'gw.example' };

describe('a SecuredAccess', () => {
  for (const [type, settings, given, objects, endpoints] of [
    ['local', {}, {}, ['Service a'], ['inter-router a.west:55671', 'edge a.west:45671']],
    ['loadbalancer', {}, {}, ['Service a'], []],
    ['loadbalancer', {}, { there: [balancer()] }, ['Service a'], []],
    [
      'loadbalancer',
      {},
      { there: [balancer({ ip: '192.0.2.1' }, { ip: '2001:db8::1' })] },
      ['Service a'],
      ['inter-router 192.0.2.1:55671', 'edge 192.0.2.1:45671', 'inter-router 2001:db8::1:55671', 'edge 2001:db8::1:45671'],
    ],
    [
      'loadbalancer',
      {},
      { there: [balancer({ hostname: 'lb.example' })] },
      ['Service a'],
      ['inter-router lb.example:55671', 'edge lb.example:45671'],
    ],
    [
      'loadbalancer',
      {},
      { there: [balancer({ ip: '192.0.2.1', hostname: 'lb.example' }, { ip: '192.0.2.1' }, { hostname: 'no host' })] },
      ['Service a'],
      ['inter-router 192.0.2.1:55671', 'edge 192.0.2.1:45671'],
    ],
    [
      'nodeport',
      {},
      { there: [service('NodePort', { ports })], access: { clusterHost: 'n.example' } },
      ['Service a'],
      ['inter-router n.example:30671', 'edge n.example:30045'],
    ],
    ['nodeport', {}, { there: [service('ClusterIP', { ports })], access: { clusterHost: 'n.example' } }, ['Service a'], []],
    ['route', {}, {}, ['Service a', 'Route a-inter-router', 'Route a-edge'], []],
    [
      'route',
      { domain: 'apps.example' },
      { there: [route('inter-router', 'x.example', 'y.example'), route('edge', 'e.example', '')] },
      ['Service a', 'Route a-inter-router', 'Route a-edge'],
      ['inter-router x.example:443', 'inter-router y.example:443', 'edge e.example:443'],
    ],
    ['ingress', {}, {}, ['Service a', 'Ingress a'], []],
    [
      'ingress',
      {},
      { access: { ingressDomain: 'in.example' } },
      ['Service a', 'Ingress a'],
      ['inter-router inter-router.west.in.example:443', 'edge edge.west.in.example:443'],
    ],
    [
      'ingress-nginx',
      {},
      { there: [ingress({ ip: '192.0.2.7' })] },
      ['Service a', 'Ingress a'],
      ['inter-router inter-router.west.192.0.2.7.nip.io:443', 'edge edge.west.192.0.2.7.nip.io:443'],
    ],
    [
      'ingress',
      {},
      { there: [ingress({ ip: '192.0.2.7' }, { hostname: 'lb.example' })] },
      ['Service a', 'Ingress a'],
      ['inter-router inter-router.west.lb.example:443', 'edge edge.west.lb.example:443'],
    ],
    ['ingress', {}, { there: [ingress({ ip: '2001:db8::1' })] }, ['Service a', 'Ingress a'], []],
    [
      'contour-http-proxy',
      {},
      { access: { httpProxyDomain: 'p.example' } },
      ['Service a', 'HTTPProxy a-inter-router', 'HTTPProxy a-edge'],
      ['inter-router a-inter-router.west.p.example:443', 'edge a-edge.west.p.example:443'],
    ],
    [
      'gateway',
      {},
      { access: gatewayFlags },
      ['Service a', 'Gateway skupper', 'TLSRoute a-inter-router', 'TLSRoute a-edge'],
      ['inter-router a-inter-router.west.gw.example:8443', 'edge a-edge.west.gw.example:8443'],
    ],
    ['gateway', {}, { access: { gatewayClass: 'contour' } }, ['Service a', 'Gateway skupper'], []],
    [
      'gateway',
      {},
      { access: { gatewayClass: 'contour', gatewayPort: 443 }, elsewhere: [gateway({ type: 'IPAddress', value: '192.0.2.8' })] },
      ['Service a', 'Gateway skupper', 'TLSRoute a-inter-router', 'TLSRoute a-edge'],
      ['inter-router a-inter-router.west.192.0.2.8.nip.io:443', 'edge a-edge.west.192.0.2.8.nip.io:443'],
    ],
    ['listenerclass:outside', {}, {}, ['Listener a'], []],
    [
      'listenerclass:outside',
      {},
      {
        there: [
          listener({
            ingressAddresses: [
              { address: '192.0.2.1', addressType: 'IP', ports: byNumbers },
              { address: '2001:db8::1', addressType: 'IP', ports: { edge: 30_045 } },
              { address: 'no host', addressType: 'Hostname', ports: byNumbers },
            ],
          }),
        ],
      },
      ['Listener a'],
      ['inter-router 192.0.2.1:30671', 'edge 192.0.2.1:30045', 'edge 2001:db8::1:30045'],
    ],
  ] as readonly (readonly [string, Record<string, string>, Given, readonly string[], readonly string[]])[]) {
    const around = JSON.stringify([settings, given.access ?? {}, given.there?.map((each) => (each as { status?: unknown }).status) ?? []]);
    test(`of type ${type} with ${around} is ${objects.join(', ')}, and reached at ${endpoints.join(', ') || 'nothing yet'}`, () => {
      const view = seen([anAccess(type, { settings })], given);
      assert.deepEqual([desired(view), told(view), problems(view)], [objects, endpoints, []]);
    });
  }

  test('has a Service of the names and ports that it says, by which it is known', () => {
    const access = anAccess('nodeport', { ports: [{ name: 'dns', port: 53, targetPort: 5353, protocol: 'UDP' }] });
    const { metadata, spec } = desiredObject(seen([access], { access: { clusterHost: 'n.example' } }), 'Service');
    const owner = { apiVersion: 'skupper.io/v2alpha1', kind: 'SecuredAccess', name: 'a', uid: 'sa-a' };
    assert.deepEqual(metadata, { name: 'a', ...marks, ownerReferences: [owner] });
    const port = { name: 'dns', port: 53, targetPort: 5353, protocol: 'UDP' };
    assert.deepEqual(spec, { type: 'NodePort', ipFamilyPolicy: 'PreferDualStack', selector: { app: 'router' }, ports: [port] });
  });

  test('has Routes that open nothing of what passes, with a host of its own where a domain is set', () => {
    const spec = { to: { kind: 'Service', name: 'a', weight: 100 }, port: { targetPort: 'edge' }, tls: { termination: 'passthrough' } };
    assert.deepEqual(desiredObject(seen([anAccess('route')]), 'Route', 'a-edge').spec, spec);
    const named = desiredObject(seen([anAccess('route', { settings: { domain: 'apps.example' } })]), 'Route', 'a-edge').spec;
    assert.deepEqual(named, { host: 'a-edge.west.apps.example', ...spec });
  });

  for (const [type, ofAccess, flag, className] of [
    ['ingress', undefined, '', undefined],
    ['ingress-nginx', undefined, '', 'nginx'],
    ['ingress-nginx', undefined, 'public', 'public'],
    ['ingress', 'own', 'public', 'own'],
    ['ingress', '', 'public', 'public'],
  ] as const) {
    test(`of type ${type} has the Ingress class ${className} where it says ${ofAccess} and the flag "${flag}"`, () => {
      const access = anAccess(type, ofAccess === undefined ? {} : { settings: { ingressClassName: ofAccess } });
      const object = desiredObject(seen([access], { access: { ingressClassName: flag } }), 'Ingress');
      assert.equal((object.spec as { ingressClassName?: string }).ingressClassName, className);
      assert.equal(object.metadata.annotations?.['nginx.ingress.kubernetes.io/ssl-passthrough'], type === 'ingress' ? undefined : 'true');
    });
  }

  test('shares the Gateway of the controller with all namespaces, each by hosts that say its own', () => {
    const view = seen([anAccess('gateway')], { access: gatewayFlags });
    const { metadata, spec } = desiredObject(view, 'Gateway');
    assert.deepEqual([metadata.namespace, metadata.ownerReferences], ['skupper', undefined]);
    assert.deepEqual(spec, {
      gatewayClassName: 'contour',
      listeners: [
        { name: 'tls', port: 8443, protocol: 'TLS', tls: { mode: 'Passthrough' }, allowedRoutes: { namespaces: { from: 'All' } } },
      ],
    });
    assert.deepEqual(desiredObject(view, 'TLSRoute', 'a-edge').spec, {
      parentRefs: [{ name: 'skupper', namespace: 'skupper' }],
      hostnames: ['a-edge.west.gw.example'],
      rules: [{ backendRefs: [{ name: 'a', port: 45_671 }] }],
    });
  });

  for (const [unserved, version] of [
    [[], 'v1'],
    [[tlsRoutes], 'v1alpha2'],
  ] as const) {
    test(`has TLSRoutes of ${version} where the cluster serves ${unserved.length === 0 ? 'both versions' : 'the earlier one only'}`, () => {
      const view = seen([anAccess('gateway')], { access: gatewayFlags, unserved });
      assert.equal(desiredObject(view, 'TLSRoute').apiVersion, `gateway.networking.k8s.io/${version}`);
    });
  }

  test('has a Listener that chooses its pods by the selector, and takes none that is not ready', () => {
    const access = anAccess('listenerclass:outside', { ports: [{ name: 'edge', port: 443, targetPort: 45_671 }] });
    const { spec, metadata } = desiredObject(seen([access]), 'Listener');
    assert.deepEqual(metadata.labels, undefined);
    assert.deepEqual(spec, {
      className: 'outside',
      ports: [{ name: 'edge', port: 443, protocol: 'TCP' }],
      publishNotReadyAddresses: false,
      objectOverrides: [
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'a' },
          spec: { selector: { app: 'router' }, ports: [{ port: 443, targetPort: 45_671, protocol: 'TCP' }] },
        },
      ],
    });
  });

  test('stays where it was while no node has a router that is ready', () => {
    const endpoints = [{ name: 'edge', host: '192.0.2.1', port: '30045' }];
    const access = { ...anAccess('listenerclass:outside'), status: { endpoints } };
    const gone = seen([access], { there: [listener({ ingressAddresses: [], nodePorts: byNumbers })] });
    assert.deepEqual(told(gone), ['edge 192.0.2.1:30045']);
    const pending = seen([access], { there: [listener({ ingressAddresses: [] })] });
    assert.deepEqual(told(pending), []);
  });

  for (const [asked, flags, hasRoutes, kind] of [
    [undefined, {}, true, 'Route'],
    ['default', {}, true, 'Route'],
    ['', {}, false, 'LoadBalancer'],
    ['', { defaultType: 'local' }, true, 'ClusterIP'],
    ['', { defaultType: 'listenerclass:outside' }, true, 'Listener'],
    ['', { enabledTypes: ['local', 'loadbalancer'] }, true, 'LoadBalancer'],
    ['', { enabledTypes: ['local', 'ingress'] }, true, 'ClusterIP'],
  ] as const) {
    test(`of type ${asked} with ${JSON.stringify(flags)} ${hasRoutes ? 'and' : 'without'} Routes is a ${kind}`, () => {
      const view = seen([anAccess(asked)], { access: flags, unserved: hasRoutes ? [] : [routes] });
      const kinds = desired(view).map((each) => each.split(' ')[0]);
      if (kinds.includes('Service') && !kinds.includes('Route')) {
        assert.equal((desiredObject(view, 'Service').spec as { type: string }).type, kind);
      } else assert.ok(kinds.includes(kind), kinds.join(', '));
    });
  }

  const long = 'x'.repeat(63);
  for (const [access, given, problem] of [
    [anAccess('carrier-pigeon'), {}, 'access-type unsupported access type: "carrier-pigeon" is unknown;'],
    [anAccess('nodeport'), { access: { enabledTypes: ['local'] } }, 'access-type unsupported access type: "nodeport" is not enabled here;'],
    [anAccess('nodeport'), { access: { clusterHost: '' } }, 'access-type the host at which nodes are reachable is unknown;'],
    [anAccess(''), { access: { enabledTypes: [] } }, 'access-type unsupported access type: the controller has no types enabled;'],
    [anAccess('', {}), { access: { defaultType: 'x\u0007' } }, 'access-type unsupported access type: "x\\u0007" is unknown;'],
    [anAccess('listenerclass:'), {}, 'access-type unsupported access type: "listenerclass:" is unknown;'],
    [
      anAccess('listenerclass:x'),
      { unserved: [listeners] },
      "access-type unsupported access type: listenerclass: needs Earshot's exposure half",
    ],
    [
      anAccess('route'),
      { unserved: [routes] },
      'access-type unsupported access type: the cluster does not serve routes.route.openshift.io/v1;',
    ],
    [
      anAccess('contour-http-proxy'),
      { unserved: [httpProxies] },
      'access-type unsupported access type: the cluster does not serve httpproxies',
    ],
    [anAccess('contour-http-proxy'), {}, 'access-type the domain of HTTPProxies is unknown;'],
    [anAccess('gateway'), {}, 'access-type the class of the Gateway is unknown;'],
    [anAccess('gateway'), { unserved: [gateways] }, 'access-type unsupported access type: the cluster does not serve gateways'],
    [anAccess('gateway'), { unserved: [tlsRoutes, earlyTlsRoutes] }, 'does not serve tlsroutes.gateway.networking.k8s.io/v1 or tlsroutes'],
    [anAccess('route', { settings: { domain: 'a.example/../b' } }), {}, 'host "a-inter-router.west.a.example/../b" cannot be a host name;'],
    [anAccess('route', { settings: { domain: '*.example' } }), {}, 'host "a-inter-router.west.*.example" cannot be a host name;'],
    [anAccess('route', { settings: { domain: 'EXAMPLE' } }), {}, 'host "a-inter-router.west.EXAMPLE" cannot be a host name;'],
    [anAccess('route', { settings: { domain: 'x'.repeat(250) } }), {}, 'host "a-inter-router.west.xxx'],
    [
      anAccess('route', { settings: { domain: 'apps.example' } }, long),
      {},
      `host "${long}-inter-router.west.apps.example" cannot be a host name;`,
    ],
  ] as const) {
    test(`reports ${problem}`, () => {
      const view = seen([access], given);
      const [found, ...others] = problems(view);
      assert.ok(found?.includes(problem), found ?? 'nothing is reported');
      assert.deepEqual([others, told(view)], [[], []]);
      // Those inside the cluster still reach it.
      assert.ok(desired(view).includes(`Service ${access.metadata.name}`));
    });
  }

  test('reports why a Listener is refused, and which class cannot select pods', () => {
    const conditions = [{ type: 'Accepted', status: 'False', message: 'ListenerClass outside\u001b[2J does not exist.' }];
    const [refused] = problems(seen([anAccess('listenerclass:outside')], { there: [listener({ conditions })] }));
    assert.match(refused ?? '', /not accepted: "ListenerClass outside\\u001b\[2J does not exist\."/);
    const confinedService = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'a',
        ownerReferences: [{ apiVersion: 'listeners.stackable.tech/v1alpha1', kind: 'Listener', name: 'a', uid: 'a' }],
      },
      spec: { selector: { 'listener.stackable.tech/mnt.1': 'a' } },
    };
    const [confined] = problems(seen([anAccess('listenerclass:outside')], { there: [listener({}), confinedService as KubeObject] }));
    assert.match(confined ?? '', /objectOverridesPolicy: WithinClass/);
  });

  test("does not take over another owner's object of the name that it needs", () => {
    for (const foreign of [
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' } },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'a', annotations: marks.annotations, labels: { 'internal.skupper.io/listener': 'a' } },
      },
      { apiVersion: 'route.openshift.io/v1', kind: 'Route', metadata: { name: 'a-edge' } },
    ]) {
      const view = seen([anAccess('route')], { there: [foreign, route('inter-router', 'x.example')] });
      const name = `${foreign.kind} ${foreign.metadata.name}`;
      assert.equal(desired(view).includes(name), false);
      assert.deepEqual(obsolete(view), []);
      assert.match(
        problems(view).join(),
        new RegExp(`object-foreign ${foreign.kind} "${foreign.metadata.name}" already exists in namespace`),
      );
    }
  });

  test('that changes its type leaves nothing of ours behind, and touches nothing of others', () => {
    const others = [
      { apiVersion: 'route.openshift.io/v1', kind: 'Route', metadata: { name: 'mine' } },
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'b', labels: marks.labels } },
      { apiVersion: 'v1', kind: 'Service', metadata: { name: 'c', annotations: marks.annotations } },
    ];
    const before = [service('ClusterIP'), route('inter-router'), route('edge'), ingress(), listener({}), ...others];
    assert.deepEqual(obsolete(seen([anAccess('local')], { there: before })), [
      'Ingress a',
      'Route a-inter-router',
      'Route a-edge',
      'Listener a',
    ]);
    assert.deepEqual(obsolete(seen([anAccess('listenerclass:x')], { there: [service('LoadBalancer')] })), ['Service a']);
  });

  test('takes what it was made of with it when it goes, a Service of a former controller included', () => {
    const left = seen([], { there: [service('LoadBalancer'), route('edge')] });
    assert.deepEqual(obsolete(left), ['Service a', 'Route a-edge']);
    const ending = anAccess('local');
    const deleted = { ...ending, metadata: { ...ending.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    assert.deepEqual(desired(seen([deleted])), []);
  });

  test('has no Certificate unless it names an issuer, then for all the hosts by which it is known', () => {
    assert.ok(!desired(seen([anAccess('local')])).some((each) => each.startsWith('Certificate')));
    const view = seen([anAccess('loadbalancer', { issuer: 'ca' })], { there: [balancer({ ip: '192.0.2.1' })] });
    const { metadata, spec } = desiredObject(view, 'Certificate', 'a');
    const hosts = ['192.0.2.1', 'a', 'a.west'];
    assert.deepEqual(spec, { ca: 'ca', subject: 'a', client: false, server: true, signing: false, hosts });
    assert.equal(metadata.annotations?.['internal.skupper.io/hosts-sa-a']?.includes('192.0.2.1'), true);
  });

  test('keeps a certificate for the addresses that it had last: those who link to it hear of others later', () => {
    const access = anAccess('loadbalancer', { issuer: 'ca' });
    const before = desiredObject(seen([access], { there: [balancer({ ip: '192.0.2.1' })] }), 'Certificate');
    assert.deepEqual(desiredObject(seen([access, before], { there: [balancer()] }), 'Certificate'), before);
    let certificate = before;
    for (let ip = 2; ip <= 40; ip += 1)
      certificate = desiredObject(seen([access, certificate], { there: [balancer({ ip: `192.0.2.${ip}` })] }), 'Certificate');
    const { hosts } = certificate.spec as { readonly hosts: readonly string[] };
    assert.deepEqual(
      [40, 39, 24, 23, 1].map((ip) => hosts.includes(`192.0.2.${ip}`)),
      [true, true, true, false, false],
    );
    const back = desiredObject(seen([access, certificate], { there: [balancer({ ip: '192.0.2.39' })] }), 'Certificate');
    assert.deepEqual((back.spec as { readonly hosts: readonly string[] }).hosts, hosts);
  });

  test("leaves another owner's Certificate alone", () => {
    const own = { apiVersion: 'skupper.io/v2alpha1', kind: 'Certificate', metadata: { name: 'a' }, spec: {} };
    const view = seen([anAccess('local', { issuer: 'ca' }), own]);
    assert.ok(!desired(view).includes('Certificate a'));
    assert.match(problems(view).join(), /SecuredAccess\/a name-taken certificate "a" exists but is not controlled by skupper/);
  });
});
