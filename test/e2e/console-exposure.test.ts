/** API of the Exposure view of `earshot console` in a cluster, with the rights of an administrator and with few rights. */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ExposedListenerDetailView, ExposedListenerView, ExposedPodView, ListView, OverviewView } from '../../src/console/contract.ts';
import { eventually } from '../harness/index.ts';
import { environment, Program } from '../harness/program.ts';
import { byListener, claim, pod, webServer } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

interface Opened extends AsyncDisposable {
  get<T>(path: string): Promise<T>;
}

describe('the Exposure view of a console in a cluster', { timeout: 300_000 }, () => {
  const namespace = useNamespace('console');
  const { cluster } = namespace;
  let folder = '';
  let opened = 0;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'earshot-console-'));
    await namespace.exposed('works', { serviceType: 'NodePort', pinnedNodePorts: true });
    await namespace.create(claim('works', byListener('works')), pod('works', { volumes: { listener: 'works' }, script: webServer(8080) }));
    await namespace.exposed('late', { serviceType: 'LoadBalancer', loadBalancerClass: 'stand-in.example/none' });
    await namespace.create(claim('late', byListener('late')), pod('late', { volumes: { listener: 'late' } }));
    await namespace.running('works');
    await namespace.condition('late', 'Ready', 'False', 'LoadBalancerPending');
  });
  after(() => rm(folder, { recursive: true, force: true }));

  async function open(kubeconfig = cluster.kubeconfig): Promise<Opened> {
    const place = ['--platform', 'kubernetes', '--kubeconfig', kubeconfig, '-n', namespace.name];
    opened += 1;
    const log = path.join(folder, `${opened}.log`);
    const program = await Program.start('console', [process.execPath, MAIN, ...place, 'console'], {
      env: environment({ HOME: folder }),
      log,
    });
    const [, origin = '', token = ''] = await eventually('the link', () => /^(http:\S+\/)#t=(\S+)$/m.exec(program.output) ?? undefined);
    const ask = async (of: string, init: RequestInit): Promise<unknown> => (await fetch(`${origin}api/v1/${of}`, init)).json();
    const { bearer } = (await ask('session', { method: 'POST', body: JSON.stringify({ token }) })) as { readonly bearer: string };
    return {
      // The server answers with the types of contract.ts.
      get: async <T>(of: string) => (await ask(of, { headers: { authorization: `Bearer ${bearer}` } })) as T,
      [Symbol.asyncDispose]: async () => void (await program.stop()),
    };
  }

  it('lists Listeners and pods with their addresses, pinned volumes and what each mount waits for', async () => {
    await using console = await open();
    const listeners = await eventually('the Listeners', async () => {
      const { items } = await console.get<ListView<ExposedListenerView>>('exposure/listeners');
      return items.find(({ name, pods }) => name === 'works' && pods === 1) && items;
    });
    const [late, works] = ['late', 'works'].map((each) => listeners.find(({ name }) => name === each));
    const status = (await namespace.ready('works')).status?.ingressAddresses ?? [];
    assert.deepEqual([works?.verdict, works?.addresses], ['pass', status.map(({ address }) => address)]);
    assert.deepEqual([late?.ready, late?.reason], [false, 'LoadBalancerPending']);
    const { items: pods } = await console.get<ListView<ExposedPodView>>('exposure/pods');
    const mountOf = (name: string) => pods.find((each) => each.name === name)?.mounts[0];
    const [running] = await namespace.running('works');
    assert.deepEqual(mountOf('works')?.pinnedTo, [running?.spec.nodeName]);
    assert.match(mountOf('late')?.waits ?? '', /waits for load balancer class stand-in\.example\/none/);
    const { service, volumes, backends } = await console.get<ExposedListenerDetailView>('exposure/listeners/works');
    assert.deepEqual([service?.type, volumes.length, backends.map(({ name }) => name)], ['NodePort', 1, ['works']]);
  });

  it('explains an exposed Listener as earshot explain does, and has its problem in the overview without a Site', async () => {
    await using console = await open();
    const { object, verdict } = await console.get<{ object: string; verdict: string }>('explain/listeners.listeners.stackable.tech/works');
    assert.deepEqual([object, verdict], ['Listener/works', 'pass']);
    const problems = await eventually('the problem', async () => {
      const overview = await console.get<OverviewView>('overview');
      return overview.exposure !== undefined && overview.problems;
    });
    const found = problems.map((problem) => problem.object);
    assert.ok(found.includes('listeners.listeners.stackable.tech/late'), found.join(', '));
    assert.ok(!found.includes('Site'), found.join(', '));
  });

  it('shows what few rights permit, and names what is missing', async () => {
    await namespace.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'reader' } });
    const binding = ['create', 'rolebinding', 'reader', '--clusterrole=view', `--serviceaccount=${namespace.name}:reader`];
    await cluster.kubectl([...binding, '-n', namespace.name]);
    const kubeconfig = path.join(folder, 'reader.yaml');
    const config = JSON.parse(await readFile(cluster.kubeconfig, 'utf8')) as { readonly users: readonly { readonly name: string }[] };
    const user = { token: await cluster.token(namespace.name, 'reader') };
    await writeFile(kubeconfig, JSON.stringify({ ...config, users: config.users.map(({ name }) => ({ name, user })) }), { mode: 0o600 });
    await using console = await open(kubeconfig);
    const { items, partial } = await eventually('the Listeners', async () => {
      const list = await console.get<ListView<ExposedListenerView>>('exposure/listeners');
      return (list.items ?? []).length > 0 && list;
    });
    assert.deepEqual(items.map(({ name }) => name).toSorted(), ['late', 'works']);
    const missing = partial.map(({ why }) => why);
    assert.ok(
      missing.includes('Not everything is shown: you have no right to list listenerclasses.listeners.stackable.tech in the cluster.'),
      missing.join('; '),
    );
  });
});
