import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KubeObject } from '../../../../src/kube/objects.ts';
import { ClusterStatuses, type ClusterStatusesOptions } from '../../../../src/platform/kubernetes/statuses.ts';
import type { AnyStatus } from '../../../../src/site/observe/observe.ts';
import { keyOf, type Kind, type ResourceKey } from '../../../../src/site/resources.ts';
import { createLogger } from '../../../../src/telemetry/log.ts';
import { aListener, resources } from '../../site/fixtures.ts';

type Listeners = Map<string, KubeObject & { status?: unknown }>;

/** Namespace whose Listeners get a Service at some second, and are Ready from then on. The clock is virtual. */
class Namespace implements AsyncDisposable {
  readonly #t: TestContext;
  readonly #stored: Listeners = new Map();
  readonly #readyAt = new Map<string, number>();
  readonly #statuses: ClusterStatuses;
  #second = 0;
  #clock = 1_000;
  /** Names of the Listeners, one for each written status. */
  readonly writes: string[] = [];

  constructor(t: TestContext) {
    this.#t = t;
    t.mock.method(performance, 'now', () => this.#clock);
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const none: Listeners = new Map();
    const view = (kind: Kind) =>
      Object.assign(kind === 'Listener' ? this.#stored : none, { write: (_: unknown, send: () => Promise<unknown>) => send() });
    const client = {
      patch: (_: unknown, { name }: { readonly name: string }, { status }: { readonly status: unknown }) => {
        this.writes.push(name);
        const object = this.#stored.get(`west/${name}`);
        if (object !== undefined) this.#stored.set(`west/${name}`, { ...object, status: { ...Object(object.status), ...Object(status) } });
        return Promise.resolve({});
      },
    };
    const options = { client, watches: { resources: view, network: undefined }, siblings: { serving: () => [] }, namespace: 'west' };
    const log = createLogger({ level: 'silent', component: 'test' });
    const more = { log, onClose: () => undefined, now: () => '2026-01-01T00:00:00Z', settling: 1e9 };
    // The client and the views have what statuses need of them.
    this.#statuses = new ClusterStatuses({ ...options, ...more } as unknown as ClusterStatusesOptions);
  }

  /** @param readyAt second at which its Service exists */
  create(name: string, readyAt: number): void {
    this.#stored.set(`west/${name}`, { metadata: { namespace: 'west', name, uid: name } });
    this.#readyAt.set(name, readyAt);
  }

  async passSecond(): Promise<void> {
    this.#second++;
    const listeners = [...this.#readyAt.keys()].map((name) => aListener(name));
    const late = listeners.filter(({ metadata: { name = '' } }) => (this.#readyAt.get(name) ?? 0) > this.#second).map(keyOf);
    const isLate = new Set(late);
    const status = (key: ResourceKey): AnyStatus => ({ status: isLate.has(key) ? 'Pending' : 'Ready', message: '', conditions: [] });
    const config = { edge: false, listeners: [], connectors: [], links: [], accesses: [] };
    this.#statuses.write({
      resources: resources(...listeners),
      statuses: new Map(listeners.map((listener) => [keyOf(listener), status(keyOf(listener))])),
      problems: [],
      plan: {
        config,
        problems: late.map((resource) => ({ code: 'service-awaited', resource, severity: 'error', field: 'spec.host', message: '' })),
        selectedPods: new Map(),
        heldPorts: [],
        networks: new Map(),
        routerNetworks: [],
      },
    });
    this.#clock += 1_000;
    this.#t.mock.timers.tick(1_000);
    // Enough iterations for all reconciles of 2,000 keys, eight at a time.
    for (let iteration = 0; iteration < 300; iteration++) await new Promise(setImmediate);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#t.mock.timers.reset();
    this.#t.mock.restoreAll();
    await this.#statuses.close();
  }
}

describe('first statuses of Listeners', () => {
  for (const count of [500, 2_000]) {
    it(`are written once each for ${count} Listeners whose Services are created at 50 a second, with a pause of 4 s`, async (t) => {
      await using namespace = new Namespace(t);
      for (let index = 0; index < count; index++) namespace.create(`web-${index}`, 1 + Math.ceil(index / 50) + (index > count / 2 ? 4 : 0));
      for (let second = 0; second < count / 50 + 10; second++) await namespace.passSecond();
      assert.equal(new Set(namespace.writes).size, count);
      assert.equal(namespace.writes.length, count);
    });
  }

  it('do not wait much longer than half a minute while another Listener is created and served every second', async (t) => {
    await using namespace = new Namespace(t);
    namespace.create('late', Infinity);
    for (let second = 0; second < 45; second++) {
      namespace.create(`web-${second}`, second + 1);
      await namespace.passSecond();
    }
    assert.ok(namespace.writes.includes('late'));
  });
});
