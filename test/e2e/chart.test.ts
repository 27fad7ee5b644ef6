/** The chart's life on a cluster of its own: install, upgrade and uninstall disturb whoever shares one. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { BUSYBOX_IMAGE, eventually, startCluster, stopCluster, type Cluster } from '../harness/index.ts';
import { run } from '../harness/command.ts';
import { installEarshot } from '../harness/install.ts';
import { toolFolder } from '../harness/tools.ts';

const NAME = 'chart-test';
const CHART = path.resolve(import.meta.dirname, '../../deploy/chart');
const SYSTEM = 'earshot-system';

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string };
  readonly spec: {
    readonly hostNetwork?: boolean;
    readonly hostPID?: boolean;
    readonly nodeName: string;
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

const helm = async (args: readonly string[], values?: object): Promise<string> =>
  run(
    `${await toolFolder('helm')}/helm`,
    [...args, ...(values === undefined ? [] : ['--values', '-'])],
    values === undefined ? {} : { input: JSON.stringify(values) },
  );

const everything = {
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  networkPolicy: { enabled: true, metricsFrom: [{ namespaceSelector: {} }] },
  dashboard: { enabled: true },
  imagePullSecrets: [{ name: 'registry' }],
  image: { repository: 'registry.example.com/earshot', digest: `sha256:${'0'.repeat(64)}` },
  manageCrds: false,
  controller: {
    replicas: 1,
    podAnnotations: { a: 'b' },
    podLabels: { c: 'd' },
    tolerations: [{ operator: 'Exists' }],
    nodeSelector: { e: 'f' },
    extraArgs: ['--concurrency=4'],
  },
  node: { maxUnavailable: 3, seLinuxOptions: { type: 'spc_t' }, mountPropagation: 'None', podAnnotations: { a: 'b' } },
};

describe('the chart, without a cluster', () => {
  it('with its default values is deploy/earshot.yaml', async () => {
    await run(process.execPath, [path.resolve(import.meta.dirname, '../../scripts/render-chart.ts'), '--check']);
  });

  it('passes helm lint, as it is and with every option', async () => {
    await helm(['lint', '--strict', CHART]);
    await helm(['lint', '--strict', CHART], everything);
    const rendered = await helm(['template', 'earshot', CHART], everything);
    assert.match(rendered, /image: "registry\.example\.com\/earshot@sha256:0+"/);
    assert.match(rendered, /kind: ServiceMonitor/);
    assert.match(rendered, /--no-manage-crds/);
    assert.doesNotMatch(rendered, /kind: PodDisruptionBudget/, 'one replica that may not be disrupted would block every drain');
  });

  const wrong: readonly (readonly [values: object, message: RegExp])[] = [
    [{ preset: 'ephemeral' }, /'\/preset': value must be one of 'ephemeral-nodes', 'stable-nodes', 'none'/],
    [{ kubeletDir: 'var/lib/kubelet' }, /'\/kubeletDir': 'var\/lib\/kubelet' does not match/],
    [{ kubeletDir: '/var/lib/../etc' }, /'\/kubeletDir': .* does not match/],
    [{ clusterDomain: 'cluster.local.' }, /'\/clusterDomain': .* does not match/],
    [{ logLevel: 'verbose' }, /'\/logLevel': value must be one of/],
    [{ controller: { replica: 3 } }, /'\/controller': additional properties 'replica' not allowed/],
    [{ controller: { replicas: '2' } }, /'\/controller\/replicas': got string, want integer/],
    [{ node: { maxUnavailable: '0%' } }, /'\/node\/maxUnavailable'/],
    [{ node: { mountPropagation: 'Bidirectional' } }, /'\/node\/mountPropagation': value must be one of 'HostToContainer', 'None'/],
    [{ image: { repository: 'registry.example.com/earshot@sha256:1' } }, /'\/image\/repository': .* does not match/],
    [{ provisioner: { retryIntervalMax: '10' } }, /'\/provisioner\/retryIntervalMax': '10' does not match/],
    [{ imagePullSecrets: ['registry'] }, /'\/imagePullSecrets\/0': got string, want object/],
  ];
  for (const [values, message] of wrong) {
    it(`refuses ${JSON.stringify(values)} and says where`, () => assert.rejects(helm(['template', 'earshot', CHART], values), message));
  }
});

describe('the chart on a cluster', { timeout: 580_000 }, () => {
  let cluster: Cluster;
  const helmOn = (args: readonly string[], values?: object): Promise<string> =>
    helm([...args, '--namespace', SYSTEM, '--kubeconfig', cluster.kubeconfig], values);
  const podsOf = async (namespace: string, selector: string): Promise<readonly Pod[]> =>
    (await cluster.api.get<{ items: readonly Pod[] }>(`/api/v1/namespaces/${namespace}/pods?labelSelector=${encodeURIComponent(selector)}`))
      .items;
  const components = (component: string): Promise<readonly Pod[]> => podsOf(SYSTEM, `app.kubernetes.io/component=${component}`);
  const inPod = (command: string): Promise<string> => cluster.exec('default', 'web-0', ['sh', '-c', command]);
  /** The tree, with inode numbers: a file that was written anew is another file. */
  const tree = (): Promise<string> =>
    inPod(
      'cd /listener; readlink default-address; for f in $(find default-address/ -type f | sort); do echo $f $(stat -c %i $f) $(cat $f); done',
    );

  before(async () => {
    await stopCluster(NAME);
    cluster = await startCluster({ name: NAME });
    await installEarshot(cluster);
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

  it('has the API server accept its optional parts', async () => {
    const { serviceMonitor: _needsItsDefinition, ...rest } = everything;
    const rendered = await helm(['template', 'other', CHART, '--namespace', SYSTEM], rest);
    await cluster.kubectl(['apply', '--dry-run=server', '--filename', '-'], { input: rendered });
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

  it('lets whoever may edit a namespace have Listeners there, and write no PodListeners', async () => {
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
      const seen = await tree();
      assert.match(seen, /^addresses\/\S+\n/);
      const pods = await podsOf('default', 'app=web');
      const drivers = await components('node');
      await inPod(
        'while [ ! -e /tmp/stop ]; do cat /listener/default-address/address >/dev/null || echo gone >> /tmp/missing; sleep 0.02; done >/dev/null 2>&1 &',
      );
      await installEarshot(cluster, { values: { logLevel: 'debug', networkPolicy: { enabled: true }, dashboard: { enabled: true } } });
      await helmOn(['status', 'earshot']);

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

    it('needed no right that it does not have, from install to upgrade', () => {
      const accounts = [`system:serviceaccount:${SYSTEM}:earshot-controller`, `system:serviceaccount:${SYSTEM}:earshot-node`];
      const refusals = readFileSync(cluster.auditLog, 'utf8')
        .split('\n')
        .filter((line) => line.includes('"code":403') && accounts.some((account) => line.includes(account)))
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

      await installEarshot(cluster);
      assert.equal(await kept(), objects);
      assert.equal(await tree(), seen);
      assert.deepEqual((await podsOf('default', 'app=web')).map(asSeen), pods.map(asSeen));
      // A pod that is made anew mounts again: everything that starts a pod works as before.
      await cluster.kubectl(['delete', 'pod', 'web-0', '--wait']);
      await cluster.kubectl(['rollout', 'status', 'statefulset/web', '--timeout=120s']);
      assert.equal(await kept(), objects);
    });
  });
});

function asSeen({ metadata, status }: Pod): unknown {
  return { name: metadata.name, uid: metadata.uid, restarts: status.containerStatuses?.map(({ restartCount }) => restartCount) };
}

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
