/** A pod that waits for its address delays only itself: beside others of its claim on its node, and in a StatefulSet. */
import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { PodListeners } from '../../src/api/listeners/index.ts';
import type { Pod } from '../../src/kube/objects.ts';
import { answerService, eventually } from '../harness/index.ts';
import { API, byClass, byListener, claim, claimTemplate, pod, podSpec, SLEEP } from './support/manifests.ts';
import { openNamespace, useNamespace, type Namespace } from './support/namespace.ts';

/** No program serves this one, so that the tests can play it. */
const LOAD_BALANCER = {
  serviceType: 'LoadBalancer',
  loadBalancerClass: 'stand-in.example/waiting',
  loadBalancerAllocateNodePorts: false,
} as const;
const PORTS = [{ name: 'http', port: 8080 }];
const CONTAINER_PORTS = [{ name: 'http', containerPort: 8080 }];
/**
 * Milliseconds that a pod may take longer than one without a volume: 3 s because of another one that waits, and 12 s if the kubelet's first
 * try came before its right to read the claim. A call that is held takes 100 s. Simulated clusters compare more exactly.
 */
const ALLOWED = 15_000;
/** By this factor one of two pods may be slower by chance. */
const SPREAD = 3;
let comparisons = 0;

/**
 * What a pod does before the address comes. A stopped one was running, the other ended ones were waiting.
 * A finished one ends by itself.
 */
const STATES = ['waiting', 'running', 'deleted', 'forced', 'stopped', 'finished'] as const;
type State = (typeof STATES)[number];
const RAN: ReadonlySet<State> = new Set<State>(['running', 'stopped', 'finished']);

/** All pairs, and three pods of different states. Simulated clusters try more of them (test/fake-cluster/delays.ts). */
function combinations(): readonly (readonly State[])[] {
  const pairs = STATES.flatMap((one, at) => STATES.slice(at).map((two): readonly State[] => [one, two]));
  const threes = STATES.flatMap((one, first) =>
    STATES.slice(first + 1).flatMap((two, second) => STATES.slice(first + second + 2).map((three): readonly State[] => [one, two, three])),
  );
  return [...pairs, ...threes].filter((states) => states.some((state) => !RAN.has(state)));
}

describe('pods of one claim on one node', { timeout: 600_000, concurrency: 6 }, () => {
  const namespace = useNamespace('shared', { lb: LOAD_BALANCER });
  const { cluster } = namespace;
  let node = '';

  before(() => {
    node = cluster.nodes[0]?.name ?? '';
  });

  const answer = (name: string, ...ips: readonly string[]): Promise<void> =>
    answerService(
      cluster,
      namespace.name,
      name,
      ips.map((ip) => ({ ip })),
    );

  for (const [index, states] of combinations().entries()) {
    it(states.join(', '), async () => {
      const name = `c${index}`;
      await namespace.listener(name, { className: namespace.className('lb'), ports: PORTS });
      await namespace.untilService(name, 'to exist', () => true);
      await namespace.create(claim(name, byListener(name)));
      const pods = states.map((state, place) => ({ state, name: `${name}-${place}` }));
      const start = (chosen: typeof pods): Promise<unknown> =>
        Promise.all(
          chosen.map(({ name: podName, state }) => {
            const script = state === 'finished' ? 'until [ -e /tmp/end ]; do sleep 0.1; done' : SLEEP;
            return namespace.create(
              pod(podName, {
                volumes: { listener: name },
                node,
                script,
                spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 1 },
              }),
            );
          }),
        );
      const ran = pods.filter(({ state }) => RAN.has(state));
      if (ran.length > 0) {
        await answer(name, '198.51.100.8');
        await start(ran);
        await namespace.running(...ran.map((each) => each.name));
        await answer(name);
        await namespace.condition(name, 'Ready', 'False', 'LoadBalancerPending');
      }
      const waiting = pods.filter(({ state }) => !RAN.has(state));
      await start(waiting);
      await eventually('a mount that waits', async () => {
        const found = await Promise.all(waiting.map((each) => waitsForAddress(each.name)));
        return found.some(Boolean) ? true : undefined;
      });

      const ended = pods.filter(({ state }) => state !== 'waiting' && state !== 'running');
      await assertSoon('ending', namespace, async () => {
        await Promise.all(
          ended.map(({ state, name: podName }) => {
            if (state === 'finished') return namespace.exec(podName, ['touch', '/tmp/end']);
            const grace = state === 'forced' ? '?gracePeriodSeconds=0' : '';
            return cluster.api.remove(`/api/v1/namespaces/${namespace.name}/pods/${podName}${grace}`);
          }),
        );
        await eventually('the ended pods to be gone', async () => {
          const left = await Promise.all(ended.map(({ name: podName }) => namespace.get<Pod>('v1', 'Pod', podName)));
          return left.every((each) => each === undefined || each.status?.phase === 'Succeeded') ? true : undefined;
        });
      });
      await assertSoon('starting', namespace, async () => {
        await answer(name, '198.51.100.9');
        await namespace.running(...pods.filter(({ state }) => state === 'waiting' || state === 'running').map((each) => each.name));
      });
      // A finished pod's volume is unmounted too.
      for (const { name: podName } of ended.filter(({ state }) => state === 'finished')) await namespace.remove('v1', 'Pod', podName);
    });
  }

  async function waitsForAddress(name: string): Promise<boolean> {
    const { metadata } = (await namespace.get<Pod>('v1', 'Pod', name)) ?? { metadata: {} };
    const request = await namespace.get<PodListeners>(API, 'PodListeners', `pod-${metadata.uid}`);
    return Object.keys(request?.status?.mounts ?? {}).length > 0;
  }
});

describe('a pod of a StatefulSet that waits', { timeout: 600_000, concurrency: 4 }, () => {
  const namespace = useNamespace('successor', { lb: LOAD_BALANCER });
  const { cluster } = namespace;

  for (const [set, grace] of [
    ['graceful', ''],
    ['forced', '?gracePeriodSeconds=0'],
  ] as const) {
    it(`has a successor that runs soon after its address exists: ${set}`, async () => {
      await createSet(namespace.name, set, 'lb');
      const first = await untilWaiting(namespace.name, `${set}-0`, undefined);
      await assertSoon('the request of the successor', namespace, async () => {
        await cluster.api.remove(`/api/v1/namespaces/${namespace.name}/pods/${set}-0${grace}`);
        await untilWaiting(namespace.name, `${set}-0`, first);
      });
      await assertSoon('the start of the successor', namespace, async () => {
        await answerService(cluster, namespace.name, `l-${set}-0`, [{ ip: '198.51.100.9' }]);
        await namespace.running(`${set}-0`);
      });
      const events = await namespace.events({ kind: 'Pod', name: `${set}-0` });
      for (const { message } of events) assert.doesNotMatch(message, /The controller has not/);
    });
  }

  it('does not hold up the end of its namespace', async () => {
    const ends = await openNamespace(cluster, 'ends');
    await ends.class('lb', LOAD_BALANCER);
    await createSet(ends.name, 'web', 'lb');
    await untilWaiting(ends.name, 'web-0', undefined);
    await ends[Symbol.asyncDispose]();
    // A mount that waits lasts up to 110 seconds.
    await eventually('the namespace to be gone', async () =>
      (await cluster.api.find(`/api/v1/namespaces/${ends.name}`)) === undefined ? true : undefined,
    );
  });

  async function createSet(inNamespace: string, name: string, className: string): Promise<void> {
    await cluster.api.create(`/apis/apps/v1/namespaces/${inNamespace}/statefulsets`, {
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      metadata: { name },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: name } },
        template: {
          metadata: { labels: { app: name } },
          spec: { ...podSpec({ volumes: { l: 'l' }, ports: CONTAINER_PORTS, node: cluster.nodes[0]?.name ?? '' }), volumes: [] },
        },
        volumeClaimTemplates: [claimTemplate(byClass(`${inNamespace}-${className}`), { accessMode: 'ReadWriteOnce' }, 'l')],
      },
    });
  }

  /** The uid of the pod, another than `not`, once its mount waits. */
  function untilWaiting(inNamespace: string, name: string, not: string | undefined): Promise<string> {
    return eventually(`the mount of pod ${name} to wait`, async () => {
      const found = await cluster.api.find<Pod>(`/api/v1/namespaces/${inNamespace}/pods/${name}`);
      const uid = found?.metadata.uid;
      if (uid === undefined || uid === not) return undefined;
      const path = `/apis/${API}/namespaces/${inNamespace}/podlisteners/pod-${uid}`;
      const request = await cluster.api.find<PodListeners>(path);
      return Object.keys(request?.status?.mounts ?? {}).length > 0 ? uid : undefined;
    });
  }
});

/** Compares with the life of a pod without a volume at the same time, since a busy machine slows both. */
async function assertSoon(what: string, namespace: Namespace, act: () => Promise<void>): Promise<void> {
  comparisons += 1;
  const name = `usual-${comparisons}`;
  const [took, usual] = await Promise.all([timed(act), timed(() => runPod(namespace, name))]);
  const most = ALLOWED + SPREAD * usual;
  assert.ok(took < most, `${what} took ${Math.round(took)} ms, and ${Math.round(most)} ms are allowed`);
}

async function timed(act: () => Promise<void>): Promise<number> {
  const from = performance.now();
  await act();
  return performance.now() - from;
}

/** From its creation to its end. */
async function runPod(namespace: Namespace, name: string): Promise<void> {
  await namespace.create(pod(name));
  await namespace.running(name);
  await namespace.remove('v1', 'Pod', name);
  await eventually('the pod to be gone', async () => ((await namespace.get('v1', 'Pod', name)) === undefined ? true : undefined));
}
