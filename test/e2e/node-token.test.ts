/** What a thief can do with the token of one node's driver: the real token, against the real API server. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { BUSYBOX_IMAGE, connectCluster, eventually, HarnessError, type Cluster } from '../harness/index.ts';
import { connect, type ApiRequests } from '../harness/api-requests.ts';

const NAMESPACE = 'node-token';
const POD_LISTENERS = `/apis/listeners.stackable.tech/v1alpha1/namespaces/${NAMESPACE}/podlisteners`;

interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly nodeName?: string; readonly serviceAccountName: string };
}

interface PodListeners {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: { readonly mounts?: object; readonly listeners?: Readonly<Record<string, { readonly volumeHandle?: string }>> };
  readonly status?: { readonly mounts?: Readonly<Record<string, { readonly reason: string }>> };
}

const sleeper = (name: string, nodeName: string, volumes: readonly { readonly name: string }[] = []) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: {
    // Not spec.nodeName: a pod that passes the scheduler by gets no volume.
    nodeSelector: { 'kubernetes.io/hostname': nodeName },
    terminationGracePeriodSeconds: 0,
    containers: [
      {
        name: 'main',
        image: BUSYBOX_IMAGE,
        imagePullPolicy: 'Never',
        command: ['sleep', '3600'],
        ports: [{ containerPort: 8080 }],
        volumeMounts: volumes.map(({ name: volume }) => ({ name: volume, mountPath: `/${volume}` })),
      },
    ],
    volumes,
  },
});

const listenerVolume = {
  name: 'address',
  ephemeral: {
    volumeClaimTemplate: {
      metadata: { annotations: { 'listeners.stackable.tech/listener-class': 'cluster-internal' } },
      spec: { accessModes: ['ReadWriteMany'], storageClassName: 'listeners.stackable.tech', resources: { requests: { storage: '1' } } },
    },
  },
};

const request = (pod: Pod, nodeName: string, more: { metadata?: object; spec?: object; owner?: object } = {}) => ({
  apiVersion: 'listeners.stackable.tech/v1alpha1',
  kind: 'PodListeners',
  metadata: {
    name: `pod-${pod.metadata.uid}`,
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod.metadata.name, uid: pod.metadata.uid, ...more.owner }],
    ...more.metadata,
  },
  spec: { nodeName, mounts: {}, ...more.spec },
});

describe('the token of a node driver', { timeout: 580_000 }, () => {
  let cluster: Cluster;
  let thief: ApiRequests;
  let driver: Pod;
  /** Pods on the token's node, and on another; their volumes were not requested. */
  let own: Pod;
  let foreign: Pod;
  let ownNode: string;
  let foreignNode: string;

  const refused = (attempt: Promise<unknown>, why: RegExp): Promise<void> =>
    assert.rejects(attempt, (error) => error instanceof HarnessError && why.test(error.message));
  const forbidden = (attempt: Promise<unknown>): Promise<void> => refused(attempt, /: 403 .*cannot \w+ resource/);
  const pod = (name: string): Promise<Pod> => cluster.api.get<Pod>(`/api/v1/namespaces/${NAMESPACE}/pods/${name}`);

  const scheduled = (name: string): Promise<Pod> =>
    eventually(`pod ${name} to have its node`, async () => {
      const seen = await pod(name);
      return seen.spec.nodeName !== undefined && seen;
    });

  before(async () => {
    cluster = connectCluster();
    const drivers = await cluster.api.get<{ items: readonly Pod[] }>(
      '/api/v1/pods?labelSelector=app.kubernetes.io%2Fname%3Dearshot%2Capp.kubernetes.io%2Fcomponent%3Dnode',
    );
    const [first, second] = drivers.items;
    assert.ok(first?.spec.nodeName !== undefined && second?.spec.nodeName !== undefined, 'a driver runs on two nodes');
    driver = first;
    ownNode = first.spec.nodeName;
    foreignNode = second.spec.nodeName;
    const { namespace, name } = driver.metadata;
    const token = await cluster.token(namespace, driver.spec.serviceAccountName, { pod: name });
    thief = connect({ url: cluster.apiUrl, ca: cluster.state.credentials.ca, token });

    await cluster.api.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
    await eventually('the service account of the namespace', () =>
      cluster.api.find(`/api/v1/namespaces/${NAMESPACE}/serviceaccounts/default`),
    );
    for (const created of [sleeper('own', ownNode), sleeper('foreign', foreignNode)])
      await cluster.api.create(`/api/v1/namespaces/${NAMESPACE}/pods`, created);
    [own, foreign] = [await scheduled('own'), await scheduled('foreign')];
  });
  after(async () => {
    await cluster.kubectl(['delete', 'namespace', NAMESPACE, '--ignore-not-found', '--wait']);
    await thief.close();
    await cluster[Symbol.asyncDispose]();
  });

  describe('can do its work:', () => {
    it('create PodListeners for its own node, add to their mounts, and read them', async () => {
      const path = `${POD_LISTENERS}/pod-${own.metadata.uid}`;
      await thief.create(POD_LISTENERS, request(own, ownNode));
      await thief.patch(path, { spec: { mounts: { 'some-volume': {} } } });
      const seen = await thief.get<PodListeners>(path);
      assert.deepEqual(seen.spec.mounts, { 'some-volume': {} });
      const list = await thief.get<{ items: readonly PodListeners[] }>(
        `/apis/listeners.stackable.tech/v1alpha1/podlisteners?fieldSelector=spec.nodeName%3D${ownNode}`,
      );
      assert.ok(list.items.some(({ metadata }) => metadata.name === seen.metadata.name));
      await cluster.api.remove(path);
    });
  });

  describe('cannot write PodListeners of another node:', () => {
    it('not create them', async () => {
      await refused(thief.create(POD_LISTENERS, request(foreign, foreignNode)), /403 .*own node only/);
    });

    it('not change them, not take them over, not delete them', async () => {
      const path = `${POD_LISTENERS}/pod-${foreign.metadata.uid}`;
      await cluster.api.create(POD_LISTENERS, request(foreign, foreignNode));
      await refused(thief.patch(path, { spec: { mounts: { 'some-volume': {} } } }), /403 .*own node only/);
      await refused(thief.patch(path, { spec: { nodeName: ownNode } }), /403 |422 /);
      await forbidden(thief.put(path, request(foreign, foreignNode)));
      await forbidden(thief.remove(path));
      await cluster.api.remove(path);
    });

    it('not those which name no node yet, as an earlier system left them', async () => {
      const { spec: _spec, ...rest } = request(foreign, foreignNode);
      // On a pod that is gone, so that the controller does not fill in the node first.
      const name = 'pod-00000000-0000-4000-8000-000000000000';
      await cluster.api.create(POD_LISTENERS, { ...rest, metadata: { name }, spec: { listeners: {} } });
      await refused(thief.patch(`${POD_LISTENERS}/${name}`, { spec: { nodeName: ownNode } }), /403 .*this is not one of/);
      await cluster.api.remove(`${POD_LISTENERS}/${name}`);
    });
  });

  describe('cannot write in its own PodListeners what is not its own to say:', () => {
    const path = (): string => `${POD_LISTENERS}/pod-${own.metadata.uid}`;
    before(() => thief.create(POD_LISTENERS, request(own, ownNode)));
    after(() => cluster.api.remove(path()));

    const entry = { stolen: { scope: 'Node', ingressAddresses: [{ address: '203.0.113.1', addressType: 'IP', ports: {} }] } };
    it('addresses', async () => {
      await refused(thief.patch(path(), { spec: { listeners: entry } }), /403 .*controller's answer/);
      await refused(thief.create(POD_LISTENERS, request(foreign, ownNode, { spec: { listeners: entry } })), /403 .*controller's answer/);
    });
    it('the node', () => refused(thief.patch(path(), { spec: { nodeName: foreignNode } }), /403 |422 /));
    it('the owner', () => refused(thief.patch(path(), { metadata: { ownerReferences: [] } }), /403 .*the owners of/));
    it('labels, annotations and finalizers', async () => {
      for (const metadata of [{ labels: { a: 'b' } }, { annotations: { a: 'b' } }, { finalizers: ['example.com/stay'] }]) {
        await refused(thief.patch(path(), { metadata }), /403 .*labels, annotations or finalizers/);
      }
    });
    it('the status', () => forbidden(thief.patch(`${path()}/status`, { status: { mounts: {} } })));
  });

  it('cannot create PodListeners that are not those of one pod', async () => {
    const refusedFor = (more: Parameters<typeof request>[2]): Promise<void> =>
      refused(thief.create(POD_LISTENERS, request(own, ownNode, more)), /403 .*exactly one Pod/);
    await refusedFor({ metadata: { name: 'any' } });
    await refusedFor({ metadata: { ownerReferences: [] } });
    await refusedFor({ owner: { uid: foreign.metadata.uid } });
    await refusedFor({ owner: { kind: 'Node' } });
    await refusedFor({ owner: { blockOwnerDeletion: true } });
  });

  describe('gets nothing by asking', () => {
    const pathOf = async (name: string): Promise<string> => `${POD_LISTENERS}/pod-${(await pod(name)).metadata.uid}`;
    const handleIn = async (name: string): Promise<string | undefined> =>
      (await cluster.api.find<PodListeners>(await pathOf(name)))?.spec.listeners?.['address']?.volumeHandle;
    let handles: { readonly own: string; readonly foreign: string };

    before(async () => {
      for (const created of [
        sleeper('own-mounted', ownNode, [listenerVolume]),
        sleeper('foreign-mounted', foreignNode, [listenerVolume]),
      ]) {
        await cluster.api.create(`/api/v1/namespaces/${NAMESPACE}/pods`, created);
      }
      handles = {
        own: await eventually('the volume of one pod to be mounted', () => handleIn('own-mounted')),
        foreign: await eventually('the volume of the other to be mounted', () => handleIn('foreign-mounted')),
      };
    });

    it('for the volume of another pod', async () => {
      const path = await pathOf('own-mounted');
      await thief.patch(path, { spec: { mounts: { [handles.foreign]: {} } } });
      const answered = await eventually('the controller to answer', async () => {
        const seen = await cluster.api.get<PodListeners>(path);
        return seen.status?.mounts?.[handles.foreign] !== undefined && seen;
      });
      assert.equal(answered.status?.mounts?.[handles.foreign]?.reason, 'VolumeNotOfPod');
      assert.deepEqual(
        Object.values(answered.spec.listeners ?? {}).map(({ volumeHandle }) => volumeHandle),
        [handles.own],
      );
      const labels = Object.values((await pod('own-mounted')).metadata.labels ?? {});
      assert.deepEqual(labels, ['own-mounted-address'], 'the pod is selected by its own Service only');
    });

    it('in the name of a pod on another node, whatever it asks for', async () => {
      // The policy sees one object and cannot know where the pod runs; the controller does. What stays would keep the
      // pod's own node from asking.
      const path = await pathOf('foreign-mounted');
      const victim = await pod('foreign-mounted');
      for (const mounts of [{ [handles.foreign]: {} }, { 'no-such-volume': {} }, {}]) {
        // The pod's own node asks again as soon as its object is gone.
        const forged = await eventually('the thief to be first', async () => {
          await cluster.api.remove(path);
          const asked = thief.create<PodListeners>(POD_LISTENERS, request(victim, ownNode, { spec: { mounts } }));
          return asked.catch((error: unknown): undefined => {
            if (!/: 409 /.test(String(error))) throw error;
          });
        });
        await eventually('the controller to remove it', async () => {
          const found = await cluster.api.find<PodListeners>(path);
          return found?.metadata.uid !== forged.metadata.uid;
        });
      }
    });
  });

  it('cannot touch anything else, here or in another namespace', async () => {
    const { namespace } = driver.metadata;
    const pods = `/api/v1/namespaces/${NAMESPACE}/pods`;
    const listeners = `/apis/listeners.stackable.tech/v1alpha1/namespaces/${NAMESPACE}/listeners`;
    const label = { metadata: { labels: { a: 'b' } } };
    const attempts: readonly Promise<unknown>[] = [
      thief.get(pods),
      thief.get(`${pods}/own`),
      thief.patch(`${pods}/own`, label),
      thief.patch(`${pods}/foreign`, label),
      thief.remove(`${pods}/foreign`),
      thief.get(listeners),
      thief.create(listeners, {}),
      thief.patch(`${listeners}/any`, label),
      thief.remove(`${listeners}/any`),
      thief.get('/apis/listeners.stackable.tech/v1alpha1/listenerclasses'),
      thief.create('/apis/listeners.stackable.tech/v1alpha1/listenerclasses', {}),
      thief.get('/api/v1/persistentvolumes'),
      thief.patch('/api/v1/persistentvolumes/any', label),
      thief.remove('/api/v1/persistentvolumes/any'),
      thief.get(`/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`),
      thief.get(`/api/v1/namespaces/${NAMESPACE}/services`),
      thief.create(`/api/v1/namespaces/${NAMESPACE}/services`, {}),
      thief.get('/api/v1/secrets'),
      thief.get('/api/v1/namespaces/kube-system/secrets'),
      thief.get(`/api/v1/namespaces/${namespace}/secrets`),
      thief.get('/api/v1/nodes'),
      thief.patch(`/api/v1/nodes/${foreignNode}`, label),
      thief.get('/api/v1/configmaps'),
      thief.create(`/api/v1/namespaces/${namespace}/serviceaccounts/${driver.spec.serviceAccountName}/token`, {}),
      thief.create(`/api/v1/namespaces/${NAMESPACE}/events`, {}),
      thief.get('/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'),
    ];
    await Promise.all(attempts.map(forbidden));
  });

  it('is worth nothing without the node in it', async () => {
    const token = await cluster.token(driver.metadata.namespace, driver.spec.serviceAccountName);
    const nobody = connect({ url: cluster.apiUrl, ca: cluster.state.credentials.ca, token });
    try {
      await refused(nobody.create(POD_LISTENERS, request(own, ownNode)), /403 .*names no node/);
    } finally {
      await nobody.close();
    }
  });
});
