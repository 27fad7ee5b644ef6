import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ListenerClassSpec, ListenerSpec } from '../../src/api/listeners/index.ts';
import { assertContains, liveService } from './support/live-service.ts';
import { API } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';

const HTTP = [{ name: 'http', port: 8080 }];

interface Row {
  readonly name: string;
  readonly behaviour: string;
  readonly classSpec: ListenerClassSpec;
  readonly spec?: ListenerSpec;
  readonly metadata?: object;
  /** A part of the Service that is to be. */
  readonly expected: object;
}

const rows: readonly Row[] = [
  {
    name: 'annotations',
    behaviour: "carries the class's annotations",
    classSpec: { serviceType: 'ClusterIP', serviceAnnotations: { 'cloud.example/subnet': 'blue', 'cloud.example/internal': 'true' } },
    expected: { metadata: { annotations: { 'cloud.example/subnet': 'blue', 'cloud.example/internal': 'true' } } },
  },
  {
    name: 'labels',
    behaviour: "carries the Listener's labels, and over them those that name it as a Listener's",
    classSpec: { serviceType: 'ClusterIP' },
    metadata: { labels: { 'app.kubernetes.io/name': 'kafka', 'app.kubernetes.io/component': 'broker', tier: 'brokers' } },
    expected: {
      metadata: {
        labels: {
          'app.kubernetes.io/name': 'listener',
          'app.kubernetes.io/instance': 'labels',
          'app.kubernetes.io/managed-by': 'listeners.stackable.tech_listener',
          'app.kubernetes.io/component': 'broker',
          tier: 'brokers',
        },
      },
    },
  },
  {
    name: 'policy-local',
    behaviour: 'keeps traffic on the node where the class says Local',
    classSpec: { serviceType: 'NodePort', serviceExternalTrafficPolicy: 'Local' },
    expected: { spec: { type: 'NodePort', externalTrafficPolicy: 'Local' } },
  },
  {
    name: 'policy-cluster',
    behaviour: 'spreads traffic where the class says Cluster',
    classSpec: { serviceType: 'LoadBalancer', serviceExternalTrafficPolicy: 'Cluster', loadBalancerClass: 'nobody.example/none' },
    expected: { spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster' } },
  },
  {
    name: 'policy-ignored',
    behaviour: 'has no external traffic policy where it has no external traffic',
    classSpec: { serviceType: 'ClusterIP', serviceExternalTrafficPolicy: 'Local' },
    expected: { spec: { type: 'ClusterIP', externalTrafficPolicy: undefined } },
  },
  {
    name: 'lb-class',
    behaviour: 'requests the load balancer class, and node ports by default',
    classSpec: { serviceType: 'LoadBalancer', loadBalancerClass: 'nobody.example/none' },
    expected: { spec: { loadBalancerClass: 'nobody.example/none', allocateLoadBalancerNodePorts: true } },
  },
  {
    name: 'lb-no-ports',
    behaviour: 'has no node ports where the class declines them',
    classSpec: { serviceType: 'LoadBalancer', loadBalancerClass: 'nobody.example/none', loadBalancerAllocateNodePorts: false },
    expected: { spec: { allocateLoadBalancerNodePorts: false, ports: [{ name: 'http', protocol: 'TCP', port: 8080, targetPort: 8080 }] } },
  },
  {
    name: 'not-ready-yes',
    behaviour: 'publishes pods that are not ready by default',
    classSpec: { serviceType: 'ClusterIP' },
    expected: { spec: { publishNotReadyAddresses: true } },
  },
  {
    name: 'not-ready-no',
    behaviour: 'publishes only ready pods where the Listener says so',
    classSpec: { serviceType: 'ClusterIP' },
    spec: { publishNotReadyAddresses: false },
    // The API server leaves a false out.
    expected: { spec: { publishNotReadyAddresses: undefined } },
  },
  {
    name: 'override-affinity',
    behaviour: "takes any field from the class's overrides",
    classSpec: {
      serviceType: 'ClusterIP',
      serviceOverrides: {
        spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } } },
        metadata: { labels: { team: 'blue' } },
      },
    },
    expected: {
      metadata: { labels: { team: 'blue' } },
      spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 600 } } },
    },
  },
  {
    name: 'override-ports',
    behaviour: 'merges ports of an override by number, by number and protocol where one is used twice, and adds what is new',
    classSpec: {
      serviceType: 'ClusterIP',
      serviceOverrides: {
        spec: {
          ports: [
            { port: 8080, targetPort: 9090 },
            { port: 53, protocol: 'UDP', appProtocol: 'example.com/dns' },
            { name: 'extra', port: 9999 },
          ],
        },
      },
    },
    spec: { ports: [...HTTP, { name: 'dns-tcp', port: 53 }, { name: 'dns', port: 53, protocol: 'UDP' }] },
    expected: {
      spec: {
        ports: [
          { name: 'http', protocol: 'TCP', port: 8080, targetPort: 9090 },
          { name: 'dns-tcp', protocol: 'TCP', port: 53, targetPort: 53 },
          { name: 'dns', protocol: 'UDP', port: 53, targetPort: 53, appProtocol: 'example.com/dns' },
          { name: 'extra', protocol: 'TCP', port: 9999, targetPort: 9999 },
        ],
      },
    },
  },
  {
    name: 'override-order',
    behaviour: "lets the Listener's overrides win over the class's, and a later one over an earlier one",
    classSpec: {
      serviceType: 'ClusterIP',
      serviceAnnotations: { a: 'class', b: 'class', c: 'class', d: 'class' },
      serviceOverrides: { metadata: { annotations: { b: 'class override', c: 'class override', d: 'class override' } } },
    },
    spec: {
      objectOverrides: [
        { apiVersion: 'v1', kind: 'Service', metadata: { name: 'override-order', annotations: { c: 'first', d: 'first' } } },
        { apiVersion: 'v1', kind: 'Service', metadata: { name: 'override-order', annotations: { d: 'second' } } },
      ],
    },
    expected: { metadata: { annotations: { a: 'class', b: 'class override', c: 'first', d: 'second' } } },
  },
  {
    name: 'override-removes',
    behaviour: 'drops an annotation that an override sets to null',
    classSpec: {
      serviceType: 'ClusterIP',
      serviceAnnotations: { kept: 'yes', dropped: 'yes' },
      serviceOverrides: { metadata: { annotations: { dropped: null } } },
    },
    expected: { metadata: { annotations: { kept: 'yes', dropped: undefined } } },
  },
];

describe('the Service of a Listener', { timeout: 400_000, concurrency: 4 }, () => {
  const namespace = useNamespace('service');

  for (const { name, behaviour, classSpec, spec = {}, metadata, expected } of rows) {
    it(behaviour, async () => {
      const className = await namespace.class(name, classSpec);
      const listener = await namespace.listener(name, { ports: HTTP, ...spec, className }, metadata);
      const service = await liveService(namespace, name);
      assertContains(service, expected);
      assert.deepEqual(service.metadata.ownerReferences, [
        { apiVersion: API, kind: 'Listener', name, uid: listener.metadata.uid, controller: true, blockOwnerDeletion: true },
      ]);
    });
  }

  it('selects the pods that mount the Listener, and of those the ones with its extra labels', async () => {
    const className = await namespace.class('selector', { serviceType: 'ClusterIP' });
    const { metadata } = await namespace.listener('selector', { className, ports: HTTP, extraPodSelectorLabels: { role: 'leader' } });
    const service = await liveService(namespace, 'selector');
    const mounts = `listener.stackable.tech/mnt.${metadata.uid?.replaceAll('-', '')}`;
    assert.deepEqual(service.spec?.selector, { [mounts]: 'selector', role: 'leader' });
  });

  it('is exposed as what an override makes of it: without an IP of its own by its name, with node ports by these', async () => {
    const [headless, wide] = [
      await namespace.class('headless', {
        serviceType: 'ClusterIP',
        preferredAddressType: 'IP',
        serviceOverrides: { spec: { clusterIP: 'None' } },
      }),
      await namespace.class('wide', {
        serviceType: 'ClusterIP',
        serviceOverrides: { spec: { type: 'NodePort', ports: [{ port: 8080, name: 'renamed' }] } },
      }),
    ];
    await namespace.listener('headless', { className: headless, ports: HTTP });
    await namespace.listener('wide', { className: wide, ports: HTTP });
    const { status } = await namespace.ready('headless');
    assert.deepEqual(status?.ingressAddresses, [
      { address: `headless.${namespace.name}.svc.cluster.local`, addressType: 'Hostname', ports: { http: 8080 } },
    ]);
    const { spec } = await liveService(namespace, 'wide');
    const listener = await namespace.untilListener('wide', 'to have node ports', (candidate) => candidate.status?.nodePorts !== undefined);
    assert.deepEqual(listener.status?.nodePorts, { renamed: spec.ports?.[0]?.nodePort });
  });
});
