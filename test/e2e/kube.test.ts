/** The Kubernetes client against the real API server: what the unit tests' servers only claim of it. */
import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { cacheUntil } from '../../src/kube/watch/cache-until.ts';
import { createClient, type ClientOptions } from '../../src/kube/client/client.ts';
import { createEventRecorder } from '../../src/kube/events/events.ts';
import { events } from '../../src/kube/events/event-record.ts';
import { isAlreadyExists, isConflict, isExpired, isRefusal, LeaseLostError, ApiError } from '../../src/kube/errors.ts';
import { leases } from '../../src/kube/lease/lease-record.ts';
import { loadConfig } from '../../src/kube/client/config.ts';
import { resource, services } from '../../src/kube/resource.ts';
import { startInformer } from '../../src/kube/watch/informer.ts';
import { whileLeading, type LeaseTiming } from '../../src/kube/lease/lease.ts';
import type { Cache, Change, InformerProblem, KubeClient, ListWatch } from '../../src/kube/contract.ts';
import type { KubeObject } from '../../src/kube/objects.ts';
import { connectCluster, eventually } from '../harness/index.ts';
import { useNamespace } from './support/namespace.ts';

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

const configMaps = resource<ConfigMap>('v1', 'ConfigMap', 'configmaps');
interface Review extends KubeObject {
  readonly status?: { readonly userInfo: { readonly username: string } };
}

const labels = { test: 'kube' };
const labelSelector = 'test=kube';
const soon = (): AbortSignal => AbortSignal.timeout(30_000);

describe('the Kubernetes client and a real API server', { timeout: 580_000 }, () => {
  const cluster = connectCluster();
  /** What went to the API server: `list configmaps`. */
  const requests: string[] = [];
  let client: KubeClient;
  after(() => client[Symbol.asyncDispose]());
  const namespace = useNamespace('kube', {}, cluster);

  async function connect(options: Partial<ClientOptions> = {}): Promise<KubeClient> {
    const config = await loadConfig({ kubeconfig: cluster.kubeconfig });
    const onRequest: ClientOptions['onRequest'] = (verb, of) => requests.push(`${verb} ${of}`);
    return createClient({ config, userAgent: 'kube-test/1', fieldManager: 'kube-test', onRequest, ...options });
  }
  const key = (name: string): { namespace: string; name: string } => ({ namespace: namespace.name, name });
  const configMap = (name: string, value: string): ConfigMap => ({ metadata: { ...key(name), labels }, data: { value } });

  before(async () => {
    client = await connect();
  });

  describe('objects', () => {
    it('are created, read, and not created twice', async () => {
      const created = await client.create(configMaps, configMap('made', '1'));
      assert.deepEqual((await client.get(configMaps, key('made'))).metadata.uid, created.metadata.uid);
      assert.equal(await client.find(configMaps, key('missing')), undefined);
      await assert.rejects(client.create(configMaps, configMap('made', '2')), isAlreadyExists);
      await assert.rejects(client.find(resource('nobody.example/v1', 'Thing', 'things'), key('x')), { status: 404, reason: '' });
    });

    it("are applied: fields that are left out the next time go, and another manager's stay", async () => {
      await client.apply(configMaps, { ...configMap('applied', '1'), data: { mine: '1', old: '1' } });
      await client.patch(configMaps, key('applied'), { data: { theirs: '1' } }, { type: 'merge', fieldManager: 'other' });
      const applied = await client.apply(configMaps, { ...configMap('applied', '2'), data: { mine: '2' } });
      assert.deepEqual(applied.data, { mine: '2', theirs: '1' });
      const theirs = { ...configMap('applied', ''), data: { theirs: '2' } };
      assert.equal((await client.apply(configMaps, theirs)).data?.['theirs'], '2');
    });

    it('are patched in both ways', async () => {
      await client.create(configMaps, configMap('patched', '1'));
      const merged = await client.patch(configMaps, key('patched'), { data: { value: null, a: '1' } }, { type: 'merge' });
      assert.deepEqual(merged.data, { a: '1' });
      const changed = await client.patch(configMaps, key('patched'), [{ op: 'replace', path: '/data/a', value: '2' }], { type: 'json' });
      assert.deepEqual(changed.data, { a: '2' });
    });

    it('are not changed by a patch of an older state', async () => {
      const created = await client.create(configMaps, configMap('raced', '1'));
      await client.patch(configMaps, key('raced'), { data: { value: '3' } }, { type: 'merge' });
      const { resourceVersion } = created.metadata;
      const stale = { metadata: { resourceVersion }, data: {} };
      await assert.rejects(client.patch(configMaps, key('raced'), stale, { type: 'merge' }), isConflict);
    });

    it('that the server refuses come back with its words', async () => {
      const portless = { metadata: key('no-ports'), spec: { type: 'NodePort', ports: [] } };
      const refused: unknown = await client.create(services, portless).catch((error: unknown) => error);
      assert(isRefusal(refused));
      assert.match(refused.statusMessage, /spec\.ports: Required value/);
    });

    it('have a status that is written apart', async () => {
      await client.create(services, { metadata: key('with-status'), spec: { ports: [{ port: 80 }] } });
      const patch = { spec: { ports: [] }, status: { loadBalancer: { ingress: [] } } };
      const patched = await client.patch(services, key('with-status'), patch, { type: 'merge', subresource: 'status' });
      assert.equal(patched.spec?.ports?.length, 1);
    });

    it('are deleted, and only the one that was meant', async () => {
      const created = await client.create(configMaps, configMap('deleted', '1'));
      await assert.rejects(client.delete(configMaps, key('deleted'), { uid: 'another' }), isConflict);
      await client.delete(configMaps, key('deleted'), { uid: created.metadata.uid ?? '' });
      await assert.rejects(client.delete(configMaps, key('deleted')), { status: 404 });
    });

    it('are listed in pages', async () => {
      const names = ['page-a', 'page-b', 'page-c', 'page-d', 'page-e'];
      for (const name of names) await client.create(configMaps, { metadata: { ...key(name), labels: { test: 'pages' } } });
      const selection = { namespace: namespace.name, labelSelector: 'test=pages' };
      const first = await client.page(configMaps, selection, { limit: 2 });
      assert(first.continue !== undefined);
      const second = await client.page(configMaps, selection, { limit: 2, continue: first.continue });
      const seen = [...first.items, ...second.items].map(({ metadata, kind }) => `${kind} ${metadata.name}`);
      assert.deepEqual(
        seen,
        names.slice(0, 4).map((name) => `ConfigMap ${name}`),
      );
      const all = await Array.fromAsync(client.list(configMaps, selection));
      assert.deepEqual(
        all.map(({ metadata }) => metadata.name),
        names,
      );
    });
  });

  describe('an informer', () => {
    /** A cache of this namespace's ConfigMaps, with the changes it reported. */
    function inform(source: ListWatch, signal: AbortSignal): { cache: Cache<ConfigMap>; changes: string[]; troubles: InformerProblem[] } {
      const changes: string[] = [];
      const troubles: InformerProblem[] = [];
      const onProblem = (trouble: InformerProblem): unknown => troubles.push(trouble);
      const cache = startInformer<ConfigMap>(source, configMaps, { namespace: namespace.name, labelSelector, signal, onProblem });
      cache.onChange(({ type, object }: Change<ConfigMap>) => changes.push(`${type} ${object.metadata.name}`));
      return { cache, changes, troubles };
    }
    const hasValue =
      (name: string, value: string) =>
      (cache: { get(key: string): ConfigMap | undefined }): true | undefined =>
        cache.get(`${namespace.name}/${name}`)?.data?.['value'] === value || undefined;

    it('streams what is there, without a list, and follows what changes', async () => {
      const stop = new AbortController();
      await client.apply(configMaps, configMap('followed', '1'));
      const sent = requests.length;
      const { cache, changes } = inform(client, stop.signal);
      await cache.synced;
      assert.deepEqual(requests.slice(sent), ['watch configmaps']);
      assert.equal(cache.get(`${namespace.name}/followed`)?.data?.['value'], '1');
      assert.equal(cache.get(`${namespace.name}/followed`)?.metadata.managedFields, undefined);
      changes.splice(0);
      await client.apply(configMaps, configMap('followed', '2'));
      await cacheUntil(cache, hasValue('followed', '2'), soon());
      // Out of the selection is out of the cache.
      await client.patch(configMaps, key('followed'), { metadata: { labels: null } }, { type: 'merge' });
      await cacheUntil(cache, (now) => now.get(`${namespace.name}/followed`) === undefined || undefined, soon());
      assert.deepEqual(changes, ['modified followed', 'deleted followed']);
      stop.abort();
    });

    it('reads pages where the server streams no lists', async () => {
      const stop = new AbortController();
      const refused = new ApiError('watch', { status: 422, reason: 'Invalid', message: 'sendInitialEvents is forbidden' });
      const older: ListWatch = {
        page: (of, selection, options) => client.page(of, selection, { ...options, limit: 2 }),
        watch: (of, options) => ('initial' in options.from ? Promise.reject(refused) : client.watch(of, options)),
      };
      const streaming = inform(client, stop.signal);
      const paging = inform(older, stop.signal);
      await Promise.all([streaming.cache.synced, paging.cache.synced]);
      assert(paging.cache.size >= 3);
      assert.deepEqual([...paging.cache.values()], [...streaming.cache.values()]);
      await client.apply(configMaps, configMap('paged', '1'));
      await cacheUntil(paging.cache, hasValue('paged', '1'), soon());
      stop.abort();
    });

    it('goes on from where it was when its connections are reset', async () => {
      const stop = new AbortController();
      const { cache, changes, troubles } = inform(client, stop.signal);
      await cache.synced;
      changes.splice(0);
      await cluster.cutWatches();
      await eventually('the cut to be seen', () => troubles.length > 0);
      await client.apply(configMaps, configMap('after-cut', '1'));
      await cacheUntil(cache, hasValue('after-cut', '1'), soon());
      assert.deepEqual([...new Set(troubles.map(({ kind }) => kind))], ['resume']);
      assert.deepEqual(changes, ['added after-cut']);
      stop.abort();
    });

    it('continues through a restart of the API server, and reports only changes', async () => {
      const stop = new AbortController();
      const { cache, changes } = inform(client, stop.signal);
      await cache.synced;
      changes.splice(0);
      await cluster.restartApiServer();
      await eventually('a write to succeed', () => client.apply(configMaps, configMap('after-restart', '1')));
      await cacheUntil(cache, hasValue('after-restart', '1'), soon());
      assert.deepEqual(changes, ['added after-restart']);
      stop.abort();
    });

    it('receives an error for a resource version that is too old', async () => {
      const onEvent = (): void => undefined;
      await assert.rejects(client.watch(configMaps, { from: { after: '1' }, timeoutSeconds: 10, signal: soon(), onEvent }), isExpired);
    });
  });

  it("takes up a service account's token as soon as the old one is refused", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'earshot-kube-'));
    await writeFile(join(folder.path, 'ca.crt'), cluster.state.credentials.ca);
    await writeFile(join(folder.path, 'token'), 'not.a.token');
    const { hostname, port } = new URL(cluster.apiUrl);
    const environment = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
    const config = await loadConfig({ environment, serviceAccountFolder: folder.path });
    await using pod = createClient({ config, userAgent: 'kube-test/1', fieldManager: 'kube-test', refreshPause: 0 });
    const reviews = resource<Review>('authentication.k8s.io/v1', 'SelfSubjectReview', 'selfsubjectreviews', 'cluster');
    const whoAmI = async (): Promise<string | undefined> => {
      const review = await pod.create(reviews, { metadata: {} });
      return review.status?.userInfo.username;
    };
    await assert.rejects(whoAmI(), { status: 401 });
    await eventually('the default service account', () => client.find(resource('v1', 'ServiceAccount', 'serviceaccounts'), key('default')));
    await writeFile(join(folder.path, 'token'), await cluster.token(namespace.name, 'default'));
    assert.equal(await whoAmI(), `system:serviceaccount:${namespace.name}:default`);
  });

  it('writes events that people see, and counts those that come again', async () => {
    const outcomes: string[] = [];
    const regarding = { apiVersion: 'v1', kind: 'ConfigMap', namespace: namespace.name, name: 'stored' };
    {
      const reporter = { controller: 'earshot.test/kube', instance: 'kube-test' };
      const onResult = (outcome: string): unknown => outcomes.push(outcome);
      await using recorder = createEventRecorder({ client, ...reporter, seriesDelay: 100, onResult });
      const note = `ü${'x'.repeat(2_000)}`;
      for (let i = 0; i < 3; i++) recorder.record({ regarding, type: 'Warning', reason: 'Tested', action: 'Test', note });
      await eventually('the count to be written', () => outcomes.length === 2);
    }
    assert.deepEqual(outcomes, ['created', 'counted']);
    const written = await Array.fromAsync(client.list(events, { namespace: namespace.name, fieldSelector: 'reason=Tested' }));
    assert.deepEqual(
      written.map(({ series, type }) => [series?.count, type]),
      [[3, 'Warning']],
    );
    assert.match(await cluster.kubectl(['get', 'events', '--namespace', namespace.name]), /Warning\s+Tested\s+configmap\/stored\s+üxxx/);
  });

  describe('leader election', () => {
    const patient = { duration: 30_000, renewDeadline: 20_000, renewEvery: 500, retryEvery: 250 };
    const hasty = { ...patient, duration: 6_000, renewDeadline: 5_000 };

    interface Candidate {
      readonly stop: AbortController;
      readonly acts: () => boolean;
      readonly done: Promise<unknown>;
    }

    function candidate(lease: string, identity: string, using: KubeClient, timing: LeaseTiming): Candidate {
      const stop = new AbortController();
      let leading: AbortSignal | undefined;
      const options = { client: using, namespace: namespace.name, name: lease, identity, signal: stop.signal, timing };
      const done = whileLeading(options, (signal) => {
        leading = signal;
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      }).catch((error: unknown) => error);
      return { stop, done, acts: () => leading?.aborted === false };
    }

    it('passes the lead on at once when the leader stops', async () => {
      const [a, b] = [candidate('passed', 'a', client, patient), candidate('passed', 'b', client, patient)];
      const first = await eventually('a leader', () => [a, b].find(({ acts }) => acts()));
      const second = first === a ? b : a;
      const stoppedAt = performance.now();
      first.stop.abort();
      await eventually('the other to lead', () => second.acts(), { everyMs: 10 });
      assert(performance.now() - stoppedAt < patient.duration);
      assert.equal(await first.done, undefined);
      const lease = await client.get(leases, { namespace: namespace.name, name: 'passed' });
      assert.equal(lease.spec?.leaseTransitions, 1);
      second.stop.abort();
      assert.equal(await second.done, undefined);
    });

    it('passes the lead on when the leader is cut off, and never has two', async () => {
      await using own = await connect({ onRequest: () => undefined });
      const a = candidate('cut', 'a', own, hasty);
      await eventually('a to lead', () => a.acts());
      const b = candidate('cut', 'b', client, hasty);
      await eventually('b to follow', () => requests.at(-1) === 'get leases');
      let both = false;
      const watch = setInterval(() => (both ||= a.acts() && b.acts()), 5);
      await own[Symbol.asyncDispose]();
      await eventually('b to lead', () => b.acts(), { everyMs: 10 });
      clearInterval(watch);
      assert.equal(both, false);
      assert((await a.done) instanceof LeaseLostError);
      b.stop.abort();
      await b.done;
    });
  });
});
