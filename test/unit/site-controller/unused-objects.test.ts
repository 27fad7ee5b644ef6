/** Unused objects cost a controller at most 1 KiB of memory each, for any content by an editor of a namespace. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { GROUP } from '../../../src/api/skupper/names.ts';
import { OBSERVABILITY_GROUP } from '../../../src/api/skupper/network-observer.ts';
import { listeners } from '../../../src/api/listeners/index.ts';
import { SiteCaches } from '../../../src/site-controller/caches.ts';
import { keptObjects } from '../../../src/site-controller/kept-objects.ts';
import { startClusterCaches, startPolicyCaches, startProvisionCaches } from '../../../src/exposure/cluster/caches.ts';
import type { WatchEvent, WatchOptions } from '../../../src/kube/contract.ts';
import type { KubeObject } from '../../../src/kube/objects.ts';
import { apiVersionOf, type Resource } from '../../../src/kube/resource.ts';
import { startInformer } from '../../../src/kube/watch/informer.ts';
import { nameOf } from '../../../src/site-controller/caches.ts';
import { PlayedApi } from '../exposure/support/played-api.ts';

/** The difference between them is what objects cost, without what caches cost that hold any. */
const [FEW, MANY] = [200, 1_000] as const;
const MOST_BYTES = 1_024;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Labels and names that rules select by, on objects without an owner: an editor of a namespace can write them. */
const LABELS = {
  'skupper.io/component': 'router',
  'skupper.io/type': 'other',
  'internal.skupper.io/attached': 'x',
  'internal.skupper.io/router-config': '',
  'example.skupper.io/skupper.io': '',
  'listeners.stackable.tech/listener-name': 'x',
  'kubernetes.io/service-name': 'x',
};

function planted(of: Resource, index: number): string {
  const long = (label: string): string => `${label} ${index} ${'x'.repeat(1_000)}`;
  const isOwn = [GROUP, OBSERVABILITY_GROUP, listeners.group].includes(of.group);
  return JSON.stringify({
    apiVersion: apiVersionOf(of),
    kind: of.kind,
    metadata: {
      name: `skupper-${of.plural}-${index}`,
      namespace: 'crowd',
      uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      resourceVersion: String(1_000_000 + index),
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: {
        'kubectl.kubernetes.io/last-applied-configuration': long('copy'),
        ...(isOwn ? {} : { 'example.com/note': long('note') }),
      },
      managedFields: [{ manager: 'kubectl', fieldsV1: { [`f:${index}`]: long('fields') } }],
      ...(isOwn ? {} : { labels: { ...LABELS, [`l-${index}`]: 'x'.repeat(63), ...manyLabels(index) } }),
    },
    ...(isOwn ? { spec: {} } : filled(of, index, long)),
  });
}

function manyLabels(index: number): object {
  return Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`label-${at}`, `${index}-${'x'.repeat(50)}`]));
}

function filled({ kind }: Resource, index: number, long: (label: string) => string): object {
  if (kind === 'PersistentVolumeClaim') {
    return { spec: { storageClassName: 'other', selector: { matchLabels: manyLabels(index) } }, status: { phase: 'Pending' } };
  }
  return {
    ...(kind === 'Secret' ? { type: 'kubernetes.io/tls' } : {}),
    data: { 'tls.crt': long('crt'), 'tls.key': long('key'), 'ca.crt': long('ca') },
    rules: [{ resources: [long('rule')] }],
    spec: {
      ports: [{ name: 'a', port: 80 }],
      selector: manyLabels(index),
      text: long('spec'),
      containers: [{ name: 'a', args: [long('arg')] }],
    },
    status: { phase: 'Pending', conditions: [{ type: 'Ready', status: 'False', message: long('status') }] },
    endpoints: [{ addresses: [long('address')] }],
  };
}

/** Watches bring objects of one kind, as text that is parsed one by one. */
class CrowdedApi extends PlayedApi {
  readonly #kind: string;
  readonly #count: number;
  /** Names of kinds that were watched and that an editor of one namespace can write. */
  readonly watched = new Set<string>();

  constructor(kind: string, count: number) {
    super();
    this.#kind = kind;
    this.#count = count;
  }

  override async watch<T extends KubeObject>(of: Resource<T>, options: WatchOptions<T>): Promise<void> {
    if (of.namespaced) this.watched.add(nameOf(of));
    const { onEvent, labelSelector = '' } = options;
    const send = onEvent as (event: WatchEvent<KubeObject>) => void; // It receives only its own kind.
    const isSelected = !labelSelector.startsWith('!');
    const count = nameOf(of) === this.#kind && isSelected ? this.#count : 0;
    for (let index = 0; index < count; index += 1) send({ type: 'ADDED', object: JSON.parse(planted(of, index)) as KubeObject });
    return super.watch(of, options);
  }
}

/** Bytes in use once no more are freed: caches that have ended are released in later iterations of the event loop. */
async function heapAtRest(): Promise<number> {
  for (let last = Infinity; ;) {
    await setImmediate();
    collect();
    const { heapUsed } = process.memoryUsage();
    if (heapUsed > last - 50_000) return heapUsed;
    last = heapUsed;
  }
}

type Start = (api: PlayedApi, signal: AbortSignal) => Promise<unknown>;

async function grownBy(kind: string, count: number, start: Start): Promise<number> {
  const stop = new AbortController();
  const before = await heapAtRest();
  const caches = await start(new CrowdedApi(kind, count), stop.signal);
  const grown = (await heapAtRest()) - before;
  assert.ok(caches !== undefined);
  stop.abort();
  return grown;
}

/** Bytes of one object, by one measurement. */
async function costOnce(kind: string, start: Start): Promise<number> {
  const few = await grownBy(kind, FEW, start);
  return ((await grownBy(kind, MANY, start)) - few) / (MANY - FEW);
}

/** Least bytes of one object of up to three measurements: compiling adds to some of them, whereas kept objects add to each. */
async function costOf(kind: string, start: Start): Promise<number> {
  let least = Infinity;
  for (let tries = 0; tries < 3 && least > MOST_BYTES; tries += 1) least = Math.min(least, await costOnce(kind, start));
  return least;
}

const controllers: Readonly<Record<string, Start>> = {
  sites: async (client, signal) => {
    const served = new Set(keptObjects.map(({ of }) => nameOf(of)));
    const caches = new SiteCaches({ start: startInformer, client, served, signal });
    await caches.synced;
    return caches;
  },
  exposure: async (client, signal) => {
    const policy = startPolicyCaches(startInformer, client, signal);
    const caches = { ...startClusterCaches(startInformer, client, policy, signal), ...startProvisionCaches(startInformer, client, signal) };
    await Promise.all(Object.values(caches).map(({ synced }) => synced));
    return caches;
  },
};

for (const [controller, start] of Object.entries(controllers)) {
  const seen = new CrowdedApi('', 0);
  const stop = new AbortController();
  await start(seen, stop.signal);
  stop.abort();
  // The first measurement of a process also counts code that is compiled.
  const [first = ''] = seen.watched;
  await costOnce(first, start);
  for (const kind of seen.watched) {
    test(`the controller of ${controller} keeps at most 1 KiB of each of ${kind} that it does not use`, async () => {
      const each = await costOf(kind, start);
      assert.ok(each <= MOST_BYTES, `${each.toFixed(0)} bytes each`);
    });
  }
}
