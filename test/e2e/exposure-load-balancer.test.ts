import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { PodListeners, PreferredAddressType } from '../../src/api/listeners/index.ts';
import { answerService, type LoadBalancerIngress } from '../harness/index.ts';
import { API, byListener, claim, pod } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { becomesTree, expectedTree } from './support/tree.ts';

/** No program serves this one, so that the tests can play it. */
const LOAD_BALANCER_CLASS = 'stand-in.example/cloud';

interface Row {
  readonly name: string;
  readonly answer: readonly LoadBalancerIngress[];
  readonly preferred: PreferredAddressType;
  readonly expected: readonly (readonly [address: string, type: 'IP' | 'Hostname'])[];
}

const one = { ip: '192.0.2.10', hostname: 'one.lb.example' };

const rows: readonly Row[] = [
  { name: 'ip', answer: [{ ip: one.ip }], preferred: 'IP', expected: [[one.ip, 'IP']] },
  { name: 'only-ip', answer: [{ ip: one.ip }], preferred: 'Hostname', expected: [[one.ip, 'IP']] },
  { name: 'hostname', answer: [{ hostname: one.hostname }], preferred: 'HostnameConservative', expected: [[one.hostname, 'Hostname']] },
  { name: 'only-hostname', answer: [{ hostname: one.hostname }], preferred: 'IP', expected: [[one.hostname, 'Hostname']] },
  { name: 'both-conservative', answer: [one], preferred: 'HostnameConservative', expected: [[one.hostname, 'Hostname']] },
  { name: 'both-ip', answer: [one], preferred: 'IP', expected: [[one.ip, 'IP']] },
  {
    name: 'two',
    answer: [{ ip: '192.0.2.20' }, { ip: '192.0.2.10' }],
    preferred: 'IP',
    expected: [
      ['192.0.2.20', 'IP'],
      ['192.0.2.10', 'IP'],
    ],
  },
  {
    name: 'two-kinds',
    answer: [{ ip: '192.0.2.20' }, one],
    preferred: 'Hostname',
    expected: [
      ['192.0.2.20', 'IP'],
      [one.hostname, 'Hostname'],
    ],
  },
];

describe('what a load balancer answers', { timeout: 400_000 }, () => {
  const namespace = useNamespace('lb');
  const { cluster } = namespace;

  before(async () => {
    for (const { name, answer, preferred } of rows) {
      await exposed(name, preferred);
      await answered(name, answer);
    }
    await namespace.create(pod('reader', { volumes: Object.fromEntries(rows.map(({ name }) => [name, name])) }));
    await namespace.running('reader');
  });

  for (const { name, answer, preferred, expected } of rows) {
    it(`${JSON.stringify(answer)}, preferring ${preferred}, is in status and files as ${expected.flat().join(' ')}`, async () => {
      const addresses = expected.map(([address, addressType]) => ({ address, addressType, ports: { http: 8080 } }));
      const { status } = await namespace.ready(name);
      assert.deepEqual(status?.ingressAddresses, addresses);
      assert.deepEqual(await namespace.tree('reader', name), expectedTree(addresses));
    });
  }

  it('keeps a pod waiting while it is late, says so in condition and event, and lets it run as soon as it comes', async () => {
    await exposed('late', 'IP');
    await namespace.create(pod('waiting', { volumes: { late: 'late' } }));
    const { message } = await namespace.condition('late', 'Ready', 'False', 'LoadBalancerPending');
    assert.match(
      message,
      new RegExp(`Service ${namespace.name}/late waits for load balancer class ${LOAD_BALANCER_CLASS} to assign an address`),
    );
    await namespace.event({ kind: 'Pod', name: 'waiting' }, /listener volume waits: .*late.*waits for load balancer class/);
    const { status } = await namespace.podListeners('waiting');
    assert.deepEqual(
      Object.values(status?.mounts ?? {}).map(({ reason }) => reason),
      ['LoadBalancerPending'],
    );

    await answered('late', [{ ip: '192.0.2.30' }]);
    await namespace.running('waiting');
    // The kubelet gives a call two minutes; had it failed instead of waited, the next would come after a pause that grows.
    const failures = (await namespace.events({ kind: 'Pod', name: 'waiting' })).filter(({ reason }) => reason === 'FailedMount');
    assert.deepEqual(
      failures.map((failure) => failure.message),
      [],
      'the kubelet did not have to try again',
    );
    const { metadata } = await namespace.podListeners('waiting');
    const request = { apiVersion: API, kind: 'PodListeners', name: metadata.name ?? '' };
    await namespace.until<PodListeners>(request, 'to wait for nothing', (object) => Object.keys(object.status?.mounts ?? {}).length === 0);
  });

  it('is followed by the files of a running pod when it changes, from one address to another and to more', async () => {
    await exposed('changes', 'IP');
    await answered('changes', [{ ip: '192.0.2.40' }]);
    await namespace.create(pod('follower', { volumes: { changes: 'changes' } }));
    await namespace.running('follower');
    for (const ips of [['192.0.2.41'], ['192.0.2.42', '192.0.2.41'], ['192.0.2.41', '192.0.2.42'], ['192.0.2.40']]) {
      await answered(
        'changes',
        ips.map((ip) => ({ ip })),
      );
      const addresses = ips.map((address) => ({ address, addressType: 'IP' as const, ports: { http: 8080 } }));
      await becomesTree(() => namespace.tree('follower', 'changes'), addresses);
    }
  });

  it('leaves the files unchanged when it withdraws its answer, and the condition reports the missing address', async () => {
    await exposed('taken-back', 'IP');
    await answered('taken-back', [{ ip: '192.0.2.50' }]);
    await namespace.create(pod('keeper', { volumes: { volume: 'taken-back' } }));
    await namespace.running('keeper');
    const shown = await namespace.tree('keeper', 'volume');
    await answered('taken-back', []);
    await namespace.condition('taken-back', 'Ready', 'False', 'LoadBalancerPending');
    assert.deepEqual(await namespace.tree('keeper', 'volume'), shown);
  });

  async function exposed(name: string, preferredAddressType: PreferredAddressType): Promise<void> {
    await namespace.exposed(name, { serviceType: 'LoadBalancer', loadBalancerClass: LOAD_BALANCER_CLASS, preferredAddressType });
    await namespace.create(claim(name, byListener(name)));
  }

  /** The Service is there once the Listener has been looked at. */
  async function answered(name: string, ingress: readonly LoadBalancerIngress[]): Promise<void> {
    await namespace.untilService(name, 'to exist', () => true);
    await answerService(cluster, namespace.name, name, ingress);
  }
});
