/**
 * What a thief can do with the token of the controller, which the sidecar beside it has too: the real token, against the real API
 * server. It costs one pod's start, about five seconds: every attempt is a dry run, or refused.
 */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { PersistentVolume, Pod } from '../../src/kube/objects.ts';
import { connect, type ApiRequests } from '../harness/api-requests.ts';
import { HarnessError } from '../harness/index.ts';
import { API, byClass, claim, listener, pod, STORAGE_CLASS, type Manifest } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { collectionOf } from './support/paths.ts';

const DRIVER = 'listeners.stackable.tech';
/** Nothing is changed by what is not refused. */
const DRY = '?dryRun=All';
const POD = 'mounts';
const CLAIM = 'mounts-address';
const FOREIGN_CLAIM = 'data';
const USERS = 'users-own';
/** By RBAC, before any policy. */
const BY_ROLE = /: 403 .*cannot \w+ resource/;
const FINALIZER = 'example.com/stay';

type Attempt = readonly [what: string, attempt: () => Promise<unknown>, why: RegExp];

describe('the token of the controller', { timeout: 580_000 }, () => {
  // Before the namespace's own, which lets go of the cluster.
  after(async () => {
    await namespace.remove('v1', 'PersistentVolume', foreignVolume);
    await cluster.api.remove(`/apis/storage.k8s.io/v1/storageclasses/${foreignClass}`);
    await thief?.close();
  });
  const namespace = useNamespace('controller-token', { inside: { serviceType: 'ClusterIP' } });
  const { cluster, name: here } = namespace;
  const foreignVolume = `${here}-disk`;
  const foreignClass = `${here}-disks`;
  let thief: ApiRequests;
  let installedIn: string;
  let volume: PersistentVolume;
  let listenerUid: string;

  const at = (apiVersion: string, kind: string, name = ''): string => {
    const collection = collectionOf(apiVersion, kind, here);
    return name === '' ? `${collection}${DRY}` : `${collection}/${name}${DRY}`;
  };
  const patch = (apiVersion: string, kind: string, name: string, body: object) => () => thief.patch(at(apiVersion, kind, name), body);
  const create = (manifest: Manifest) => () => thief.create(at(manifest.apiVersion ?? '', manifest.kind ?? ''), manifest);
  const remove = (apiVersion: string, kind: string, name: string) => () => thief.remove(at(apiVersion, kind, name));
  const all =
    (...attempts: readonly (() => Promise<unknown>)[]) =>
    async (): Promise<void> => {
      // Each must be refused for the same reason, so none may hide behind another.
      const results = await Promise.allSettled(attempts.map((attempt) => attempt()));
      const reasons = results.map((result) => (result.status === 'rejected' ? String(result.reason) : 'done'));
      if (reasons.includes('done')) assert.fail(`attempt ${reasons.indexOf('done')} was not refused`);
      throw new HarnessError('API_REFUSED', reasons.join('\n'));
    };
  const refused = async (attempt: () => Promise<unknown>, why: RegExp): Promise<void> => {
    await assert.rejects(attempt, (error) => {
      assert.ok(error instanceof HarnessError, String(error));
      for (const line of error.message.split('\n')) assert.match(line, why);
      return true;
    });
  };
  const each = (attempts: readonly Attempt[]): void => {
    for (const [what, attempt, why] of attempts) it(what, () => refused(attempt, why));
  };

  const nameOfVolume = (): string => volume.metadata.name ?? '';
  const controlledBy = (uid: string, name = CLAIM): object => ({
    apiVersion: API,
    kind: 'Listener',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  });
  const service = (name: string, metadata: object = {}): Manifest => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, ...metadata },
    spec: { ports: [{ port: 80 }], selector: { app: 'bank' } },
  });
  const disk = (spec: object, name = `${here}-new`): Manifest => ({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '1' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Retain',
      storageClassName: STORAGE_CLASS,
      ...spec,
    },
  });

  before(async () => {
    const { items } = await cluster.api.get<{ items: readonly (Pod & { readonly spec: { readonly serviceAccountName: string } })[] }>(
      '/api/v1/pods?labelSelector=app.kubernetes.io%2Fname%3Dearshot%2Capp.kubernetes.io%2Fcomponent%3Dcontroller',
    );
    const [controller] = items;
    assert.ok(controller !== undefined, 'a controller runs');
    installedIn = controller.metadata.namespace ?? '';
    const token = await cluster.token(installedIn, controller.spec.serviceAccountName, { pod: controller.metadata.name ?? '' });
    thief = connect({ url: cluster.apiUrl, ca: cluster.state.credentials.ca, token });

    await cluster.api.create('/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name: foreignClass },
      provisioner: 'example.com/disks',
    });
    const ports = [{ name: 'http', containerPort: 8080 }];
    await namespace.create(
      pod(POD, { volumes: { address: byClass(namespace.className('inside')) }, ports }),
      {
        ...claim(FOREIGN_CLAIM, {}),
        spec: { storageClassName: '', accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1' } } },
      },
      disk({ hostPath: { path: '/tmp' }, storageClassName: 'nobody' }, foreignVolume),
      service(USERS),
      listener(USERS, { className: 'none' }),
    );
    await namespace.running(POD);
    volume = await namespace.volumeOf(CLAIM);
    listenerUid = (await namespace.ready(CLAIM)).metadata.uid ?? '';
  });

  describe('can do its work:', () => {
    const allowed: readonly (readonly [what: string, attempt: () => Promise<unknown>])[] = [
      ['label a pod for a Listener', patch('v1', 'Pod', POD, { metadata: { labels: { 'listener.stackable.tech/mnt.1': 'x' } } })],
      [
        'label a volume with its Listener',
        () => thief.patch(at('v1', 'PersistentVolume', nameOfVolume()), { metadata: { labels: { [`${DRIVER}/listener-name`]: 'x' } } }),
      ],
      ['make a volume of its own', () => create(disk({ csi: { driver: DRIVER, volumeHandle: 'x' } }))()],
      ['delete a claim of its provisioner', remove('v1', 'PersistentVolumeClaim', CLAIM)],
      ['change the Service of a Listener', patch('v1', 'Service', CLAIM, { spec: { publishNotReadyAddresses: false } })],
      ['change the Listener of a volume', patch(API, 'Listener', CLAIM, { spec: { ports: [{ name: 'x', port: 1 }] } })],
    ];
    for (const [what, attempt] of allowed) it(what, async () => void (await attempt()));
  });

  describe('cannot run code in a pod, nor move it:', () => {
    const image = { spec: { containers: [{ name: 'main', image: 'example.com/evil' }] } };
    const strategic = 'application/strategic-merge-patch+json';
    each([
      ['by its image', () => thief.patch(at('v1', 'Pod', POD), image, strategic), /403 .*may not change spec of a pod/],
      [
        'by its image in another namespace',
        async () => {
          const { items } = await cluster.api.get<{ items: readonly Pod[] }>(`/api/v1/namespaces/${installedIn}/pods`);
          const path = `/api/v1/namespaces/${installedIn}/pods/${items[0]?.metadata.name}${DRY}`;
          const containers = items[0]?.spec?.containers?.map((container) => ({ ...container, image: 'example.com/evil' }));
          return thief.patch(path, { spec: { containers } });
        },
        /403 .*may not change spec of a pod/,
      ],
      ['by its deadline', patch('v1', 'Pod', POD, { spec: { activeDeadlineSeconds: 1 } }), /403 .*may not change spec of a pod/],
      [
        'by what annotations make others do',
        patch('v1', 'Pod', POD, { metadata: { annotations: { 'pre.hook.backup.velero.io/command': 'sh' } } }),
        /403 .*metadata.annotations/,
      ],
      [
        'by owners and finalizers',
        all(
          patch('v1', 'Pod', POD, { metadata: { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'x', uid: 'x' }] } }),
          patch('v1', 'Pod', POD, { metadata: { finalizers: [FINALIZER] } }),
        ),
        /403 .*ownerReferences or finalizers/,
      ],
      [
        'by labels of others',
        all(
          patch('v1', 'Pod', POD, { metadata: { labels: { app: 'bank' } } }),
          patch('v1', 'Pod', POD, { metadata: { labels: { 'listener.stackable.tech/mnt': 'bank' } } }),
        ),
        /403 .*metadata.labels of a pod/,
      ],
      [
        'by subresources, a new pod, or a pod that goes',
        all(
          () =>
            thief.patch(
              `/api/v1/namespaces/${here}/pods/${POD}/ephemeralcontainers${DRY}`,
              { spec: { ephemeralContainers: [{ name: 'x', image: 'x' }] } },
              strategic,
            ),
          () => thief.patch(`/api/v1/namespaces/${here}/pods/${POD}/status${DRY}`, { status: { podIP: '192.0.2.1' } }),
          () => thief.patch(`/api/v1/namespaces/${here}/pods/${POD}/resize${DRY}`, {}),
          () => thief.create(`/api/v1/namespaces/${here}/pods/${POD}/binding${DRY}`, {}),
          () => thief.create(`/api/v1/namespaces/${here}/pods/${POD}/eviction${DRY}`, {}),
          () => thief.create(`/api/v1/namespaces/${here}/pods/${POD}/exec?command=sh`, {}),
          create(pod('evil')),
          remove('v1', 'Pod', POD),
        ),
        BY_ROLE,
      ],
    ]);
  });

  describe('cannot touch volumes and claims of others:', () => {
    const csi = { csi: { driver: DRIVER, volumeHandle: 'x' } };
    const onlyOwn = /403 .*only volumes whose spec.csi.driver is listeners.stackable.tech/;
    const onlyClaims = /403 .*only claims of the provisioner listeners.stackable.tech/;
    each([
      [
        'no volume of the host, or of another driver',
        all(create(disk({ hostPath: { path: '/' } })), create(disk({ csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-1' } }))),
        onlyOwn,
      ],
      [
        'no volume of another may be changed or deleted',
        all(
          () => thief.patch(at('v1', 'PersistentVolume', foreignVolume), { metadata: { labels: { [`${DRIVER}/listener-name`]: 'x' } } }),
          () => thief.patch(at('v1', 'PersistentVolume', foreignVolume), { spec: { persistentVolumeReclaimPolicy: 'Delete' } }),
          remove('v1', 'PersistentVolume', foreignVolume),
        ),
        onlyOwn,
      ],
      [
        'no claim of a class of others, or of none, is taken by a volume',
        all(create(disk({ ...csi, storageClassName: foreignClass })), create(disk({ ...csi, storageClassName: '' }))),
        /403 .*spec.storageClassName/,
      ],
      [
        'no Secret is handed to a node',
        create(disk({ csi: { ...csi.csi, nodePublishSecretRef: { name: 'x', namespace: 'kube-system' } } })),
        /403 .*SecretRef/,
      ],
      [
        'of its own volumes no spec',
        async () =>
          thief.patch(at('v1', 'PersistentVolume', nameOfVolume()), {
            spec: { claimRef: { name: FOREIGN_CLAIM, namespace: here, uid: null } },
          }),
        /403 .*may not change spec of a volume/,
      ],
      [
        'nor annotations, other labels, other finalizers',
        async () =>
          all(
            () => thief.patch(at('v1', 'PersistentVolume', nameOfVolume()), { metadata: { annotations: { a: 'b' } } }),
            () => thief.patch(at('v1', 'PersistentVolume', nameOfVolume()), { metadata: { labels: { a: 'b' } } }),
            () => thief.patch(at('v1', 'PersistentVolume', nameOfVolume()), { metadata: { finalizers: [FINALIZER] } }),
            () => thief.patch(at('v1', 'PersistentVolume', nameOfVolume()), { metadata: { finalizers: null } }),
          )(),
        /403 .*(annotations|labels|finalizers)/,
      ],
      [
        'no claim of another provisioner is deleted or changed',
        all(
          remove('v1', 'PersistentVolumeClaim', FOREIGN_CLAIM),
          patch('v1', 'PersistentVolumeClaim', FOREIGN_CLAIM, { spec: { volumeName: foreignVolume } }),
          patch('v1', 'PersistentVolumeClaim', FOREIGN_CLAIM, {
            metadata: { annotations: { 'volume.kubernetes.io/storage-provisioner': DRIVER } },
          }),
          patch('v1', 'PersistentVolumeClaim', `${FOREIGN_CLAIM}/status`, { status: { phase: 'Bound' } }),
        ),
        onlyClaims,
      ],
      [
        'of its own claims neither labels nor annotations nor finalizers',
        all(
          ...[{ labels: { a: 'b' } }, { annotations: { a: 'b' } }, { finalizers: [FINALIZER] }].flatMap((metadata) =>
            // A write of the status takes metadata, too.
            [CLAIM, `${CLAIM}/status`].map((name) => patch('v1', 'PersistentVolumeClaim', name, { metadata })),
          ),
        ),
        /403 .*(annotations|labels|finalizers) of a claim/,
      ],
    ]);
  });

  describe('cannot write Services and Listeners of others:', () => {
    const labels = { [`${DRIVER}/listener-name`]: 'new' };
    each([
      [
        'no Service without a Listener',
        all(
          create(service('new')),
          create(service('new', { labels })),
          create(service('new', { labels, ownerReferences: [{ ...controlledBy('1', 'new'), controller: false }] })),
          create(service('new', { labels, ownerReferences: [{ ...controlledBy('1', 'new'), kind: 'Deployment', apiVersion: 'apps/v1' }] })),
          () => create(service('new', { labels, ownerReferences: [controlledBy(listenerUid)] }))(),
        ),
        /403 .*the Listener of their name controls/,
      ],
      [
        "no user's Service, as it is or taken over",
        all(
          patch('v1', 'Service', USERS, { spec: { externalIPs: ['192.0.2.1'] } }),
          patch('v1', 'Service', USERS, {
            metadata: { labels: { [`${DRIVER}/listener-name`]: USERS }, ownerReferences: [controlledBy('1', USERS)] },
          }),
        ),
        /403 .*(the Listener of their name controls|take over a Service)/,
      ],
      [
        'none that its Listener could not find',
        create(service('new', { ownerReferences: [controlledBy('1', 'new')] })),
        /403 .*listener-name with its own name/,
      ],
      [
        'nor keep a Service from being deleted',
        patch('v1', 'Service', CLAIM, { metadata: { finalizers: [FINALIZER] } }),
        /403 .*metadata.finalizers of a Service/,
      ],
      [
        'delete none, and write no status of one',
        all(remove('v1', 'Service', CLAIM), () => thief.patch(`/api/v1/namespaces/${here}/services/${CLAIM}/status${DRY}`, { status: {} })),
        BY_ROLE,
      ],
      [
        "no user's Listener, and make none that belongs to no volume",
        all(
          patch(API, 'Listener', USERS, { spec: { className: 'external-stable' } }),
          create(listener('new', { className: 'external-stable' })),
        ),
        /403 .*belong to a PersistentVolume/,
      ],
      [
        "no overrides, no further selector in a volume's Listener",
        all(
          patch(API, 'Listener', CLAIM, { spec: { objectOverrides: [{ kind: 'Service' }] } }),
          patch(API, 'Listener', CLAIM, { spec: { extraPodSelectorLabels: { app: 'bank' } } }),
        ),
        /403 .*objectOverrides or spec.extraPodSelectorLabels/,
      ],
      [
        "nor give a volume's Listener another kind of owner, annotations or finalizers",
        all(
          patch(API, 'Listener', CLAIM, {
            metadata: {
              ownerReferences: [
                { apiVersion: 'v1', kind: 'PersistentVolume', name: 'x', uid: 'x' },
                { apiVersion: 'v1', kind: 'Namespace', name: 'x', uid: 'x' },
              ],
            },
          }),
          patch(API, 'Listener', CLAIM, { metadata: { annotations: { a: 'b' } } }),
          patch(API, 'Listener', CLAIM, { metadata: { finalizers: [FINALIZER] } }),
        ),
        /403 .*(ownerReferences|annotations or finalizers) of a Listener/,
      ],
      [
        'metadata of PodListeners',
        async () => {
          const { metadata } = await namespace.podListeners(POD);
          return patch(API, 'PodListeners', metadata.name ?? '', { metadata: { ownerReferences: [] } })();
        },
        /403 .*metadata of PodListeners/,
      ],
    ]);
  });

  describe('cannot change the rules of the cluster:', () => {
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const forged = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: 'forged' },
      regarding: { kind: 'Pod', name: POD, namespace: here },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'kubelet',
      reportingInstance: 'x',
      type: 'Warning',
      reason: 'Evicted',
      action: 'Evict',
    };
    const webhook = {
      conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://192.0.2.1/' } } },
    };
    each([
      [
        'by a conversion webhook',
        () => thief.patch(`${definitions}/listeners.listeners.stackable.tech${DRY}`, { spec: webhook }),
        /403 .*conversion webhook/,
      ],
      [
        'by a version that is served no longer, which takes all Listeners out of reach',
        () =>
          thief.patch(
            `${definitions}/listeners.listeners.stackable.tech${DRY}`,
            [{ op: 'replace', path: '/spec/versions/0/served', value: false }],
            'application/json-patch+json',
          ),
        /403 .*stop serving a version/,
      ],
      [
        'by owners or finalizers of a definition, which take all Listeners with it or hold it',
        all(
          ...[{ ownerReferences: [{ apiVersion: 'v1', kind: 'Namespace', name: 'x', uid: 'x' }] }, { finalizers: [FINALIZER] }].map(
            (metadata) => () => thief.patch(`${definitions}/listeners.listeners.stackable.tech${DRY}`, { metadata }),
          ),
        ),
        /403 .*ownerReferences or finalizers of a definition/,
      ],
      [
        'by classes of its own',
        create({ apiVersion: API, kind: 'ListenerClass', metadata: { name: `${here}-evil` }, spec: { serviceType: 'ClusterIP' } }),
        /403 .*only the ListenerClasses of a preset/,
      ],
      [
        'by other definitions, classes that exist, roles, policies, webhooks, Secrets, tokens, nodes or quotas',
        all(
          () => thief.get('/api/v1/secrets'),
          () => thief.get(`/api/v1/namespaces/${installedIn}/secrets`),
          () => thief.create(`/api/v1/namespaces/${installedIn}/serviceaccounts/default/token`, {}),
          () => thief.create('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {}),
          () => thief.create('/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', {}),
          ...['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map(
            (kind) => () => thief.remove(`/apis/admissionregistration.k8s.io/v1/${kind}/earshot-controller-pods${DRY}`),
          ),
          () => thief.patch(`/apis/${API}/listenerclasses/cluster-internal${DRY}`, { spec: { serviceType: 'NodePort' } }),
          () => thief.patch(`${definitions}/skupper.io${DRY}`, {}),
          () => thief.remove(`${definitions}/listeners.listeners.stackable.tech${DRY}`),
          () => thief.patch(`/api/v1/nodes/${cluster.nodes[0]?.name}${DRY}`, { metadata: { labels: { a: 'b' } } }),
          () => thief.create(`/apis/discovery.k8s.io/v1/namespaces/${here}/endpointslices`, {}),
          () => thief.create(`/api/v1/namespaces/${here}/configmaps`, {}),
          () => thief.get('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'),
          () => thief.create('/apis/coordination.k8s.io/v1/namespaces/kube-system/leases', {}),
        ),
        BY_ROLE,
      ],
      [
        "by events in others' names",
        all(create(forged), async () => {
          const event = await namespace.event({ kind: 'Pod', name: POD }, /assigned|Scheduled/);
          return patch('events.k8s.io/v1', 'Event', event.metadata.name ?? '', { metadata: { labels: { a: 'b' } } })();
        }),
        /403 .*events that it reports itself/,
      ],
    ]);
  });
});
