/** The chart's life on a cluster of its own: install, upgrade and uninstall do not disturb other users of the cluster. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { BUSYBOX_IMAGE, eventually, startCluster, stopCluster, type Cluster } from '../harness/index.ts';
import { installEarshot } from '../harness/install.ts';
import { CHART, everything, helm, listenerOperatorValues } from '../harness/chart.ts';

const NAME = 'chart-test';
const SYSTEM = 'earshot-system';
const DOMAIN = 'k8s.example';
const CSI_DRIVER = '/apis/storage.k8s.io/v1/csidrivers/listeners.stackable.tech';
const CONSTRAINTS = '/apis/security.openshift.io/v1/securitycontextconstraints';

interface Owned {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
}

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: {
    readonly hostNetwork?: boolean;
    readonly hostPID?: boolean;
    readonly nodeName: string;
    readonly priorityClassName?: string;
    readonly securityContext: SecurityContext;
    readonly containers: readonly { readonly name: string; readonly securityContext: SecurityContext }[];
  };
  readonly status: { readonly containerStatuses?: readonly { readonly restartCount: number }[] };
}

interface SecurityContext {
  readonly runAsUser?: number;
  readonly runAsNonRoot?: boolean;
  readonly privileged?: boolean;
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly capabilities?: { readonly add?: readonly string[]; readonly drop?: readonly string[] };
  readonly seccompProfile?: { readonly type: string };
}

const WITH_SIDECAR = { provisioner: { sidecar: true } };

describe('the chart on a cluster', { timeout: 580_000 }, () => {
  let cluster: Cluster;
  const helmOn = (args: readonly string[], values?: object): Promise<string> =>
    helm([...args, '--namespace', SYSTEM, '--kubeconfig', cluster.kubeconfig], values);
  const podsOf = async (namespace: string, selector: string): Promise<readonly Pod[]> =>
    (await cluster.api.get<{ items: readonly Pod[] }>(`/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`))
      .items;
  const modes = async (): Promise<readonly string[]> =>
    (await cluster.api.get<{ spec: { volumeLifecycleModes: readonly string[] } }>(CSI_DRIVER)).spec.volumeLifecycleModes;
  const components = (component: string): Promise<readonly Pod[]> => podsOf(SYSTEM, `app.kubernetes.io/component=${component}`);
  const inPod = (command: string): Promise<string> => cluster.exec('default', 'web-0', ['sh', '-c', command]);
  /** The tree, with inode numbers: a rewritten file is another file. */
  const tree = (): Promise<string> =>
    inPod(
      'cd /listener; readlink default-address; for f in $(find default-address/ -type f | sort); do echo $f $(stat -c %i $f) $(cat $f); done',
    );

  before(async () => {
    await stopCluster(NAME);
    cluster = await startCluster({ name: NAME, domain: DOMAIN });
    await cluster.kubectl(['create', '--filename', '-'], { input: JSON.stringify(securityContextConstraints) });
    // By another field manager than Helm, whose fields Helm does not take by default.
    await cluster.kubectl(['create', '--field-manager=olm', '--filename', '-'], { input: JSON.stringify(leftBehind) });
    await eventually('the API of OpenShift', () => cluster.api.find(CONSTRAINTS));
    // The upgrade below takes volumes over from the sidecar, and gives them back.
    await installEarshot(cluster, { values: WITH_SIDECAR, args: ['--take-ownership', '--force-conflicts'] });
  });
  after(async () => {
    await cluster[Symbol.asyncDispose]();
  });

  it('runs two controllers on two nodes and a driver on each node', async () => {
    const controllers = await components('controller');
    const drivers = await components('node');
    assert.equal(new Set(controllers.map(({ spec }) => spec.nodeName)).size, 2);
    assert.deepEqual(drivers.map(({ spec }) => spec.nodeName).toSorted(), cluster.nodes.map(({ name }) => name).toSorted());
    assert.deepEqual(
      drivers.map(({ spec }) => spec.containers.length),
      [1, 1],
    );
  });

  it('takes over the driver and the storage class that an earlier system left behind', async () => {
    const names = ['csidriver', 'storageclass'].map((kind) => `${kind}/listeners.stackable.tech`);
    const { items } = JSON.parse(await cluster.kubectl(['get', ...names, '--output=json'])) as { items: readonly Owned[] };
    assert.deepEqual(
      items.map(({ metadata }) => [metadata.labels['app.kubernetes.io/managed-by'], metadata.annotations['meta.helm.sh/release-name']]),
      [
        ['Helm', 'earshot'],
        ['Helm', 'earshot'],
      ],
    );
    assert.deepEqual(await modes(), ['Ephemeral', 'Persistent']);
  });

  it('has on OpenShift the constraints that its pods ask for, and grants them to their accounts', async () => {
    const { apiVersion, kind, metadata, ...stored } = await cluster.api.get<Owned>(`${CONSTRAINTS}/earshot-node`);
    const rendered = parseAllDocuments(await helm(['template', 'earshot', CHART, '--api-versions', 'security.openshift.io/v1']))
      .map((document) => document.toJS() as Owned | null)
      .find((object) => object?.kind === kind);
    assert.deepEqual({ apiVersion, kind, metadata: undefined, ...stored }, { ...rendered, metadata: undefined }, metadata.name);
    const mayUse = (account: string, constraints: string): Promise<boolean> =>
      cluster
        .kubectl([
          'auth',
          'can-i',
          'use',
          `securitycontextconstraints.security.openshift.io/${constraints}`,
          `--as=system:serviceaccount:${SYSTEM}:earshot-${account}`,
          `--namespace=${SYSTEM}`,
        ])
        .then(
          () => true,
          () => false,
        );
    assert.deepEqual(
      [await mayUse('node', 'earshot-node'), await mayUse('controller', 'nonroot-v2'), await mayUse('controller', 'earshot-node')],
      [true, true, false],
    );
  });

  it('brings its critical pods up where critical pods need a quota', async () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'critical' } };
    const spec = { priorityClassName: 'system-node-critical', containers: [{ name: 'main', image: BUSYBOX_IMAGE }] };
    await assert.rejects(
      cluster.api.create('/api/v1/namespaces/default/pods', { ...pod, spec }),
      /insufficient quota to match these scopes/,
    );
    assert.deepEqual(
      (await components('node')).map(({ spec: { priorityClassName } }) => priorityClassName),
      ['system-node-critical', 'system-node-critical'],
    );
  });

  it('finds out the domain of the cluster', async () => {
    const group = '/apis/listeners.stackable.tech/v1alpha1';
    const metadata = { name: 'named' };
    await cluster.api.create(`${group}/listenerclasses`, {
      apiVersion: 'listeners.stackable.tech/v1alpha1',
      kind: 'ListenerClass',
      metadata,
      spec: { serviceType: 'ClusterIP', preferredAddressType: 'Hostname' },
    });
    const spec = { className: 'named', ports: [{ name: 'http', port: 80 }] };
    const listener = { apiVersion: 'listeners.stackable.tech/v1alpha1', kind: 'Listener', metadata, spec };
    await cluster.api.create(`${group}/namespaces/default/listeners`, listener);
    const address = await eventually('an address', async () => {
      const { status } = await cluster.api.get<{ status?: { ingressAddresses?: readonly { address: string }[] } }>(
        `${group}/namespaces/default/listeners/named`,
      );
      return status?.ingressAddresses?.[0]?.address;
    });
    assert.equal(address, `named.default.svc.${DOMAIN}`);
    await cluster.api.remove(`${group}/namespaces/default/listeners/named`);
    await cluster.api.remove(`${group}/listenerclasses/named`);
  });

  it('gives no container a privilege, a writable root, an open seccomp profile, or a capability but the two that the driver needs', async () => {
    const needed = [
      ...(await components('controller')).map(({ spec }) => ({ spec, add: {} })),
      ...(await components('node')).map(({ spec }) => ({ spec, add: { add: ['DAC_OVERRIDE', 'FOWNER'] } })),
    ];
    for (const { spec, add } of needed) {
      assert.equal(spec.securityContext.seccompProfile?.type, 'RuntimeDefault');
      assert.deepEqual([spec.hostNetwork ?? false, spec.hostPID ?? false], [false, false]);
      for (const { securityContext } of spec.containers) {
        assert.deepEqual(securityContext, {
          allowPrivilegeEscalation: false,
          privileged: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'], ...add },
        });
      }
    }
    assert.deepEqual(
      (await components('controller')).map(({ spec }) => [spec.securityContext.runAsNonRoot, spec.securityContext.runAsUser]),
      [
        [true, 65532],
        [true, 65532],
      ],
    );
  });

  it('leaves the running driver those two capabilities, as the kernel sees it', async () => {
    const [driver] = await components('node');
    const read = "process.stdout.write(require('fs').readFileSync('/proc/1/status', 'utf8'))";
    const status = await cluster.exec(SYSTEM, driver?.metadata.name ?? '', ['/usr/local/bin/node', '-e', read]);
    const dacOverrideAndFowner = ((1 << 1) | (1 << 3)).toString(16).padStart(16, '0');
    for (const set of ['CapPrm', 'CapEff', 'CapBnd']) assert.match(status, new RegExp(`^${set}:\\s*${dacOverrideAndFowner}$`, 'm'));
    assert.match(status, /^CapAmb:\s*0+$/m);
    assert.match(status, /^NoNewPrivs:\s*1$/m);
    assert.match(status, /^Seccomp:\s*2$/m);
  });

  it('makes the classes of its preset', async () => {
    const names = await eventually('the classes', async () => {
      const { items } = await cluster.api.get<{ items: readonly { metadata: { name: string } }[] }>(
        '/apis/listeners.stackable.tech/v1alpha1/listenerclasses',
      );
      return items.length === 3 && items.map(({ metadata }) => metadata.name);
    });
    assert.deepEqual(names.toSorted(), ['cluster-internal', 'external-stable', 'external-unstable']);
  });

  it('has the API server accept its optional parts, and what values of the listener-operator’s chart render', async () => {
    const { serviceMonitor: _needsItsDefinition, prometheusRule: _alsoDoes, connection, ...exposure } = everything;
    const { podMonitor: _needsItsToo, ...withoutMonitor } = connection;
    for (const values of [{ ...exposure, connection: withoutMonitor }, listenerOperatorValues()]) {
      // The pod of helm test needs an account that a dry run does not create.
      const rendered = await helm(
        ['template', 'other', CHART, '--namespace', SYSTEM, '--no-hooks', '--api-versions', 'security.openshift.io/v1'],
        values,
      );
      await cluster.kubectl(['apply', '--dry-run=server', '--filename', '-'], { input: rendered });
    }
  });

  it('refuses an inline volume where the pod is created, and says what to write', async () => {
    const volumes = [{ name: 'address', csi: { driver: 'listeners.stackable.tech' } }];
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'inline' },
      spec: { containers: [{ name: 'main', image: BUSYBOX_IMAGE }], volumes },
    };
    await assert.rejects(
      cluster.api.create('/api/v1/namespaces/default/pods', pod),
      /volumes \[address\] name the driver listeners\.stackable\.tech inline.*Use volumes\[\]\.ephemeral\.volumeClaimTemplate with storageClassName: listeners\.stackable\.tech/,
    );
  });

  it('lets an editor of a namespace have Listeners there, and write no PodListeners', async () => {
    await cluster.kubectl(['create', 'rolebinding', 'editor', '--clusterrole=edit', '--user=jane', '--namespace=default']);
    const may = (verb: string, resource: string): Promise<boolean> =>
      cluster.kubectl(['auth', 'can-i', verb, `${resource}.listeners.stackable.tech`, '--as=jane', '--namespace=default']).then(
        () => true,
        () => false,
      );
    // Reading is aggregated into one role after the other.
    await eventually('the roles to be aggregated', async () => (await may('create', 'listeners')) && (await may('get', 'podlisteners')));
    assert.deepEqual(
      [await may('get', 'podlisteners'), await may('create', 'podlisteners'), await may('patch', 'podlisteners')],
      [true, false, false],
    );
  });

  describe('with volumes mounted', () => {
    before(async () => {
      await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(web) });
      await cluster.kubectl(['rollout', 'status', 'statefulset/web', '--timeout=120s']);
    });

    it('upgrades driver and controller without touching them, and follows addresses afterwards', async () => {
      // The field cannot change, and Earshot once wrote another list.
      const driver = withoutInlineVolumes(await cluster.api.get<Owned & { spec: object }>(CSI_DRIVER));
      await cluster.api.remove(CSI_DRIVER);
      await cluster.api.create(path.dirname(CSI_DRIVER), driver);
      const seen = await tree();
      assert.match(seen, /^addresses\/\S+\n/);
      const pods = await podsOf('default', 'app=web');
      const drivers = await components('node');
      await inPod(
        'while [ ! -e /tmp/stop ]; do cat /listener/default-address/address >/dev/null || echo gone >> /tmp/missing; sleep 0.02; done >/dev/null 2>&1 &',
      );
      await installEarshot(cluster, { values: { logLevel: 'debug', networkPolicy: { enabled: true }, dashboard: { enabled: true } } });
      await helmOn(['status', 'earshot']);
      assert.deepEqual(await modes(), ['Persistent']);

      const replaced = await components('node');
      assert.deepEqual(
        replaced.filter(({ metadata }) => drivers.some((old) => old.metadata.uid === metadata.uid)),
        [],
        'every driver is a new pod',
      );
      assert.deepEqual((await podsOf('default', 'app=web')).map(asSeen), pods.map(asSeen));
      assert.equal(await tree(), seen);
      assert.equal(await inPod('touch /tmp/stop; cat /tmp/missing 2>/dev/null || echo none'), 'none\n');

      const node = pods.find(({ metadata }) => metadata.name === 'web-0')?.spec.nodeName ?? '';
      const own = cluster.nodes.find(({ name }) => name === node)?.addresses[0] ?? '';
      await cluster.setNodeAddresses(node, [
        { type: 'InternalIP', address: own },
        { type: 'ExternalIP', address: '198.51.100.20' },
      ]);
      await eventually(
        'the new address in the pod',
        async () => (await inPod('cat /listener/default-address/address')) === '198.51.100.20',
      );
    });

    it('goes on with volumes that the sidecar made, as the sidecar does with those of the controller', async () => {
      // Pods of before take a while to end.
      const untilContainers = (count: number): Promise<unknown> =>
        eventually(`controllers of ${count} containers`, async () =>
          (await components('controller')).every(({ spec }) => spec.containers.length === count),
        );
      await untilContainers(1);
      await replaceVolume();
      await installEarshot(cluster, { values: WITH_SIDECAR });
      await untilContainers(2);
      await replaceVolume();
    });

    /** The volume of web-1 goes with its claim, and another comes with the next. */
    async function replaceVolume(): Promise<void> {
      const volume = await cluster.kubectl(['get', 'pvc', 'listener-web-1', '--namespace=default', '-o', 'jsonpath={.spec.volumeName}']);
      await cluster.kubectl(['scale', 'statefulset/web', '--namespace=default', '--replicas=1']);
      await cluster.kubectl(['delete', 'pvc', 'listener-web-1', '--namespace=default', '--wait', '--timeout=60s']);
      await cluster.kubectl(['wait', '--for=delete', `pv/${volume}`, '--timeout=60s']);
      await cluster.kubectl(['scale', 'statefulset/web', '--namespace=default', '--replicas=2']);
      await cluster.kubectl(['rollout', 'status', 'statefulset/web', '--namespace=default', '--timeout=120s']);
    }

    it('needed no right that it does not have, from install to upgrade', () => {
      const accounts = [`system:serviceaccount:${SYSTEM}:earshot-controller`, `system:serviceaccount:${SYSTEM}:earshot-node`];
      const refusals = readFileSync(cluster.auditLog, 'utf8')
        .split('\n')
        // A sidecar's role goes before the sidecar does.
        .filter(
          (line) =>
            line.includes('"code":403') &&
            !line.includes('"userAgent":"csi-provisioner') &&
            accounts.some((account) => line.includes(account)),
        )
        .map((line) => JSON.parse(line) as { verb: string; requestURI: string; responseStatus: { message: string } })
        .map(({ verb, requestURI, responseStatus }) => `${verb} ${requestURI}: ${responseStatus.message}`);
      assert.deepEqual(refusals, []);
    });

    it('is uninstalled without a Listener, an address or a running pod being lost, and comes back to them', async () => {
      const kept = async (): Promise<string> =>
        cluster.kubectl([
          'get',
          'listeners,services,persistentvolumeclaims,listenerclasses',
          '--namespace=default',
          '-o',
          'jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.uid} {.spec.ports}{"\\n"}{end}',
        ]);
      const [objects, seen, pods] = [await kept(), await tree(), await podsOf('default', 'app=web')];
      assert.match(objects, /Listener\/listener-web-0/);
      await helmOn(['uninstall', 'earshot', '--wait']);
      await eventually('the drivers to be gone', async () => (await components('node')).length === 0, { timeoutMs: 120_000 });
      assert.equal(await kept(), objects);
      assert.equal(await tree(), seen);

      // What the kubelet asks for while no driver is there that could answer.
      const web1 = pods.find(({ metadata }) => metadata.name === 'web-1');
      const { uid } = web1?.metadata ?? assert.fail();
      await cluster.kubectl(['delete', 'pod', 'web-1', '--grace-period=1', '--wait=false']);
      await eventually('the kubelet to miss the driver', () => {
        const log = readFileSync(`${cluster.logs}/${web1?.spec.nodeName}-kubelet.log`, 'utf8').split('\n');
        return log.some((line) => line.includes(uid) && /TearDownAt.*listeners\.stackable\.tech not found/.test(line));
      });
      assert.equal((await podsOf('default', 'app=web')).find(({ metadata }) => metadata.name === 'web-1')?.metadata.uid, uid);

      await installEarshot(cluster);
      await eventually('the pod to go, and another to take its place', async () => {
        const now = (await podsOf('default', 'app=web')).find(({ metadata }) => metadata.name === 'web-1');
        return now !== undefined && now.metadata.uid !== uid;
      });
      assert.deepEqual(await modes(), ['Ephemeral', 'Persistent']);
      assert.equal(await kept(), objects);
      assert.equal(await tree(), seen);
      const [seenThen, seenNow] = [pods, await podsOf('default', 'app=web')].map((all) =>
        all.filter(({ metadata }) => metadata.name === 'web-0').map(asSeen),
      );
      assert.deepEqual(seenNow, seenThen);
      // A recreated pod mounts again: everything that starts a pod works as before.
      await cluster.kubectl(['delete', 'pod', 'web-0', '--wait']);
      await cluster.kubectl(['rollout', 'status', 'statefulset/web', '--timeout=120s']);
      assert.equal(await kept(), objects);
    });
  });
});

function withoutInlineVolumes({ metadata: { name, labels, annotations }, spec, ...rest }: Owned & { readonly spec: object }): object {
  return { ...rest, metadata: { name, labels, annotations }, spec: { ...spec, volumeLifecycleModes: ['Persistent'] } };
}

function asSeen({ metadata, status }: Pod): unknown {
  return { name: metadata.name, uid: metadata.uid, restarts: status.containerStatuses?.map(({ restartCount }) => restartCount) };
}

/** OpenShift's, as far as the chart writes it; what the schema does not know would be dropped. */
const securityContextConstraints = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: 'securitycontextconstraints.security.openshift.io',
    // Groups of Kubernetes' own vendors have to say who approved them.
    annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' },
  },
  spec: {
    group: 'security.openshift.io',
    scope: 'Cluster',
    names: { kind: 'SecurityContextConstraints', plural: 'securitycontextconstraints', singular: 'securitycontextconstraints' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: constraintsSchema() } }],
  },
};

function constraintsSchema(): object {
  const of = (schema: object, names: readonly string[]): object => Object.fromEntries(names.map((name) => [name, schema]));
  const flags = ['PrivilegedContainer', 'HostDirVolumePlugin', 'HostIPC', 'HostNetwork', 'HostPID', 'HostPorts'].map(
    (name) => `allow${name}`,
  );
  const lists = ['allowedCapabilities', 'defaultAddCapabilities', 'requiredDropCapabilities', 'volumes'];
  return {
    type: 'object',
    required: [...flags, ...lists, 'priority', 'readOnlyRootFilesystem'],
    properties: {
      ...of({ type: 'boolean' }, [...flags, 'allowPrivilegeEscalation', 'readOnlyRootFilesystem']),
      ...of({ type: 'array', nullable: true, items: { type: 'string' } }, [...lists, 'seccompProfiles', 'users', 'groups']),
      ...of({ type: 'object', nullable: true, properties: { type: { type: 'string' } } }, [
        'runAsUser',
        'fsGroup',
        'supplementalGroups',
        'seLinuxContext',
      ]),
      priority: { type: 'integer', format: 'int32', nullable: true },
    },
  };
}

/** What an operator bundle of the listener-operator leaves when it is removed. */
const leftBehind = {
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSIDriver',
      metadata: { name: 'listeners.stackable.tech', labels: { 'app.kubernetes.io/name': 'listener-operator' } },
      spec: { attachRequired: false, podInfoOnMount: true, fsGroupPolicy: 'File', volumeLifecycleModes: ['Ephemeral', 'Persistent'] },
    },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'listeners.stackable.tech', labels: { 'app.kubernetes.io/name': 'listener-operator' } },
      provisioner: 'listeners.stackable.tech',
      volumeBindingMode: 'WaitForFirstConsumer',
    },
  ],
};

const web = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'web', namespace: 'default' },
  spec: {
    replicas: 2,
    serviceName: 'web',
    podManagementPolicy: 'Parallel',
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        containers: [
          {
            name: 'main',
            image: BUSYBOX_IMAGE,
            imagePullPolicy: 'Never',
            command: ['sh', '-c', 'exec httpd -f -p 8080 -h /listener'],
            ports: [{ name: 'http', containerPort: 8080 }],
            volumeMounts: [{ name: 'listener', mountPath: '/listener' }],
          },
        ],
      },
    },
    volumeClaimTemplates: [
      {
        metadata: { name: 'listener', annotations: { 'listeners.stackable.tech/listener-class': 'external-unstable' } },
        spec: { accessModes: ['ReadWriteMany'], storageClassName: 'listeners.stackable.tech', resources: { requests: { storage: '1' } } },
      },
    ],
  },
};
