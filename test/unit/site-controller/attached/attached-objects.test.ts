import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NETWORK_DATA, NETWORK_STATUS } from '../../../../src/api/skupper/cluster-names.ts';
import type { AttachedConnector, AttachedConnectorBinding } from '../../../../src/api/skupper/index.ts';
import { attachedCredentials } from '../../../../src/site-controller/attached/bound.ts';
import { attachedObjects } from '../../../../src/site-controller/attached/attached-objects.ts';
import type { NamespaceView } from '../../../../src/site-controller/namespace-view.ts';
import { observeNamespace } from '../../../../src/site-controller/observe.ts';
import type { EndpointSlice, KubeObject, Secret } from '../../../../src/kube/objects.ts';
import { attachedServersIn } from '../../../../src/site/attached-slices.ts';
import type { SelectablePod } from '../../../../src/site/material.ts';
import { planSite } from '../../../../src/site/plan/plan.ts';
import { aMaterial, aSite, resources, whole } from '../../site/fixtures.ts';
import { viewOf } from '../support/view.ts';

const apiVersion = 'skupper.io/v2alpha1';
const site = { ...aSite(), metadata: { name: 'hub', namespace: 'hub', uid: 'uid-hub' } };
const owner = { apiVersion, kind: 'Site', name: 'hub', uid: 'uid-hub' };
const noTrust = { grants: new Map(), tokens: new Map(), certificates: new Map() };
const now = '2026-01-01T00:00:00Z';

const connector = (spec: Partial<AttachedConnector['spec']> = {}, namespace = 'workload'): AttachedConnector => ({
  apiVersion,
  kind: 'AttachedConnector',
  metadata: { name: 'iperf3', namespace },
  spec: { siteNamespace: 'hub', port: 5201, selector: 'app=iperf3', ...spec },
});

const binding = (spec: Partial<AttachedConnectorBinding['spec']> = {}): AttachedConnectorBinding => ({
  apiVersion,
  kind: 'AttachedConnectorBinding',
  metadata: { name: 'iperf3', namespace: 'hub' },
  spec: { connectorNamespace: 'workload', routingKey: 'iperf3', ...spec },
});

const pod = (name: string, ip: string, more: Partial<SelectablePod> = {}): SelectablePod => ({
  name,
  labels: { app: 'iperf3' },
  ip,
  running: true,
  ready: true,
  ...more,
});

const pods = [
  pod('b', '10.0.0.2'),
  pod('a', '10.0.0.1'),
  pod('other', '10.0.0.3', { labels: {} }),
  pod('new', '10.0.0.4', { ready: false }),
];

interface Given {
  /** In the namespace of the site. */
  readonly here?: readonly KubeObject[];
  readonly connectors?: readonly AttachedConnector[];
  readonly pods?: readonly SelectablePod[] | undefined;
}

/** The site's namespace. */
function hub({ here = [site, binding()], connectors = [connector()], ...given }: Given = {}): NamespaceView {
  const seen = 'pods' in given ? given.pods : pods;
  const view = viewOf(here, { namespace: 'hub', elsewhere: connectors });
  return { ...view, podsOf: (namespace) => (namespace === 'workload' ? seen : undefined) };
}

/** The namespace of the pods, which has no Site. */
function workload(
  own: AttachedConnector,
  bindings: readonly AttachedConnectorBinding[],
  seen: readonly SelectablePod[] | undefined = pods,
): NamespaceView {
  const view = viewOf([own], { namespace: own.metadata.namespace ?? '', elsewhere: bindings });
  return { ...view, podsOf: () => seen };
}

const slicesOf = (view: NamespaceView): readonly EndpointSlice[] =>
  attachedObjects(view).objects.map(({ object }) => object as EndpointSlice);

const problemsOf = (view: NamespaceView): readonly string[] =>
  attachedObjects(view).problems.map(({ resource, severity, code, message }) => `${severity} ${resource} ${code} ${message}`);

describe('the pods of an AttachedConnector', () => {
  test('are passed to the routers of the site whose binding names them, in a slice of that Site', () => {
    const [slice, ...more] = slicesOf(
      hub({ connectors: [connector({ tlsCredentials: 'tls', useClientCert: true })], here: [site, binding(), secret('tls')] }),
    );
    assert.deepEqual(more, []);
    assert.deepEqual(slice?.metadata.ownerReferences, [owner]);
    assert.equal(slice?.metadata.labels?.['internal.skupper.io/attached'], 'true');
    assert.equal(slice?.metadata.labels?.['kubernetes.io/service-name'], undefined, 'it is no part of a Service');
    assert.deepEqual(slice?.ports, [{ name: '', port: 5201, protocol: 'TCP' }]);
    assert.deepEqual(attachedServersIn(slice === undefined ? [] : [slice], 'uid-hub'), [
      {
        name: 'iperf3',
        namespace: 'workload',
        port: 5201,
        tlsCredentials: 'tls',
        useClientCert: true,
        pods: [
          { name: 'a', ip: '10.0.0.1' },
          { name: 'b', ip: '10.0.0.2' },
        ],
      },
    ]);
  });

  test('become a connector of the routing key of the binding, and of each pod where it says so', () => {
    const servers = attachedServersIn(slicesOf(hub()), 'uid-hub');
    const plan = (own: AttachedConnectorBinding, tls?: string) =>
      planSite(
        resources(site, own),
        aMaterial({
          defaults: { verifyHostname: false },
          attachedServers: servers.map((each) => ({ ...each, ...(tls === undefined ? {} : { tlsCredentials: tls }) })),
        }),
      ).config.connectors;
    const name = 'AttachedConnectorBinding/iperf3';
    assert.deepEqual(plan(binding()), [{ name, routingKey: 'iperf3', hosts: ['10.0.0.1', '10.0.0.2'], port: 5201 }]);
    assert.deepEqual(
      plan(binding({ exposePodsByName: true })).map(({ routingKey, hosts }) => [routingKey, hosts]),
      [
        ['iperf3', ['10.0.0.1', '10.0.0.2']],
        ['iperf3.a', ['10.0.0.1']],
        ['iperf3.b', ['10.0.0.2']],
      ],
    );
    assert.deepEqual(plan(binding(), 'whole')[0]?.tls, { bundle: { name: 'whole', ca: whole.ca }, verifyHostname: false });
    assert.deepEqual(plan(binding({ connectorNamespace: 'elsewhere' })), [], 'the binding has been changed since');
  });

  test('that are not ready count where it says so', () => {
    const [slice] = slicesOf(hub({ connectors: [connector({ includeNotReadyPods: true })] }));
    assert.deepEqual(
      slice?.endpoints?.map(({ addresses }) => addresses),
      [['10.0.0.1'], ['10.0.0.2'], ['10.0.0.4']],
    );
  });

  test('stand in as many slices as it takes, and those of no use go', () => {
    const many = Array.from({ length: 1_001 }, (_, index) => pod(`p${index}`, `10.1.${index >> 8}.${index & 255}`));
    const all = [...many, pod('six', 'fd00::1')];
    const slices = slicesOf(hub({ pods: all }));
    assert.deepEqual(
      slices.map(({ addressType, endpoints }) => [addressType, endpoints?.length]),
      [
        ['IPv4', 1000],
        ['IPv4', 1],
        ['IPv6', 1],
      ],
    );
    assert.equal(attachedServersIn(slices, 'uid-hub')[0]?.pods.length, 1_002);
    const { obsolete } = attachedObjects(hub({ here: [site, binding(), ...slices] }));
    assert.deepEqual(
      obsolete.map(({ object }) => object.metadata.name),
      slices.slice(1).map(({ metadata }) => metadata.name),
    );
  });

  test('that have not been listed yet leave all as it is', () => {
    const before = slicesOf(hub());
    const view = hub({ here: [site, binding(), ...before], pods: undefined });
    assert.deepEqual(attachedObjects(view), { objects: [], obsolete: [], problems: [] });
    const statuses = observeNamespace(view, { problems: [], trust: noTrust }, now);
    assert.deepEqual([...statuses.keys()], ['Site/hub']);
  });

  test('are passed to no router without the consent of both sides', () => {
    const before = slicesOf(hub());
    const lone: readonly [string, Given, string][] = [
      ['no AttachedConnector', { connectors: [] }, 'No matching AttachedConnector'],
      ['one for another site', { connectors: [connector({ siteNamespace: 'elsewhere' })] }, 'No matching AttachedConnector'],
      ['one of another namespace', { connectors: [connector({}, 'stranger')] }, 'No matching AttachedConnector'],
      ['one that selects nothing', { pods: [] }, 'No matches for selector'],
      ['one with a wrong selector', { connectors: [connector({ selector: 'a b c' })] }, 'No matching AttachedConnector'],
      [
        'one with credentials that are not there',
        { connectors: [connector({ tlsCredentials: 'gone' })] },
        'TLS credentials secret "gone" not found',
      ],
      [
        "one with an authority's credentials",
        { connectors: [connector({ tlsCredentials: 'skupper-site-ca' })] },
        'TLS credentials secret "skupper-site-ca" not found',
      ],
    ];
    for (const [what, given, message] of lone) {
      const view = hub({ ...given, here: [site, binding(), secret('skupper-site-ca'), ...before] });
      const { objects, obsolete, problems } = attachedObjects(view);
      assert.deepEqual(objects, [], what);
      assert.equal(obsolete.length, 1, what);
      assert.ok(problems.length === 1 && problems[0]?.resource === 'AttachedConnectorBinding/iperf3', what);
      assert.ok(problems[0].message.startsWith(message), `${what}: ${problems[0].message}`);
    }
  });

  test('name their credentials to the site only once it takes them in', () => {
    const connectors = [connector({ tlsCredentials: 'tls' })];
    assert.deepEqual(attachedCredentials(hub({ connectors })), ['tls']);
    assert.deepEqual(attachedCredentials(hub({ connectors, here: [site] })), []);
    assert.deepEqual(attachedCredentials(hub({ connectors, here: [site, binding({ connectorNamespace: 'elsewhere' })] })), []);
  });
});

describe('an AttachedConnector', () => {
  const statusOf = (view: NamespaceView) =>
    observeNamespace(view, { problems: attachedObjects(view).problems, trust: noTrust }, now).get('AttachedConnector/iperf3');

  test('is ready once its binding names its namespace, without a Site of its own', () => {
    const status = statusOf(workload(connector(), [binding()]));
    assert.equal(status?.status, 'Ready');
    assert.deepEqual(status && 'selectedPods' in status ? status.selectedPods : undefined, [
      { name: 'a', ip: '10.0.0.1' },
      { name: 'b', ip: '10.0.0.2' },
    ]);
  });

  const wrong: readonly [string, NamespaceView, RegExp][] = [
    ['no binding', workload(connector(), []), /^No matching AttachedConnectorBinding in site namespace/],
    [
      'a binding for another namespace',
      workload(connector({}, 'stranger'), [binding()]),
      /^AttachedConnectorBinding hub\/iperf3 does not allow AttachedConnector in stranger \(only workload\)/,
    ],
    ['no pods', workload(connector(), [binding()], []), /^No matches for selector/],
    [
      'a mistyped selector',
      workload(connector({ selector: 'app=iperf' }), [binding()]),
      /^No matches for selector: .*; did you mean "app=iperf3"\?$/,
    ],
    ['an invalid selector', workload(connector({ selector: 'a b c' }), [binding()]), /"a b c"/],
  ];
  for (const [what, view, message] of wrong) {
    test(`with ${what} says so`, () => {
      const status = statusOf(view);
      assert.equal(status?.status, 'Error');
      assert.match(status?.message ?? '', message);
    });
  }
});

describe('an AttachedConnector whose binding has an error', () => {
  const statusOf = (own: AttachedConnector, other: AttachedConnectorBinding) => {
    const view = workload(own, [other]);
    return observeNamespace(view, { problems: attachedObjects(view).problems, trust: noTrust }, now).get('AttachedConnector/iperf3');
  };
  /** The binding as the controller leaves it in its own namespace. */
  const observed = (given: Given, own = binding()): AttachedConnectorBinding => {
    const generation = { ...own, metadata: { ...own.metadata, generation: 2 } };
    const view = hub({ ...given, here: [...(given.here ?? [site]), generation] });
    const statuses = observeNamespace(view, { problems: attachedObjects(view).problems, trust: noTrust }, now);
    const status = statuses.get('AttachedConnectorBinding/iperf3') as AttachedConnectorBinding['status'];
    return { ...generation, ...(status === undefined ? {} : { status }) };
  };

  for (const [what, other, message] of [
    ['no Site', observed({ here: [] }), /^AttachedConnectorBinding hub\/iperf3 has an error: No active site in namespace/],
    ['a wrong routing key', observed({}, binding({ routingKey: 'a b' })), /^AttachedConnectorBinding hub\/iperf3 has an error: .*"a b"/],
    [
      'credentials that are missing',
      observed({ connectors: [connector({ tlsCredentials: 'gone' })] }),
      /^AttachedConnectorBinding hub\/iperf3 has an error: see its status$/,
    ],
  ] as const) {
    test(`says so: ${what}`, () => {
      const status = statusOf(connector(), other);
      assert.equal(status?.status, 'Error');
      assert.match(status?.message ?? '', message);
    });
  }

  for (const [what, other] of [
    ['that waits for a listener', observed({})],
    ['that has not seen the AttachedConnector yet', observed({ connectors: [] })],
    ['that has not seen its pods yet', observed({ pods: [] })],
    ['whose status is of an older generation', { ...observed({ here: [] }), metadata: { ...binding().metadata, generation: 3 } }],
  ] as const) {
    test(`is ready with a binding ${what}`, () => {
      assert.equal(statusOf(connector(), other)?.status, 'Ready');
    });
  }
});

describe('an AttachedConnectorBinding', () => {
  const statusOf = (given: Given) => {
    const view = hub(given);
    return observeNamespace(view, { problems: attachedObjects(view).problems, trust: noTrust }, now).get('AttachedConnectorBinding/iperf3');
  };
  const network = (listeners: readonly string[]): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: NETWORK_STATUS },
      data: { [NETWORK_DATA.sites]: JSON.stringify([{ id: 'x', services: [{ routingKey: 'iperf3', connectors: [], listeners }] }]) },
    }) as KubeObject;

  test('is ready once a listener of its routing key is in the network', () => {
    const waits = statusOf({ here: [site, binding(), network([])] });
    assert.deepEqual([waits?.status, waits?.message?.startsWith('No matching listeners')], ['Pending', true]);
    const matched = statusOf({ here: [site, binding(), network(['client/1'])] });
    assert.deepEqual([matched?.status, matched && 'hasMatchingListener' in matched && matched.hasMatchingListener], ['Ready', true]);
  });

  test('of a namespace without a Site waits for one', () => {
    assert.match(statusOf({ here: [binding()] })?.message ?? '', /^No active site in namespace/);
    assert.deepEqual(problemsOf(hub({ here: [binding()] })), []);
  });
});

test('routers believe no slice that the Site does not own, nor what is in none of the right form', () => {
  const [slice] = slicesOf(hub());
  assert.ok(slice !== undefined);
  const { metadata } = slice;
  const note = (text: string): EndpointSlice => ({
    ...slice,
    metadata: { ...metadata, annotations: { 'internal.skupper.io/attached': text } },
  });
  const strange: readonly EndpointSlice[] = [
    { ...slice, metadata: { ...metadata, ownerReferences: [{ ...owner, uid: 'another' }] } },
    { ...slice, metadata: { ...metadata, annotations: {} } },
    note('{'),
    note('[]'),
    note('null'),
    note('{"name":"iperf3","namespace":"workload","port":"5201"}'),
    note('{"name":"iperf3","namespace":"workload","port":70000}'),
    note('{"name":{},"namespace":"workload","port":5201}'),
  ];
  for (const each of strange) assert.deepEqual(attachedServersIn([each], 'uid-hub'), [], JSON.stringify(each.metadata));
  const odd = { ...slice, endpoints: [{ addresses: [] }, { addresses: ['10.0.0.9'] }, { addresses: ['a b'], targetRef: { name: 'x' } }] };
  assert.deepEqual(attachedServersIn([odd], 'uid-hub')[0]?.pods, []);
});

test('the first by name of several slices being written counts, with those that agree', () => {
  const [old] = slicesOf(hub());
  const [fresh] = slicesOf(hub({ connectors: [connector({ port: 5202 })] }));
  assert.ok(old !== undefined && fresh !== undefined);
  const second = { ...old, metadata: { ...old.metadata, name: `${old.metadata.name ?? ''}x` } };
  const [servers, ...more] = attachedServersIn([second, fresh], 'uid-hub');
  assert.deepEqual([servers?.port, servers?.pods.length, more], [5202, 2, []]);
});

function secret(name: string): Secret {
  return { type: 'kubernetes.io/tls', apiVersion: 'v1', kind: 'Secret', metadata: { name } };
}
