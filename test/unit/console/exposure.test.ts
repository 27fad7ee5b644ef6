import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';
import { suite, test } from 'node:test';
import { classDetail, listenerDetail, podDetail } from '../../../src/console/exposure-details.ts';
import { staleExposure, viewExposure, type ExposureView } from '../../../src/console/exposure-views.ts';
import type { ClusterContent } from '../explain/support-cluster.ts';
import { exposedObjects, listener, readContent } from './exposed-cluster.ts';
import { memoryState, memoryWatcher } from './memory-sources.ts';

async function view(content: Partial<ClusterContent> = {}): Promise<ExposureView> {
  const facts = await readContent({ objects: exposedObjects(), ...content });
  assert.ok(facts !== undefined);
  return viewExposure(facts);
}

suite('the lists of exposed objects', () => {
  test('a Listener has its class, addresses, ports, pods and the words of its explanation', async () => {
    const { listeners } = await view();
    assert.deepEqual(
      listeners.map(({ name, className, serviceType, verdict, reason, addresses, ports, message }) =>
        [name, className, serviceType ?? '', verdict, reason, addresses.join(' '), ports.join(' '), message.slice(0, 43)].join(' | '),
      ),
      [
        'web | outside | NodePort | pass | AddressesAssigned | 203.0.113.7 203.0.113.8 | http 30080 | Reachable at 203.0.113.7.',
        `cache | internal | ClusterIP | fail | PodsNotReady |  |  | 1 pod, 0 ready: cache-0: containers wait`,
        'shop | outsied |  | fail | ClassNotFound |  |  | ListenerClass outsied does not exist. Creat',
      ],
    );
    assert.deepEqual([listeners[0]?.pods, listeners[0]?.podsReady, listeners[0]?.created], [1, 1, '2026-01-01T00:00:00Z']);
  });

  test('a pod has its node, its volumes, their nodes and what each mount waits for', async () => {
    const { pods } = await view();
    assert.deepEqual(
      pods.map(({ name, node, ready, verdict, mounts }) => ({ name, node, ready, verdict, mounts })),
      [
        {
          name: 'web-0',
          node: 'n1',
          ready: true,
          verdict: 'pass',
          mounts: [
            {
              claim: 'web',
              volume: 'pv-web',
              listener: 'web',
              scope: 'Node',
              addresses: ['203.0.113.7'],
              ports: ['http 30080'],
              pinnedTo: ['n1'],
            },
          ],
        },
        {
          name: 'cache-0',
          node: 'n1',
          ready: false,
          verdict: 'fail',
          mounts: [
            {
              claim: 'cache',
              volume: 'pv-cache',
              listener: 'cache',
              addresses: [],
              ports: [],
              pinnedTo: [],
              waits: 'Node n1 lists no address.',
            },
          ],
        },
      ],
    );
  });

  test('a class has its type, the fields that differ from their defaults, and its Listeners of the namespace', async () => {
    const { classes } = await view();
    assert.deepEqual(classes, [
      { name: 'internal', serviceType: 'ClusterIP', policy: [], listeners: 1, notReady: 1, message: '' },
      { name: 'outside', serviceType: 'NodePort', policy: ['pinnedNodePorts: true'], listeners: 1, notReady: 0, message: '' },
    ]);
  });

  test('a class that does not match its definition says which field', async () => {
    const objects = { ...exposedObjects(), listenerclasses: [{ metadata: { name: 'odd' }, spec: { serviceType: 7 } }] };
    const { classes } = await view({ objects });
    assert.match(classes[0]?.message ?? '', /ListenerClass odd does not match the current definitions: spec\.serviceType/);
  });

  test('a cluster without the exposure half has no view', async () => {
    const undefinedKinds = ['listenerclasses', 'listeners', 'podlisteners'];
    assert.equal(await readContent({ objects: {}, undefinedKinds }), undefined);
    // The API server checks rights before it looks for the kind.
    assert.equal(await readContent({ objects: {}, undefinedKinds, denied: undefinedKinds }), undefined);
  });

  test('a missing right is named once, and what can be read is shown', async () => {
    const { listeners, pods, partial } = await view({ denied: ['services', 'pods', 'leases'] });
    assert.deepEqual([listeners.length, pods.length], [3, 0]);
    assert.deepEqual(
      partial.map(({ why }) => why),
      [
        'Not everything is shown: you have no right to list leases.coordination.k8s.io in the cluster.',
        'Not everything is shown: you have no right to list pods in the namespace shop.',
        'Not everything is shown: you have no right to get services in the namespace shop.',
      ],
    );
  });

  test('volumes, classes of storage and drivers of nodes that may not be listed are read one by one', async () => {
    const [listed, single] = [await view(), await view({ unlisted: ['persistentvolumes', 'storageclasses', 'csinodes', 'nodes'] })];
    assert.deepEqual([single.listeners, single.pods, single.partial], [listed.listeners, listed.pods, []]);
    assert.deepEqual(listenerDetail(single, 'web')?.volumes, listenerDetail(listed, 'web')?.volumes);
  });

  test('a volume of another namespace that a claim names is not shown', async () => {
    const objects = exposedObjects();
    const [web = assert.fail(), ...others] = objects['persistentvolumes'] ?? [];
    const { claimRef: _, ...spec } = Object(web['spec']);
    const persistentvolumes = [{ ...web, spec: { ...spec, claimRef: { namespace: 'payroll', name: 'web' } } }, ...others];
    for (const unlisted of [[], ['persistentvolumes']]) {
      const seen = await view({ objects: { ...objects, persistentvolumes }, unlisted });
      const [mount] = seen.pods.find(({ name }) => name === 'web-0')?.mounts ?? [];
      assert.deepEqual([mount?.volume, mount?.listener, mount?.pinnedTo], [undefined, undefined, []]);
      assert.deepEqual(listenerDetail(seen, 'web')?.volumes, []);
    }
  });

  test('pods whose claims cannot be read have no problems, and the missing right is named', async () => {
    const { pods, problems, partial } = await view({
      denied: ['leases', 'listeners', 'listenerclasses', 'podlisteners', 'persistentvolumeclaims', 'csinodes'],
    });
    assert.deepEqual([pods, problems], [[], []]);
    assert.ok(partial.some(({ why }) => why.includes('no right to list persistentvolumeclaims in the namespace shop')));
  });

  test('a read that fails keeps what was known, and says why it is old', async () => {
    const before = await view();
    const { listeners, partial } = staleExposure(before, 'the API server is unreachable') ?? before;
    assert.deepEqual([listeners.length, partial[0]?.why], [3, 'The lists are old: the API server is unreachable.']);
  });

  test('a list that fails for a moment stays as it was, with its problems, until it can be read again', async () => {
    const state = memoryState();
    const watcher = memoryWatcher(state);
    const seen = async (failing: readonly string[]) => {
      state.cluster = { objects: exposedObjects(), failing };
      await watcher.readExposure();
      await watcher.read();
      const { exposure, problems } = watcher.overview();
      const exposed = problems.filter(({ object }) => /^(?:listeners\.|Pod)/.test(object));
      return [exposure?.listeners, exposure?.pods, exposed.length, watcher.facts.exposure?.partial.map(({ why }) => why)];
    };
    assert.deepEqual(await seen([]), [3, 2, 3, []]);
    for (const failing of [['listeners'], ['pods'], ['listenerclasses', 'listeners', 'podlisteners', 'pods']]) {
      const [listeners, pods, problems, partial] = await seen(failing);
      assert.deepEqual([listeners, pods, problems], [3, 2, 3], failing.join(' '));
      assert.match(
        String(partial),
        /^The lists are old: (?:listeners\.listeners\.stackable\.tech|pods) cannot be read: .+ no answer within 5 s\.$/,
      );
    }
    assert.deepEqual(await seen([]), [3, 2, 3, []]);
  });

  test('lists that no page has shown for minutes say so until they are read for the next page', async () => {
    const state = memoryState();
    state.cluster = { objects: exposedObjects() };
    const watcher = memoryWatcher(state);
    const reasons = async (): Promise<readonly string[]> => {
      await watcher.readExposure();
      await watcher.read();
      return (watcher.facts.exposure?.partial ?? []).map(({ why }) => why);
    };
    assert.deepEqual(await reasons(), []);
    state.now += 5 * 60_000;
    const old = ['The lists are old: no page has shown them for five minutes. They are read now.'];
    assert.deepEqual([await reasons(), await reasons()], [old, old]);
    watcher.useExposure();
    assert.deepEqual(await reasons(), []);
  });

  test('what all objects have in common is examined once, however many there are', async () => {
    let reads = 0;
    const { listenerclasses = [], ...others } = exposedObjects();
    const [first = assert.fail(), ...further] = listenerclasses;
    const counted = {
      ...first,
      get spec() {
        reads += 1;
        return { serviceType: 'ClusterIP' };
      },
    };
    const readsWith = async (count: number): Promise<number> => {
      reads = 0;
      const listeners = Array.from({ length: count }, (_, at) => listener(`l${at}`, 'internal', []));
      await readContent({ objects: { ...others, listeners, listenerclasses: [counted, ...further] } });
      return reads;
    };
    assert.equal(await readsWith(50), await readsWith(1));
  });

  test('Listeners beyond a thousand are left out, and the list says so', async () => {
    const many = Array.from({ length: 1_001 }, (_, at) => listener(`l${at}`, 'internal', []));
    const { listeners, partial } = await view({ objects: { ...exposedObjects(), listeners: many } });
    assert.deepEqual(
      [listeners.length, partial.map(({ why }) => why)],
      [1_000, ['Not everything is shown: only 1000 of 1001 Listeners are examined.']],
    );
  });
});

test('exposed objects are read again within a second after a page begins to use them', async (t) => {
  const state = memoryState();
  const watcher = memoryWatcher(state);
  const end = new AbortController();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const running = watcher.run(end.signal);
  /** Whether they are read within that time. Timers of the watcher begin in later iterations of the event loop. */
  const isReadWithin = async (seconds: number): Promise<boolean> => {
    const before = state.exposureReads;
    for (let second = 0; second < seconds; second += 1) {
      t.mock.timers.tick(1_000);
      for (let turn = 0; turn < 20; turn += 1) await setImmediate();
    }
    return state.exposureReads > before;
  };
  await setImmediate();
  assert.equal(state.exposureReads, 1);
  assert.ok(await isReadWithin(10));
  state.now += 5 * 60_000;
  assert.ok(!(await isReadWithin(30)));
  watcher.useExposure();
  assert.ok(await isReadWithin(1));
  end.abort();
  await running;
});

suite('problems of exposed objects', () => {
  test('each has its object, message and advice, and does not share a name with objects of the site', async () => {
    const { problems } = await view();
    assert.deepEqual(
      problems.map(({ object, severity, message }) => `${severity} ${object}: ${message.slice(0, 40)}`),
      [
        'error listeners.listeners.stackable.tech/cache: 1 pod, 0 ready: cache-0: containers wait',
        'error listeners.listeners.stackable.tech/shop: ListenerClass outsied does not exist. Cr',
        'error Pod/cache-0: Node n1 lists no address.',
      ],
    );
  });

  test('a controller that does not run is one problem, which names what it affects', async () => {
    const objects = { ...exposedObjects({ hasLeader: false }), pods: [] };
    const listeners = ['a', 'b'].map((name) => listener(name, 'internal', []));
    const waiting = listeners.map((each) => ({ ...each, status: {} }));
    const { problems } = await view({ objects: { ...objects, listeners: waiting } });
    assert.deepEqual(
      problems.map(({ object, code }) => `${object} ${code}`),
      ['Lease/earshot-controller not-running'],
    );
    assert.match(problems[0]?.message ?? '', /It affects Listener\/a, Listener\/b\.$/);
  });
});

suite('one exposed object', () => {
  test('a Listener has its Service, pods with their mounts, pinned volumes, conditions and events', async () => {
    const detail = listenerDetail(await view(), 'web');
    assert.deepEqual(detail?.service, { name: 'web', type: 'NodePort', clusterIps: ['10.96.0.7'], trafficPolicy: 'Local' });
    assert.deepEqual(
      detail?.backends.map(({ name, node, ready, selected, mount }) => [name, node, ready, selected, mount?.claim]),
      [['web-0', 'n1', true, true, 'web']],
    );
    assert.deepEqual(detail?.volumes, [{ name: 'pv-web', claim: 'web', phase: 'Bound', pinnedTo: ['n1'] }]);
    assert.deepEqual(
      detail?.conditions.map(({ type, status }) => `${type} ${status}`),
      ['Accepted True', 'Ready True'],
    );
    assert.deepEqual(
      detail?.ingress.map(({ address, ports }) => `${address} ${ports}`),
      ['203.0.113.7 http 30080', '203.0.113.8 http 30080'],
    );
    assert.match(detail?.yaml ?? '', /^apiVersion: listeners\.stackable\.tech\/v1alpha1\nkind: Listener\n/);
    assert.equal(detail?.command, 'kubectl get listeners.listeners.stackable.tech web -n shop -o yaml');
  });

  test('text of the cluster is made safe to display', async () => {
    const detail = listenerDetail(await view(), 'web');
    assert.equal(detail?.events[0]?.message, String.raw`slice is stale\u{202e}`);
  });

  test('a pod has its conditions, and a class its Listeners', async () => {
    const shown = await view();
    assert.equal(podDetail(shown, 'cache-0')?.conditions[0]?.message, 'containers wait');
    assert.deepEqual(
      classDetail(shown, 'internal')?.items.map(({ name }) => name),
      ['cache'],
    );
  });

  test('an object that does not exist has no detail', async () => {
    const shown = await view();
    assert.deepEqual([classDetail(shown, 'x'), listenerDetail(shown, 'x'), podDetail(shown, 'x')], [undefined, undefined, undefined]);
  });
});
