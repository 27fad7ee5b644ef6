import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { customResourceDefinitionsResource } from '../../../src/api/crd.ts';
import { httpProxies, routes } from '../../../src/site-controller/access/kinds.ts';
import { SiteCaches } from '../../../src/site-controller/caches.ts';
import { followServed, servedOptional } from '../../../src/site-controller/served.ts';
import type { KubeClient, WatchOptions } from '../../../src/kube/contract.ts';
import { ApiError } from '../../../src/kube/errors.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { startInformer } from '../../../src/kube/watch/informer.ts';
import type { Resource } from '../../../src/kube/resource.ts';
import { createLogger } from '../../../src/telemetry/log.ts';
import { PlayedApi } from '../exposure/support/played-api.ts';

const DEFINITION = 'httpproxies.projectcontour.io';
const log = createLogger({ level: 'fatal', component: 'test' });

const answering = (status: number | undefined): Pick<KubeClient, 'page'> => ({
  page: (of) => {
    if (of.group === routes.group && status !== undefined)
      return Promise.reject(new ApiError('GET', { status, reason: '', message: 'no' }));
    return Promise.resolve({ items: [], resourceVersion: '1' });
  },
});
const never = new AbortController().signal;

for (const [what, status, served] of [
  ['is served', undefined, true],
  ['is not there', 404, false],
  ['came after the rights of the controller were written', 403, false],
] as const) {
  test(`an optional kind that ${what} is ${served ? '' : 'not '}watched`, async () => {
    const all = await servedOptional({ client: answering(status), signal: never });
    assert.equal(all.has('routes.v1.route.openshift.io'), served);
    assert.equal(all.has('ingresses.v1.networking.k8s.io'), true);
  });
}

test('a failing API server is not taken for one that does not serve a kind', async () => {
  await assert.rejects(servedOptional({ client: answering(500), signal: never }), ApiError);
});

/** An API server that answers a first watch of a kind as configured; 404 otherwise. */
class LookedAt extends PlayedApi {
  readonly answers = new Map<string, number>();
  /** Kinds that it has ceased to serve. */
  readonly gone = new Set<Resource>();

  override watch<T extends KubeObject>(of: Resource<T>, options: WatchOptions<T>): Promise<void> {
    if (!this.gone.has(of as unknown as Resource)) return super.watch(of, options);
    return Promise.reject(new ApiError('played', { status: 404, reason: '', message: 'gone' }));
  }

  override async page(of: Resource = httpProxies): Promise<never> {
    const status = this.answers.get(of.plural) ?? 404;
    // The content of a page is not read.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    if (status === 200) return {} as never;
    throw new ApiError('played', { status, reason: '', message: String(status) });
  }
}

async function follow(api: LookedAt, t: TestContext): Promise<SiteCaches> {
  const stop = new AbortController();
  const { signal } = stop;
  const caches = new SiteCaches({ start: startInformer, client: api, served: await servedOptional({ client: api, signal }), signal });
  await caches.synced;
  const following = followServed({ start: startInformer, client: api, caches, log, signal });
  t.after(async () => {
    stop.abort();
    await following[Symbol.asyncDispose]();
  });
  return caches;
}

function define(api: PlayedApi, established: 'True' | 'False', version = 'v1', name = DEFINITION): void {
  const definition: KubeObject & { readonly spec: object; readonly status: object } = {
    metadata: { name },
    spec: { versions: [{ name: version, served: true }] },
    status: { conditions: [{ type: 'Established', status: established }] },
  };
  api.put(customResourceDefinitionsResource as Resource, definition);
}

test('a kind is cached from the moment that the cluster serves it, and change listeners receive its objects', async (t) => {
  const api = new LookedAt();
  api.answers.set('customresourcedefinitions', 200);
  const caches = await follow(api, t);
  const kinds = Promise.withResolvers<void>();
  caches.onKind(kinds.resolve);
  const seen = Promise.withResolvers<string | undefined>();
  caches.onChange((of, { object }) => {
    if (of === httpProxies) seen.resolve(object.metadata.name);
  });
  define(api, 'False');
  assert.equal(caches.has(httpProxies), false);
  api.answers.set('httpproxies', 200);
  define(api, 'True');
  await kinds.promise;
  assert.equal(caches.has(httpProxies), true);
  api.put(httpProxies, { metadata: { name: 'web', namespace: 'west' } });
  assert.equal(await seen.promise, 'web');
});

test('it is tried again while the API server does not serve what is defined', async (t) => {
  const api = new LookedAt();
  api.answers.set('customresourcedefinitions', 200);
  const caches = await follow(api, t);
  const kinds = Promise.withResolvers<void>();
  caches.onKind(kinds.resolve);
  const looked = Promise.withResolvers<void>();
  const page = api.page.bind(api);
  api.page = (of) => {
    if (of === httpProxies) looked.resolve();
    return page(of);
  };
  define(api, 'True');
  await looked.promise;
  api.answers.set('httpproxies', 200);
  await kinds.promise;
  assert.equal(caches.has(httpProxies), true);
});

/** All that an API server has beside routes, which it has ceased to serve when they are listed the second time, or the first. */
async function withRoutes(t: TestContext, lists: 0 | 1): Promise<{ readonly api: LookedAt; readonly caches: SiteCaches }> {
  const api = new LookedAt();
  api.answers.set('routes', 200).set('customresourcedefinitions', 200);
  if (lists === 0) api.gone.add(routes);
  const caches = await follow(api, t);
  api.gone.add(routes);
  return { api, caches };
}

test('caches do not wait for a kind that the cluster stopped serving since discovery', async (t) => {
  const { caches } = await withRoutes(t, 0);
  assert.deepEqual([caches.has(routes), caches.missing], [false, []]);
});

test('nor does a new leader that lists all again; the kind is cached again once it is served again', async (t) => {
  const { api, caches } = await withRoutes(t, 1);
  assert.equal(caches.has(routes), true);
  await caches.renew();
  assert.equal(caches.has(routes), false);
  const kinds = Promise.withResolvers<void>();
  caches.onKind(kinds.resolve);
  api.gone.delete(routes);
  define(api, 'True', 'v1', 'routes.route.openshift.io');
  await kinds.promise;
  assert.equal(caches.has(routes), true);
});
