/** Two controllers, one leader: it dies, it freezes past its lease, it ends in good order. One writes at a time, always. */
import assert from 'node:assert/strict';
import { after, beforeEach, describe, it } from 'node:test';
import { connectCluster, eventually } from '../harness/index.ts';
import { processesWithArgument } from '../harness/proc.ts';
import { auditFromNow, describeRequest, podOf, type AuditedRequest, type AuditReader } from './support/audit.ts';
import { leaderOf, leaseDuration, systemPods, SYSTEM, untilInstalled } from './support/installation.ts';
import { useNamespace } from './support/namespace.ts';

const PORTS = [{ name: 'http', port: 8080 }];
/** A Lease stands for 13 seconds; the rest is for a busy machine. */
const FAILOVER_MS = 30_000;

describe('the leader', { timeout: 580_000 }, () => {
  const cluster = connectCluster();
  after(() => untilInstalled(cluster));
  const namespace = useNamespace('leader', { internal: { serviceType: 'ClusterIP' } }, cluster);
  const className = namespace.className('internal');
  let audit: AuditReader;
  let leader: string;

  beforeEach(async () => {
    await untilInstalled(cluster);
    leader = await eventually('a leader', () => leaderOf(cluster));
    // It has done what there was to do, so that what follows is because of the test.
    await exposed(`before-${leader.slice(-5)}-${performance.now().toFixed()}`);
    audit = await auditFromNow(cluster);
  });

  it('is replaced within 30 seconds when it is killed and nothing restarts it', async (t) => {
    const node = await nodeOf(leader);
    await cluster.stopKubelet(node);
    try {
      const killedAt = performance.now();
      process.kill(processOf(leader), 'SIGKILL');
      await exposed('after-kill', FAILOVER_MS);
      const took = performance.now() - killedAt;
      t.diagnostic(`a new Listener was ready after ${(took / 1000).toFixed(1)} s`);
      assert.ok(took < FAILOVER_MS, `it took ${took} ms`);
    } finally {
      await cluster.startKubelet(node);
    }
    await audit.settle();
    assert.deepEqual(
      holders(audit.changes(namespace.name)).filter((holder) => holder === leader),
      [],
    );
    assert.notEqual(await leaderOf(cluster), leader);
  });

  it('writes nothing any more when it wakes up after its lease went to the other', async () => {
    const pid = processOf(leader);
    process.kill(pid, 'SIGSTOP');
    try {
      // Work that it finds in its sockets when it wakes.
      const names = Array.from({ length: 10 }, (_, n) => `asleep-${n}`);
      await Promise.all(names.map((name) => exposed(name, FAILOVER_MS)));
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    // Ready again, it has seen all that happened while it slept.
    await untilInstalled(cluster);
    await exposed('awake');
    await audit.settle();
    const changes = audit.changes(namespace.name);
    assert.deepEqual(changes.filter((change) => podOf(change) === leader).map(describeRequest), []);
    assert.equal(new Set(holders(changes)).size, 1);
  });

  it('hands over in good order when its pod is deleted', async () => {
    const pods = await systemPods(cluster, 'controller');
    const duration = await leaseDuration(cluster);
    // One renewal at least, so that the log knows when the leader wrote its Lease before it gave it back.
    await eventually('a renewal', () => leaseWrites(leader).length > 0);
    await cluster.api.remove(`/api/v1/namespaces/${SYSTEM}/pods/${leader}`);
    const successor = await eventually('another to lead', async () => {
      const holder = await leaderOf(cluster);
      return holder !== leader && holder;
    });
    await exposed('after-handover');
    assert.ok(pods.some(({ metadata }) => metadata.name === leader));
    await audit.settle();
    // Without being given back, it could be taken only that long after its last write.
    const [last, first] = [leaseWrites(leader).at(-1), leaseWrites(successor)[0]].map((write) =>
      Date.parse(write?.requestReceivedTimestamp ?? ''),
    );
    const took = (first ?? NaN) - (last ?? NaN);
    assert.ok(took < duration, `it took ${took} ms, and the Lease stands for ${duration} ms`);
    assertOneAtATime(audit.changes(namespace.name));
  });

  /** A Listener with an address: one that a controller has looked at. */
  async function exposed(name: string, timeoutMs = 60_000): Promise<void> {
    await namespace.listener(name, { className, ports: PORTS });
    await namespace.untilListener(name, 'to have an address', ({ status }) => (status?.ingressAddresses ?? []).length > 0, timeoutMs);
  }

  /** Renewals, takes and gives back of the Lease that one replica wrote. */
  function leaseWrites(identity: string): readonly AuditedRequest[] {
    return audit
      .earshot()
      .filter(
        (request) =>
          request.objectRef?.resource === 'leases' &&
          request.verb === 'patch' &&
          request.responseStatus?.code === 200 &&
          podOf(request) === identity,
      );
  }

  async function nodeOf(pod: string): Promise<string> {
    const found = (await systemPods(cluster, 'controller')).find(({ metadata }) => metadata.name === pod);
    assert.ok(found, `the leader ${pod} is no pod of the installation`);
    return found.spec.nodeName;
  }
});

/** Pods run on this very machine, so their processes can be seen from here. */
function processOf(identity: string): number {
  const [pid, ...others] = processesWithArgument(`--identity=${identity}`);
  assert.ok(pid !== undefined && others.length === 0, `processes with --identity=${identity}: ${[pid, ...others].join(', ')}`);
  return pid;
}

function holders(changes: readonly AuditedRequest[]): readonly (string | undefined)[] {
  return changes.map(podOf);
}

/** In the order of their beginning, all writes of one replica come before all of the other. */
function assertOneAtATime(changes: readonly AuditedRequest[]): void {
  const sequence = changes.toSorted((a, b) => (a.requestReceivedTimestamp < b.requestReceivedTimestamp ? -1 : 1)).map(podOf);
  const turns = sequence.filter((holder, index) => holder !== sequence[index - 1]);
  assert.equal(turns.length, new Set(turns).size, `replicas wrote alternately: ${turns.join(', ')}`);
}
