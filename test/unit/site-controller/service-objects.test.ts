import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NETWORK_DATA, NETWORK_STATUS } from '../../../src/api/skupper/cluster-names.ts';
import type { NamespaceView } from '../../../src/site-controller/namespace-view.ts';
import { serviceObjects } from '../../../src/site-controller/services/service-objects.ts';
import type { ConfigMap, KubeObject, Service } from '../../../src/kube/objects.ts';
import type { Resource } from '../../../src/kube/resource.ts';
import type { SiteObject } from '../../../src/site/resources.ts';
import { aListener, aMultiKeyListener, aSite, resources } from '../site/fixtures.ts';

const site = { ...aSite(), metadata: { name: 'west', uid: 'uid-west' } };
const owner = { apiVersion: 'skupper.io/v2alpha1', kind: 'Site', name: 'west', uid: 'uid-west' };
const selector = { application: 'skupper-router', 'skupper.io/component': 'router' };
const controlled = { 'internal.skupper.io/controlled': 'true' };

interface Given {
  readonly services?: readonly Service[];
  readonly podKeys?: string;
  readonly hasSite?: boolean;
}

function planned(
  objects: readonly SiteObject[],
  { services = [], podKeys, hasSite = true }: Given = {},
): ReturnType<typeof serviceObjects> {
  const status: ConfigMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: NETWORK_STATUS },
    ...(podKeys === undefined ? {} : { data: { [NETWORK_DATA.podKeys]: podKeys } }),
  };
  const view = {
    resources: resources(site, ...objects),
    unreadable: [],
    site: hasSite ? site : undefined,
    list: (of: Resource): readonly KubeObject[] => (of.kind === 'Service' ? services : []),
    find: (of: Resource, name: string): KubeObject | undefined => (of.kind === 'ConfigMap' && name === NETWORK_STATUS ? status : undefined),
  };
  // The rule reads no more of it.
  return serviceObjects(view as unknown as NamespaceView);
}

function service(
  name: string,
  { label = 'web', annotations = controlled }: { label?: string; annotations?: Service['metadata']['annotations'] } = {},
): Service {
  const labels = label === '' ? {} : { 'internal.skupper.io/listener': label };
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, labels, ...(annotations === undefined ? {} : { annotations }) },
    spec: { ports: [{ name: 'web', port: 8080, protocol: 'TCP', targetPort: 1024 }] },
  };
}

const names = (all: readonly { readonly object: KubeObject }[]): readonly string[] => all.map(({ object }) => object.metadata.name ?? '');

describe('Services of listeners', () => {
  test('select the routers and nothing else, and belong to the Site', () => {
    const { objects, obsolete, problems } = planned([
      aListener('web', { host: 'backend', port: 8080 }),
      aMultiKeyListener('both', { host: 'backend', port: 8081 }),
    ]);
    assert.deepEqual(
      objects.map(({ object }) => object),
      [
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: {
            name: 'backend',
            labels: { 'internal.skupper.io/listener': 'web' },
            annotations: controlled,
            ownerReferences: [owner],
          },
          spec: {
            ipFamilyPolicy: 'PreferDualStack',
            selector,
            ports: [
              { name: 'web', port: 8080, protocol: 'TCP', targetPort: 1024 },
              { name: 'multiaddress-both', port: 8081, protocol: 'TCP', targetPort: 1025 },
            ],
          },
        },
      ],
    );
    assert.deepEqual([obsolete, problems], [[], []]);
  });

  test('go where no listener wants them any more, if they were made for one', () => {
    const services = [
      service('backend'),
      service('other'),
      service('labelled', { annotations: {} }),
      service('router', { label: '' }),
      service('users', { label: '', annotations: {} }),
    ];
    const { objects, obsolete } = planned([aListener('web', { host: 'moved', port: 80 })], { services });
    assert.deepEqual(names(objects), ['moved']);
    assert.deepEqual(names(obsolete), ['backend', 'other']);
  });

  test('that another client labelled serve the listener, and stay unmanaged', () => {
    const { objects } = planned([aListener('web', { host: 'his' })], { services: [service('his', { annotations: {} })] });
    assert.deepEqual(objects[0]?.object.metadata, { name: 'his', labels: { 'internal.skupper.io/listener': 'web' } });
  });

  test('of another owner stay as they are, and the listener has none', () => {
    const { objects, obsolete, problems } = planned([aListener('web', { host: 'his' })], { services: [service('his', { label: '' })] });
    assert.deepEqual([objects, obsolete, problems], [[], [], []]);
  });

  test('are created for the pods that the routers report, and deleted with them', () => {
    const web = aListener('web', { host: 'web', port: 80, exposePodsByName: true });
    const { objects } = planned([web], { podKeys: '["web.pod-a", 7, "web.pod-b"]' });
    assert.deepEqual(names(objects), ['web', 'pod-a', 'pod-b']);
    assert.deepEqual(names(planned([web], { services: [service('web'), service('pod-a')], podKeys: '[]' }).obsolete), ['pod-a']);
  });

  for (const text of ['', '{', '{"a": 1}', 'null']) {
    test(`are created for no pod if the report of pods is ${JSON.stringify(text)}`, () => {
      assert.deepEqual(names(planned([aListener('web', { host: 'web', exposePodsByName: true })], { podKeys: text }).objects), ['web']);
    });
  }

  test('are ignored if the namespace has no Site', () => {
    const { objects, obsolete } = planned([aListener('web', { host: 'web' })], { services: [service('old')], hasSite: false });
    assert.deepEqual([objects, obsolete], [[], []]);
  });
});
