/** `earshot explain` in a cluster: the first step that fails names each planted fault, within three seconds. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, it } from 'node:test';
import type { CheckReport } from '../../src/explain/report.ts';
import type { Explanation } from '../../src/explain/step.ts';
import type { Listener } from '../../src/api/listeners/index.ts';
import type { KubeObject, Pod } from '../../src/kube/objects.ts';
import { helm } from '../harness/chart.ts';
import { execute, type Outcome } from '../harness/command.ts';
import { eventually } from '../harness/index.ts';
import { environment } from '../harness/program.ts';
import { kubeconfigOf, writeKubeconfig } from './support/at-home.ts';
import { LEASE, SYSTEM, withoutControllers } from './support/installation.ts';
import { API, byClass, byListener, claim, pod, statefulSet, webServer } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** Milliseconds of an explanation, and of the start of the program, on an idle machine. */
const [MOST_MS, START_MS] = [3_000, 400];

interface Explained extends Explanation {
  readonly code: number | null;
  readonly ms: number;
}

describe('earshot explain on the exposure half', { timeout: 500_000 }, () => {
  const namespace = useNamespace('explain');
  const { cluster } = namespace;
  let folder = '';

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'earshot-explain-'));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  function earshot(args: readonly string[], kubeconfig = cluster.kubeconfig): Promise<Outcome> {
    const place = ['--platform', 'kubernetes', '--kubeconfig', kubeconfig, '-n', namespace.name];
    return execute([process.execPath, MAIN, ...place, ...args], { env: environment({ HOME: folder }) });
  }

  async function explain(args: readonly string[], kubeconfig = cluster.kubeconfig): Promise<Explained> {
    const begin = performance.now();
    const { code, stdout, stderr } = await earshot(['explain', ...args, '-o', 'json'], kubeconfig);
    const ms = performance.now() - begin;
    assert.notEqual(stdout, '', stderr);
    return { ...(JSON.parse(stdout) as Explanation), code, ms };
  }

  async function check(kubeconfig: string): Promise<CheckReport> {
    const { stdout, stderr } = await earshot(['check', '-o', 'json'], kubeconfig);
    assert.notEqual(stdout, '', stderr);
    return JSON.parse(stdout) as CheckReport;
  }

  async function assertCause(args: readonly string[], about: string, says: RegExp, exitCode = 1): Promise<void> {
    const { cause, code, ms, steps } = await explain(args);
    const seen = JSON.stringify(steps, undefined, 1);
    assert.equal(`${cause?.id} ${cause?.code}`, about, seen);
    assert.match(cause?.says ?? '', says);
    assert.equal(code, exitCode, seen);
    if (ms < MOST_MS) return;
    const begin = performance.now();
    await earshot(['version']);
    const start = performance.now() - begin;
    assert.ok(ms < (MOST_MS * start) / START_MS, `${ms} ms, and ${start} ms for the start alone`);
  }

  it('passes for a Listener, its class, its pod and its claim, and connects to its address', async () => {
    const className = await namespace.exposed('works', { serviceType: 'NodePort' });
    const script = webServer(8080);
    await namespace.create(claim('works', byListener('works')), pod('works', { volumes: { listener: 'works' }, script }));
    await namespace.running('works');
    await namespace.ready('works');
    for (const [kind, name] of [
      ['lsn', 'works'],
      ['listenerclass', className],
      ['pod', 'works'],
      ['pvc', 'works'],
    ] as const) {
      const { verdict, code, steps } = await explain([kind, name]);
      assert.deepEqual([verdict, code], ['pass', 0], JSON.stringify(steps));
    }
    const { steps } = await explain(['listeners.listeners.stackable.tech', 'works', '--probe']);
    assert.deepEqual(
      steps.filter(({ id }) => id === 'exposure.probe').map(({ state }) => state),
      ['pass'],
    );
  });

  it('names a load balancer that no controller serves, at the Listener, its pod and its class', async () => {
    const className = await namespace.exposed('late', { serviceType: 'LoadBalancer', loadBalancerClass: 'stand-in.example/none' });
    await namespace.create(claim('late', byListener('late')), pod('late', { volumes: { listener: 'late' } }));
    await namespace.condition('late', 'Ready', 'False', 'LoadBalancerPending');
    await namespace.event({ kind: 'Pod', name: 'late' }, /listener volume waits/);
    const waits = /waits for load balancer class stand-in\.example\/none/;
    await namespace.until({ apiVersion: API, kind: 'Listener', name: 'late' }, 'to be late', isLate);
    await assertCause(['lsn', 'late'], 'exposure.addresses load-balancer-pending', waits);
    await assertCause(['pod', 'late'], 'claim.listener load-balancer-pending', waits);
    await assertCause(['listenerclass', className], 'class.load-balancer load-balancer-pending', /None of 1 Services/);
  });

  it('names a pod that is not ready', async () => {
    await namespace.exposed('unready', { serviceType: 'ClusterIP' });
    const container = { readinessProbe: { exec: { command: ['false'] }, periodSeconds: 1 } };
    await namespace.create(claim('unready', byListener('unready')), pod('unready', { volumes: { listener: 'unready' }, container }));
    await namespace.until<Pod>({ apiVersion: 'v1', kind: 'Pod', name: 'unready' }, 'to run', ({ status }) => status?.phase === 'Running');
    await namespace.ready('unready');
    const { cause, code } = await explain(['lsn', 'unready']);
    assert.match(
      `${cause?.id} ${cause?.code} ${cause?.says}`,
      /exposure\.endpoints pods-not-ready 1 pod, 0 ready: unready: .*unready status/,
    );
    // Until the pod has had its usual time to start.
    assert.ok(code === 3 || code === 1);
  });

  it('names the admission policy that refuses the Service', async () => {
    const policy = { metadata: { name: `${namespace.name}-no-services` } };
    const admission = '/apis/admissionregistration.k8s.io/v1';
    await cluster.api.create(`${admission}/validatingadmissionpolicies`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      ...policy,
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['services'] }],
          namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace.name } },
        },
        validations: [{ expression: "object.metadata.name != 'denied'", message: 'this Service may not be' }],
      },
    });
    await cluster.api.create(`${admission}/validatingadmissionpolicybindings`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      ...policy,
      spec: { policyName: policy.metadata.name, validationActions: ['Deny'] },
    });
    try {
      await untilDenied();
      await namespace.exposed('denied', { serviceType: 'ClusterIP' });
      await namespace.condition('denied', 'Accepted', 'False', 'ServiceRejected');
      await assertCause(
        ['lsn', 'denied'],
        'exposure.service service-rejected',
        new RegExp(`${policy.metadata.name}.*this Service may not be`),
      );
    } finally {
      await cluster.api.remove(`${admission}/validatingadmissionpolicybindings/${policy.metadata.name}`);
      await cluster.api.remove(`${admission}/validatingadmissionpolicies/${policy.metadata.name}`);
    }
  });

  /** A policy is in force only some time after it was created. */
  async function untilDenied(): Promise<void> {
    const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'denied' }, spec: { ports: [{ port: 80 }] } };
    await eventually('the policy to be in force', async () => {
      try {
        await namespace.create(service);
      } catch {
        return true;
      }
      await namespace.remove('v1', 'Service', 'denied');
      return false;
    });
  }

  it('names a misspelt annotation of a claim, and what was meant', async () => {
    const className = await namespace.class('typo', { serviceType: 'ClusterIP' });
    await namespace.create(
      claim('typo', { 'listeners.stackable.tech/listenerclass': className }),
      pod('typo', { volumes: { listener: 'typo' } }),
    );
    const meant = /listenerclass has no effect; did you mean listeners\.stackable\.tech\/listener-class\?/;
    await assertCause(['pod', 'typo'], 'claim.annotation csi-claim', meant);
    await assertCause(['pvc', 'typo'], 'claim.annotation csi-claim', meant);
  });

  it('names a class that does not exist, and what was meant', async () => {
    const className = await namespace.class('meant', { serviceType: 'ClusterIP' });
    const misspelt = className.replace(/meant$/, 'maent');
    await namespace.listener('typo', { className: misspelt, ports: [{ name: 'http', port: 8080 }] });
    await namespace.condition('typo', 'Accepted', 'False', 'ClassNotFound');
    await assertCause(['lsn', 'typo'], 'exposure.class class-not-found', new RegExp(`Did you mean ${className}\\?`));
    await namespace.create(pod('class-typo', { volumes: { listener: byClass(misspelt) } }));
    await assertCause(['pvc', 'class-typo-listener'], 'claim.annotation class-not-found', new RegExp(`did you mean ${className}\\?`));
  });

  it('is part of earshot check, which names each cause once and needs no Site', async () => {
    await namespace.listener('no-class', { ports: [{ name: 'http', port: 8080 }] });
    await namespace.condition('no-class', 'Accepted', 'False', 'NoClass');
    const { code, stdout, stderr } = await earshot(['check', '-o', 'json']);
    assert.equal(code, 1, stderr);
    const { objects, findings } = JSON.parse(stdout) as CheckReport;
    const causes = new Set(objects.map(({ object, cause }) => `${object} ${cause?.code ?? ''}`.trim()));
    for (const seen of ['Listener/no-class no-class', 'Listener/works', 'Pod/works']) assert.ok(causes.has(seen), stdout);
    assert.deepEqual(
      findings.filter(({ state }) => state === 'fail'),
      [],
    );
  });

  it('checks the installation by helm test', async () => {
    await helm(['test', 'earshot', '--namespace', SYSTEM, '--kubeconfig', cluster.kubeconfig, '--timeout', '120s']);
  });

  it('works with few rights: each missing one is an unknown step with verb and resource', async () => {
    await namespace.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'reader' } });
    await cluster.kubectl([
      'create',
      'rolebinding',
      'reader',
      '--clusterrole=view',
      `--serviceaccount=${namespace.name}:reader`,
      '-n',
      namespace.name,
    ]);
    const kubeconfig = path.join(folder, 'reader.yaml');
    const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8')) as { readonly users: readonly { readonly name: string }[] };
    const user = { token: await cluster.token(namespace.name, 'reader') };
    await writeFile(kubeconfig, JSON.stringify({ ...config, users: config.users.map(({ name }) => ({ name, user })) }), { mode: 0o600 });
    await namespace.ready('works');
    const { steps, code } = await explain(['lsn', 'works'], kubeconfig);
    assert.equal(code, 0);
    assert.deepEqual(
      steps.filter(({ state }) => state === 'unknown').map(({ says }) => says),
      ['you have no right to get nodes in the cluster'],
    );
    const denied = await explain(['listenerclass', namespace.className('works')], kubeconfig);
    assert.deepEqual(
      denied.steps.map(({ state, says }) => `${state} ${says}`),
      ['unknown you have no right to get listenerclasses.listeners.stackable.tech in the cluster'],
    );
  });

  it('shows that a quota refuses the next claim of a StatefulSet whose pod serves, also to users with the role view', async () => {
    await namespace.exposed('claims', { serviceType: 'ClusterIP' });
    await namespace.create(statefulSet('claims', 1, { listener: byListener('claims') }, { script: webServer(8080) }));
    await namespace.running('claims-0');
    await namespace.ready('claims');
    await namespace.create({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'claims' }, spec: { hard: { [CLAIMS]: '1' } } });
    const quota = { apiVersion: 'v1', kind: 'ResourceQuota', name: 'claims' };
    await namespace.until<Quota>(quota, 'to be in force', ({ status }) => status?.used !== undefined);
    await namespace.patch('apps/v1', 'StatefulSet', 'claims', { spec: { replicas: 2 } });
    await namespace.event({ kind: 'StatefulSet', name: 'claims' }, /exceeded quota: claims/);
    for (const kubeconfig of [cluster.kubeconfig, await kubeconfigOf(namespace, 'view')]) {
      const { steps } = await explain(['lsn', 'claims'], kubeconfig);
      assert.deepEqual(
        steps.filter(({ state }) => state === 'warn').map(({ id, object }) => `${id} ${object}`),
        ['exposure.workloads StatefulSet/claims'],
      );
      const { findings } = await check(kubeconfig);
      const found = findings.find(({ id }) => id === 'check.workloads');
      assert.deepEqual([found?.state, found?.object], ['fail', 'StatefulSet/claims']);
      assert.match(found?.says ?? '', /^StatefulSet claims cannot create its next pod: .*exceeded quota: claims/);
    }
    await namespace.remove('v1', 'ResourceQuota', 'claims');
    await namespace.remove('apps/v1', 'StatefulSet', 'claims');
  });

  it('says in a namespace without a Site which rights to Sites and NetworkObservers are missing', async () => {
    const account = `--serviceaccount=${namespace.name}:narrow`;
    await namespace.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'narrow' } });
    const role = ['create', 'role', 'narrow', '--verb=get,list', '--resource=listeners.listeners.stackable.tech'];
    await cluster.kubectl([...role, '-n', namespace.name]);
    await cluster.kubectl(['create', 'rolebinding', 'narrow', '--role=narrow', account, '-n', namespace.name]);
    const { findings } = await check(await writeKubeconfig(namespace, 'narrow'));
    const unknown = findings.filter(({ state }) => state === 'unknown').map(({ id, says }) => `${id} ${says}`);
    const observers = `you have no right to list networkobservers.observability.skupper.io in the namespace ${namespace.name}`;
    assert.ok(unknown.includes(`check.rights ${observers}`), unknown.join('\n'));
    assert.ok(
      unknown.some((each) => /^check\.site .*skupper\.io/.test(each)),
      unknown.join('\n'),
    );
  });

  it("advises to restart the driver's DaemonSet where Pod Security refuses its pods", async () => {
    const system = `/api/v1/namespaces/${SYSTEM}`;
    const level = (await cluster.api.get<KubeObject>(system)).metadata.labels?.[ENFORCE] ?? null;
    const enforce = (to: string | null): Promise<unknown> => cluster.api.patch(system, { metadata: { labels: { [ENFORCE]: to } } });
    await enforce('baseline');
    try {
      const { findings } = await check(cluster.kubeconfig);
      const advice = findings.find(({ id }) => id === 'check.pod-security')?.do ?? '';
      assert.ok(advice.endsWith(` && kubectl rollout restart daemonset/earshot-node -n ${SYSTEM}`), advice);
    } finally {
      await enforce(level);
    }
  });

  it('does not trust the Lease of a controller whose pod is gone', async () => {
    await using _without = await withoutControllers(cluster);
    const renewTime = new Date(Date.now() - 20_000).toISOString().replace('Z', '000Z');
    // The chart's removal takes the right to release it away.
    await cluster.api.patch(LEASE, { spec: { holderIdentity: 'controller-gone', leaseDurationSeconds: 13, renewTime } });
    const { steps } = await explain(['lsn', 'works']);
    assert.equal(steps[0]?.state, 'warn', JSON.stringify(steps));
    assert.match(steps[0]?.says ?? '', /and its holder, Pod controller-gone, is gone/);
  });
});

interface Quota extends KubeObject {
  readonly status?: { readonly used?: object };
}

const CLAIMS = 'persistentvolumeclaims';
const ENFORCE = 'pod-security.kubernetes.io/enforce';

/** Whether a Listener has waited for longer than a load balancer takes at best. */
function isLate({ status }: Listener): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready !== undefined && Date.now() - Date.parse(ready.lastTransitionTime) > 6_000;
}
