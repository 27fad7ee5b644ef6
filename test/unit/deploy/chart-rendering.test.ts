/** Output and refusals of the chart. It needs Helm and no cluster. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, it } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { chartArchive } from '../../../scripts/dist/chart-archive.ts';
import { run } from '../../harness/command.ts';
import { CHART, everything, helm, isHelmBuilt, listenerOperatorValues } from '../../harness/chart.ts';

interface Rendered {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  // What is looked at is asserted at once.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly [field: string]: any;
}

const renderings = new Map<string, Promise<readonly Rendered[]>>();

/** Renders the chart once for each set of values and arguments. */
function render(values: object = {}, args: readonly string[] = []): Promise<readonly Rendered[]> {
  const key = JSON.stringify([values, args]);
  const found = renderings.get(key) ?? runHelmTemplate(values, args);
  renderings.set(key, found);
  return found;
}

async function runHelmTemplate(values: object, args: readonly string[]): Promise<readonly Rendered[]> {
  return parseAllDocuments(await helm(['template', 'earshot', CHART, '--namespace', 'mine', '--skip-tests', ...args], values)).flatMap(
    (document) => (document.toJS() as Rendered | null) ?? [],
  );
}

function only(rendered: readonly Rendered[], kind: string, name?: string): Rendered {
  const found = rendered.filter((object) => object.kind === kind && (name === undefined || object.metadata.name === name));
  assert.equal(found.length, 1, `${kind} ${name ?? ''}: ${found.length}`);
  return found[0] ?? assert.fail();
}

const podOf = (rendered: readonly Rendered[], kind: 'Deployment' | 'DaemonSet', name?: string) =>
  only(rendered, kind, name)['spec'].template.spec;
/** Whether an object is of the connection half. */
const isOfSites = ({ metadata }: Rendered): boolean => metadata.labels['application'] === 'skupper-controller';
const sitesOnly = { exposure: { enabled: false }, connection: { enabled: true } };

// In CI, a missing Helm is built or is a failure.
const canRender = process.env['CI'] === 'true' || (await isHelmBuilt());
it('has Helm to render the chart with', { skip: canRender ? false : 'Helm is not built: run tools/build.sh helm' }, async () => {
  assert.match(await helm(['version', '--short']), /^v4\./);
});
const describeChart = canRender ? describe : () => undefined;

describeChart('the chart', () => {
  it('renders from the file of a release as from its folder', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'earshot-chart-'));
    try {
      const file = path.join(folder, 'chart.tgz');
      await writeFile(file, await chartArchive());
      assert.equal(await helm(['template', 'earshot', file]), await helm(['template', 'earshot', CHART]));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });

  it('is in deploy/ as it is rendered', async () => {
    await run(process.execPath, [path.resolve(import.meta.dirname, '../../../scripts/render-chart.ts'), '--check']);
  });

  it('passes helm lint, as it is and with every option', async () => {
    await helm(['lint', '--strict', CHART]);
    await helm(['lint', '--strict', CHART], everything);
    const rendered = await helm(['template', 'earshot', CHART], everything);
    assert.match(rendered, /image: "registry\.example\.com\/earshot@sha256:0+"/);
    assert.match(rendered, /kind: ServiceMonitor/);
    assert.match(rendered, /--no-manage-crds/);
    const controllers = parseAllDocuments(rendered)
      .map((document) => document.toJS())
      .filter((object) => object?.kind === 'ValidatingAdmissionPolicyBinding' && /-controller-/.test(object.metadata.name));
    assert.deepEqual([...new Set(controllers.flatMap(({ spec }) => spec.validationActions))], ['Warn'], 'rbac.controllerPolicies');
    assert.doesNotMatch(rendered, /kind: PodDisruptionBudget/, 'one replica that may not be disrupted would block every drain');
  });

  const wrong: readonly (readonly [values: object, message: RegExp])[] = [
    [{ rbac: { controllerPolicies: 'Allow' } }, /'\/rbac\/controllerPolicies': value must be one of 'Deny', 'Warn', 'Audit'/],
    [{ preset: 'ephemeral' }, /'\/preset': value must be one of 'ephemeral-nodes', 'stable-nodes', 'none'/],
    [{ kubeletDir: 'var/lib/kubelet' }, /'\/kubeletDir': 'var\/lib\/kubelet' does not match/],
    [{ kubeletDir: '/var/lib/../etc' }, /'\/kubeletDir': .* does not match/],
    [{ clusterDomain: 'cluster..local' }, /'\/clusterDomain': .* does not match/],
    [{ logLevel: 'verbose' }, /'\/logLevel': value must be one of/],
    [{ controller: { replica: 3 } }, /'\/controller': additional properties 'replica' not allowed/],
    [{ controller: { replicas: '2' } }, /'\/controller\/replicas': got string, want integer/],
    [{ controller: { replicas: 0 } }, /'\/controller\/replicas': minimum: got 0, want 1/],
    [{ node: { maxUnavailable: '0%' } }, /'\/node\/maxUnavailable'/],
    [{ node: { mountPropagation: 'Bidirectional' } }, /'\/node\/mountPropagation': value must be one of 'HostToContainer', 'None'/],
    [{ node: { resources: { requests: { cpu: 'xx' } } } }, /'\/node\/resources\/requests\/cpu': .*'xx' does not match/s],
    [{ controller: { resources: { limits: { memory: '128mib' } } } }, /'\/controller\/resources\/limits\/memory': .*does not match/s],
    [{ image: { repository: 'registry.example.com/earshot@sha256:1' } }, /'\/image\/repository': .* does not match/],
    [{ provisioner: { retryIntervalMax: '10' } }, /'\/provisioner\/retryIntervalMax': '10' does not match/],
    [{ imagePullSecrets: ['registry'] }, /'\/imagePullSecrets\/0': got string, want object/],
    [{ csiNodeDriver: { toleration: [] } }, /'\/csiNodeDriver': additional properties 'toleration' not allowed/],
    [{ telemetry: { consoleLog: { levels: 'info' } } }, /'\/telemetry\/consoleLog': additional properties 'levels' not allowed/],
    [{ serviceAccount: { annotation: {} } }, /'\/serviceAccount': additional properties 'annotation' not allowed/],
    [{ exposure: { enabled: false } }, /exposure\.enabled and connection\.enabled are both false: nothing would be installed/],
    [{ connection: { scope: 'galaxy' } }, /'\/connection\/scope': value must be one of 'cluster', 'namespace'/],
    [{ connection: { enabledAccessTypes: ['a,b'] } }, /'\/connection\/enabledAccessTypes'/],
    [{ connection: { grants: { baseUrl: 'http://a' } } }, /'\/connection\/grants\/baseUrl': .* does not match/],
    [{ scope: 'galaxy' }, /'\/scope': value must be one of '', 'cluster', 'namespace'/],
    [{ connection: { enabled: true, scope: null } }, /older than its values, so upgrade it with --reset-then-reuse-values/],
    [{ nameOverride: 'Upper' }, /'\/nameOverride': 'Upper' does not match/],
  ];
  for (const [values, message] of wrong) {
    it(`refuses ${JSON.stringify(values)} and says where`, () => assert.rejects(helm(['template', 'earshot', CHART], values), message));
  }

  it('puts labels on every object and on pods, once, and never in the place of its own', async () => {
    const labels = { team: 'platform', release: 'a', 'app.kubernetes.io/name': 'other', 'app.kubernetes.io/component': 'other', on: 'yes' };
    const rendered = await render({
      ...everything,
      labels,
      serviceMonitor: { enabled: true, labels: { release: 'b' } },
      node: { podLabels: { team: 'storage' } },
    });
    assert.ok(rendered.length > 15);
    for (const { kind, metadata } of rendered) {
      assert.equal(metadata.labels['team'], 'platform', `${kind} ${metadata.name}`);
      const own = metadata.labels['application'] ?? 'earshot';
      assert.equal(metadata.labels['app.kubernetes.io/name'], own, `${kind} ${metadata.name}`);
      assert.notEqual(metadata.labels['app.kubernetes.io/component'], 'other', `${kind} ${metadata.name}`);
    }
    assert.equal(only(rendered, 'ServiceMonitor', 'earshot-node').metadata.labels['release'], 'b');
    assert.equal(only(rendered, 'DaemonSet')['spec'].template.metadata.labels.team, 'storage');
    for (const name of ['earshot-controller', 'skupper-controller'])
      assert.equal(only(rendered, 'Deployment', name)['spec'].template.metadata.labels.on, 'yes');
    assert.equal(only(rendered, 'DaemonSet')['spec'].selector.matchLabels.team, undefined, 'a selector cannot change, labels may');
  });

  it('separates the two accounts, for all names and for all creators', async () => {
    const accountsOf = (rendered: readonly Rendered[]) => ({
      created: rendered.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name),
      used: [podOf(rendered, 'Deployment').serviceAccountName, podOf(rendered, 'DaemonSet').serviceAccountName],
      bound: [...new Set(rendered.flatMap((object) => (object['subjects'] ?? []).map(({ name }: { name: string }) => name)))].toSorted(),
    });
    const named = await render({ serviceAccount: { name: 'given', annotations: { a: 'b' } } }, [
      '--api-versions',
      'security.openshift.io/v1',
    ]);
    const both = ['given-controller', 'given-node'];
    assert.deepEqual(accountsOf(named), { created: both, used: both, bound: both });
    assert.deepEqual(only(named, 'ServiceAccount', 'given-node').metadata.annotations, { a: 'b' });
    const policy = only(named, 'ValidatingAdmissionPolicy', 'earshot-node')['spec'];
    assert.match(JSON.stringify(policy.matchConditions), /system:serviceaccount:mine:given-node/);
    const policed = named
      .filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
      .map(({ spec }) => JSON.stringify(spec.matchConditions ?? []));
    assert.ok(policed.some((conditions) => conditions.includes('system:serviceaccount:mine:given-controller')));
    assert.ok(policed.every((conditions) => !conditions.includes(':earshot-')));
    assert.deepEqual(accountsOf(await render({ serviceAccount: { create: false, name: 'given' } })), {
      created: [],
      used: both,
      bound: both,
    });
  });

  it('begins all names with the release’s and nameOverride, or with fullnameOverride', async () => {
    const named = async (values: object) => {
      const { metadata, spec } = only(await render(values), 'DaemonSet') as Rendered & { spec: { selector: { matchLabels: object } } };
      return [metadata.name, spec.selector.matchLabels];
    };
    const labels = (name: string) => ({
      'app.kubernetes.io/name': name,
      'app.kubernetes.io/instance': 'earshot',
      'app.kubernetes.io/component': 'node',
    });
    assert.deepEqual(await named({}), ['earshot-node', labels('earshot')]);
    assert.deepEqual(await named({ nameOverride: 'listeners' }), ['earshot-listeners-node', labels('listeners')]);
    assert.deepEqual(await named({ nameOverride: 'ear' }), ['earshot-node', labels('ear')]);
    assert.deepEqual(await named({ fullnameOverride: 'mine' }), ['mine-node', labels('earshot')]);
  });

  it('runs the driver on Linux and on no node that is only played, beside what else is asked', async () => {
    const real = { key: 'type', operator: 'NotIn', values: ['virtual-kubelet'] };
    const placed = async (node: object) => {
      const { nodeSelector, affinity } = podOf(await render({ node }), 'DaemonSet');
      return { nodeSelector, terms: affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms, affinity };
    };
    const usual = await placed({});
    assert.deepEqual([usual.nodeSelector, usual.terms], [{ 'kubernetes.io/os': 'linux' }, [{ matchExpressions: [real] }]]);
    const fast = { key: 'disk', operator: 'In', values: ['fast'] };
    const preferred = [{ weight: 1, preference: { matchExpressions: [fast] } }];
    const asked = await placed({
      nodeSelector: { disk: 'fast' },
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: preferred,
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [fast] }, { matchFields: [fast] }] },
        },
        podAntiAffinity: {},
      },
    });
    assert.deepEqual(asked.nodeSelector, { disk: 'fast', 'kubernetes.io/os': 'linux' });
    assert.deepEqual(asked.terms, [{ matchExpressions: [fast, real] }, { matchFields: [fast], matchExpressions: [real] }]);
    assert.deepEqual(asked.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution, preferred);
    assert.deepEqual(asked.affinity.podAntiAffinity, {});
  });

  it('asks for a quota where its pods are critical, outside kube-system', async () => {
    const quotas = async (values: object, args: readonly string[] = []) =>
      (await render(values, args))
        .filter(({ kind }) => kind === 'ResourceQuota')
        .map(({ spec }) => spec.scopeSelector.matchExpressions[0].values);
    assert.deepEqual(await quotas({}), [['system-cluster-critical', 'system-node-critical']]);
    assert.deepEqual(await quotas({ controller: { priorityClassName: 'mine' } }), [['system-node-critical']]);
    assert.deepEqual(await quotas({ controller: { priorityClassName: '' }, node: { priorityClassName: 'mine' } }), []);
    assert.deepEqual(await quotas({}, ['--namespace', 'kube-system']), []);
    assert.deepEqual(await quotas({ resourceQuota: { enabled: false } }), []);
  });

  describe('for the account of a console, which users of its namespace can act with', () => {
    const rightsOf = async (exposure: object): Promise<readonly string[]> => {
      const rendered = await render({ console: { enabled: true, namespaces: ['west'] }, connection: { enabled: true }, exposure });
      const bindings = rendered.filter(
        ({ kind, subjects }) =>
          kind === 'ClusterRoleBinding' && subjects.some(({ namespace }: { namespace: string }) => namespace === 'west'),
      );
      const names = new Set<string>(bindings.map(({ roleRef }) => roleRef.name));
      // The ClusterRole of Kubernetes for TokenReview and SubjectAccessReview.
      assert.ok(names.delete('system:auth-delegator'));
      return [...names].flatMap((name) =>
        only(rendered, 'ClusterRole', name)['rules'].flatMap(
          ({ verbs, resources, resourceNames = [] }: { verbs: string[]; resources: string[]; resourceNames?: string[] }) =>
            resources.map((each) => [verbs.join(','), each, ...resourceNames].join(' ')),
        ),
      );
    };

    it('gets volumes by name, lists classes and one Lease, and reads no nodes', async () => {
      assert.deepEqual(await rightsOf({ enabled: true }), [
        'get,list listenerclasses',
        'get persistentvolumes',
        'get storageclasses',
        'get csinodes',
        'list leases earshot-controller',
      ]);
    });

    it('has no right outside of the namespace without the exposure half', async () => {
      assert.deepEqual(await rightsOf({ enabled: false }), []);
    });
  });

  it('has what OpenShift asks for where it is served, and nowhere else', async () => {
    assert.ok((await render()).every(({ kind }) => kind !== 'SecurityContextConstraints'));
    const rendered = await render({}, ['--api-versions', 'security.openshift.io/v1']);
    const constraints = only(rendered, 'SecurityContextConstraints');
    const pod = podOf(rendered, 'DaemonSet');
    const [container] = pod.containers;
    assert.deepEqual(constraints['allowedCapabilities'], container.securityContext.capabilities.add);
    assert.deepEqual(constraints['requiredDropCapabilities'], container.securityContext.capabilities.drop);
    // The token's volume is added by the API server.
    const volumes = new Set(pod.volumes.flatMap((volume: object) => Object.keys(volume).filter((key) => key !== 'name')));
    assert.deepEqual(constraints['volumes'], [...volumes, 'projected']);
    const uses = rendered
      .filter(({ kind, rules }) => kind === 'Role' && rules[0].verbs.includes('use'))
      .map(({ metadata, rules }) => [metadata.name, rules[0].resourceNames]);
    assert.deepEqual(Object.fromEntries(uses), {
      'earshot-controller-security': ['nonroot-v2'],
      'earshot-node-security': ['earshot-node'],
    });
  });

  it('gives its controllers less time to end than a drain may take, where a sidecar uses up all of it', async () => {
    assert.equal(podOf(await render({ provisioner: { sidecar: true } }), 'Deployment').terminationGracePeriodSeconds, 10);
  });

  it('renders the same with the values of a release that is older than the newest of them', async () => {
    assert.deepEqual(
      await render({
        nameOverride: null,
        labels: null,
        serviceAccount: null,
        resourceQuota: null,
        prometheusRule: null,
        provisioner: { sidecar: null },
        rbac: { everyoneReadsClasses: null, controllerPolicies: null },
        exposure: null,
        connection: null,
      }),
      await render(),
    );
  });

  it('lets its driver write below the kubelet’s folder where SELinux is enforced, by default', async () => {
    assert.deepEqual(podOf(await render(), 'DaemonSet').securityContext.seLinuxOptions, { type: 'spc_t' });
    assert.equal(podOf(await render({ node: { seLinuxOptions: null } }), 'DaemonSet').securityContext.seLinuxOptions, undefined);
  });
});

describeChart('the two halves of the chart', () => {
  it('are installed apart: of one that is off there is nothing', async () => {
    assert.deepEqual((await render()).filter(isOfSites), [], 'only what was there before there was another half');
    const sites = await render(
      {
        ...sitesOnly,
        networkPolicy: { enabled: true },
        serviceMonitor: { enabled: true },
        dashboard: { enabled: true },
        prometheusRule: { enabled: true },
      },
      ['--api-versions', 'security.openshift.io/v1'],
    );
    assert.deepEqual(
      sites.filter((object) => !isOfSites(object)).map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      [],
    );
    assert.doesNotMatch(JSON.stringify(sites), /stackable|system-cluster-critical/);
    const both = await render({ connection: { enabled: true } });
    assert.equal(both.length, (await render()).length + (await render(sitesOnly)).length);
  });

  it('have the dashboards and alerts of what is installed', async () => {
    const monitored = { dashboard: { enabled: true }, prometheusRule: { enabled: true, labels: { release: 'prometheus' } } };
    const namesOf = async (values: object): Promise<readonly string[]> =>
      (await render({ ...monitored, ...values })).flatMap((object) => [
        ...(object.kind === 'ConfigMap' ? Object.keys(object['data']) : []),
        ...(object.kind === 'PrometheusRule' && object.metadata.labels['release'] === 'prometheus'
          ? object['spec'].groups.map(({ name }: { name: string }) => name)
          : []),
      ]);
    assert.deepEqual(await namesOf({}), ['earshot-exposure.json', 'earshot-exposure']);
    assert.deepEqual(await namesOf(sitesOnly), ['earshot-sites.json', 'earshot-services.json', 'earshot-sites']);
  });

  it('are checked by helm test with rights to read only, which exist while it runs', async () => {
    const args = ['template', 'earshot', CHART, '--namespace', 'mine', '--show-only', 'templates/tests/check.yaml'];
    const objects = parseAllDocuments(await helm(args)).flatMap((document) => (document.toJS() as Rendered | null) ?? []);
    assert.deepEqual(
      objects.map(({ kind, metadata: { name, annotations = {} } }) => `${kind} ${name} ${annotations['helm.sh/hook']}`),
      ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'Pod'].map((kind) => `${kind} earshot-check test`),
    );
    const rules: readonly { readonly verbs: readonly string[] }[] = only(objects, 'ClusterRole')['rules'];
    assert.deepEqual([...new Set(rules.flatMap(({ verbs }) => verbs))], ['get', 'list']);
    assert.equal(only(objects, 'Pod')['spec'].containers[0].args[0], 'check');
  });

  it('let sites be reached by ListenerClasses where there are any', async () => {
    const mayList = async (values: object, args: readonly string[] = []) =>
      JSON.stringify(only(await render(values, args), 'ClusterRole', 'skupper-controller')['rules']).includes('listeners.stackable.tech');
    assert.equal(await mayList(sitesOnly), false);
    assert.equal(await mayList({ connection: { enabled: true } }), true);
    assert.equal(await mayList(sitesOnly, ['--api-versions', 'listeners.stackable.tech/v1alpha1']), true);
  });

  it('name the controller of sites as tools look for it', async () => {
    const rendered = await render(sitesOnly);
    for (const kind of ['Deployment', 'ServiceAccount', 'ClusterRole', 'ClusterRoleBinding', 'PodDisruptionBudget'])
      assert.equal(only(rendered, kind, 'skupper-controller').metadata.labels['application'], 'skupper-controller');
    const { selector, template, replicas } = only(rendered, 'Deployment')['spec'];
    assert.deepEqual(
      [replicas, selector.matchLabels],
      [2, { application: 'skupper-controller' }],
      'the selector of an earlier controller’s',
    );
    const { application, ...labels } = template.metadata.labels;
    assert.deepEqual(
      [application, labels['app.kubernetes.io/name'], labels['app.kubernetes.io/part-of'], labels['skupper.io/component']],
      ['skupper-controller', 'skupper-controller', 'skupper', 'controller'],
    );
    assert.equal(template.spec.enableServiceLinks, false);
    assert.deepEqual(template.spec.containers[0].ports[0], { name: 'metrics', containerPort: 9000 });
  });

  it('start the controller of sites with what is asked for', async () => {
    const containerOf = async (values: object) => podOf(await render(values), 'Deployment', 'skupper-controller').containers[0];
    const usual = await containerOf(sitesOnly);
    assert.deepEqual(usual.args, [
      'site-controller',
      '--enable-grants',
      '--grant-server-autoconfigure',
      '--enabled-access-types=local,loadbalancer,route',
      '--log-level=info',
    ]);
    const valueOf = (container: typeof usual, name: string) => container.env.find((each: { name: string }) => each.name === name)?.value;
    assert.equal(valueOf(usual, 'SKUPPER_ROUTER_IMAGE'), usual.image);
    const told = await containerOf(everything);
    assert.deepEqual(told.args, [
      'site-controller',
      '--enable-grants',
      '--grant-server-base-url=https://grants.example.com:443',
      '--enabled-access-types=local,nodeport',
      '--default-access-type=nodeport',
      '--cluster-host=nodes.example.com',
      '--require-explicit-control',
      '--disable-security-context',
      '--no-manage-crds',
      '--log-level=info',
      '--concurrency=4',
    ]);
    assert.equal(valueOf(told, 'SKUPPER_ROUTER_IMAGE'), 'registry.example.com/routers:1');
    assert.equal(valueOf(told, 'SKUPPER_ROUTER_IMAGE_PULL_SECRETS'), 'registry');
  });

  it('keep one namespace with rights in no other', async () => {
    const rendered = await render({ ...sitesOnly, connection: { enabled: true, scope: 'namespace', podMonitor: { enabled: true } } });
    const elsewhere = rendered.filter(({ kind, metadata }) => kind.startsWith('Cluster') || Object(metadata).namespace !== 'mine');
    assert.deepEqual(elsewhere, []);
    assert.deepEqual(only(rendered, 'ConfigMap', 'skupper')['data'], { controller: 'skupper-controller' });
    const { roleRef, subjects } = only(rendered, 'RoleBinding', 'skupper-controller');
    assert.deepEqual([roleRef.kind, subjects[0].name], ['Role', 'skupper-controller']);
    assert.doesNotMatch(JSON.stringify(only(rendered, 'Role', 'skupper-controller')['rules']), /customresourcedefinitions/);
    const { args, env } = podOf(rendered, 'Deployment').containers[0];
    assert.ok(args.includes('--no-manage-crds'), 'definitions are the cluster’s');
    assert.equal(env.find(({ name }: { name: string }) => name === 'WATCH_NAMESPACE').valueFrom.fieldRef.fieldPath, 'metadata.namespace');
    assert.deepEqual(only(rendered, 'PodMonitor', 'skupper-routers')['spec'].namespaceSelector, { matchNames: ['mine'] });
  });

  it('let who may view a namespace read neither codes nor tokens', async () => {
    const rules = async (name: string) => only(await render(sitesOnly), 'ClusterRole', name)['rules'][0];
    const { resources: all } = await rules('earshot-sites-edit');
    const { resources, verbs } = await rules('earshot-sites-view');
    assert.deepEqual(
      all.filter((each: string) => !resources.includes(each)),
      ['accessgrants', 'accesstokens'],
    );
    assert.deepEqual(verbs, ['get', 'list', 'watch']);
  });

  it('take values of Skupper’s chart for what they are called here, and say so', async () => {
    const old = {
      ...sitesOnly,
      controllerImage: 'quay.io/skupper/controller:2.2.1',
      kubeAdaptorImage: 'quay.io/skupper/kube-adaptor:2.2.1',
      routerImage: 'quay.io/skupper/skupper-router:3.5.1',
      scope: 'namespace',
      clusterHost: '10.0.0.1',
      enabledAccessTypes: 'local,nodeport',
      defaultAccessType: 'nodeport',
    };
    const { scope, clusterHost, enabledAccessTypes, defaultAccessType } = old;
    assert.deepEqual(
      await render(old),
      await render({ ...sitesOnly, connection: { enabled: true, scope, clusterHost, enabledAccessTypes, defaultAccessType } }),
    );
    const notes = await helm(['install', 'earshot', CHART, '--dry-run=client', '--namespace', 'mine'], old);
    for (const line of [
      'scope is now connection.scope',
      'enabledAccessTypes is now connection.enabledAccessTypes',
      'controllerImage has no effect: controller and routers are one image, image.repository',
      'routerImage has no effect: routers are of the same image',
    ])
      assert.ok(notes.includes(`\n  ${line}`), line);
    assert.ok(notes.includes('rollout status deployment/skupper-controller') && !notes.includes('listenerclasses'), notes);
  });
});

describeChart('values of the listener-operator’s chart', () => {
  const old = listenerOperatorValues();
  const notesOf = async (values: object): Promise<string> =>
    helm(['install', 'earshot', CHART, '--dry-run=client', '--namespace', 'mine'], values);

  it('render what they mean', async () => {
    const rendered = await render(old);
    const controller = podOf(rendered, 'Deployment');
    const driver = podOf(rendered, 'DaemonSet');
    for (const pod of [controller, driver]) assert.deepEqual(pod.imagePullSecrets, [{ name: 'registry' }]);
    assert.equal(only(rendered, 'Deployment')['spec'].template.metadata.annotations.team, 'platform');
    assert.deepEqual(controller.tolerations, [{ key: 'control-plane', operator: 'Exists' }]);
    assert.equal(controller.priorityClassName, 'system-cluster-critical');
    assert.ok(controller.affinity.podAntiAffinity, 'what is empty there is as if left out');
    const { args, resources, image } = controller.containers[0];
    assert.deepEqual(
      args.filter((argument: string) => /^--(cluster-domain|preset|log-level|no-manage-crds)/.test(argument)),
      ['--cluster-domain=corp.example.', '--preset=stable-nodes', '--log-level=debug', '--no-manage-crds'],
    );
    const defaults = (
      parse(readFileSync(path.join(CHART, 'values.yaml'), 'utf8')) as { controller: { resources: { limits: { memory: string } } } }
    ).controller.resources;
    assert.deepEqual(
      resources,
      { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '400m', memory: defaults.limits.memory } },
      'a limit of memory that was measured for another program is no reason to be killed',
    );
    assert.match(image, /^localhost\/earshot:/, 'their images are not ours');

    assert.deepEqual(driver.nodeSelector, { disk: 'fast', 'kubernetes.io/os': 'linux' });
    assert.deepEqual(driver.tolerations, [{ operator: 'Exists' }]);
    assert.equal(driver.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms.length, 2);
    assert.equal(driver.priorityClassName, 'system-node-critical');
    assert.deepEqual(driver.securityContext.seLinuxOptions, { type: 'spc_t', level: 's0:c1' });
    assert.deepEqual(driver.containers[0].resources.limits, { cpu: '200m', memory: '1Gi' });
    assert.ok(driver.volumes.some(({ hostPath }: { hostPath?: { path: string } }) => hostPath?.path === '/var/lib/k0s/kubelet/pods'));
    for (const { kind, metadata } of rendered)
      assert.equal(metadata.labels['stackable.tech/vendor'], 'Stackable', `${kind} ${metadata.name}`);
    for (const name of ['earshot-controller', 'earshot-node']) {
      assert.deepEqual(only(rendered, 'ServiceAccount', name).metadata.annotations, { owner: 'platform' });
    }
  });

  it('render the same as under their new names', async () => {
    const renamed = {
      imagePullSecrets: [{ name: 'a' }],
      clusterDomain: 'corp.example',
      manageCrds: false,
      logLevel: 'warn',
      controller: { podAnnotations: { a: 'b' }, affinity: { podAntiAffinity: {} }, tolerations: [{ operator: 'Exists' }] },
      node: { priorityClassName: 'mine', resources: { limits: { memory: '2G', cpu: 1 } }, seLinuxOptions: { level: 's0' } },
    };
    const before = {
      image: { pullSecrets: [{ name: 'a' }] },
      kubernetesClusterDomain: 'corp.example',
      maintenance: { customResourceDefinitions: { maintain: false } },
      telemetry: { consoleLog: { level: 'WARN' } },
      csiProvisioner: renamed.controller,
      csiNodeDriver: {
        priorityClassName: 'mine',
        nodeService: { resources: renamed.node.resources, securityContext: { seLinuxOptions: { level: 's0' } } },
      },
    };
    assert.deepEqual(await render(before), await render(renamed));
  });

  it('are named at the end with the name that they have here, or with the reason why they have none', async () => {
    const notes = await notesOf(old);
    for (const line of [
      'image.pullSecrets is now imagePullSecrets',
      'csiProvisioner.tolerations is now controller.tolerations',
      'csiNodeDriver.nodeSelector is now node.nodeSelector',
      'kubernetesClusterDomain is now clusterDomain',
      'maintenance.customResourceDefinitions.maintain is now manageCrds',
      'telemetry.consoleLog.level is now logLevel',
      'csiNodeDriver.nodeDriverRegistrar has no effect: the driver registers itself',
      'telemetry.otelTraceExporter.enabled has no effect: there are no traces',
      'image.repository oci.stackable.tech/sdp is not where Earshot',
    ]) {
      assert.ok(notes.includes(`\n  ${line}`), line);
    }
    assert.doesNotMatch(
      notes,
      /csiNodeDriver\.tolerations|fileLog|otelLogExporter|priorityClassName is now node/,
      'what is empty or off there needs no word',
    );
    assert.doesNotMatch(await notesOf({}), /is now|has no effect/);
  });

  it('name their own images in several ways, and none of them is taken for Earshot’s', async () => {
    const imageFor = async (repository: string) =>
      podOf(await render({ image: { repository, tag: '9' } }), 'DaemonSet').containers[0].image;
    for (const repository of [
      'oci.stackable.tech/sdp/listener-operator',
      'quay.io/stackable',
      'mirror.example:5000/sdp',
      'listener-operator',
    ])
      assert.doesNotMatch(await imageFor(repository), /:9$/, repository);
    for (const repository of ['registry.example.com/earshot', 'mirror.example/stackable/earshot', 'mirror.example/not-sdp'])
      assert.equal(await imageFor(repository), `${repository}:9`);
  });
});
