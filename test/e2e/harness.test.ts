/** Calls of the test cluster that other tests rely on and would not miss: without effect, those tests would pass and prove nothing. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { eventually, startCluster, stopCluster, type Cluster } from '../harness/index.ts';

const NAME = 'harness-test';
const NODE = `${NAME}-1`;

describe('the test cluster', { timeout: 300_000 }, () => {
  let cluster: Cluster;

  before(async () => {
    await stopCluster(NAME);
    cluster = await startCluster({ name: NAME, nodes: 1 });
  });
  after(() => cluster[Symbol.asyncDispose]());

  it('no longer answers at an address that is taken from a node', async () => {
    const own = { type: 'InternalIP', address: cluster.nodes[0]?.addresses[0] ?? '' } as const;
    const askKubelet = (address: string): Promise<string> =>
      cluster
        .outside(['curl', '--silent', '--insecure', '--max-time', '3', `https://${address}:10250/healthz`])
        // Where the address is unused, something beyond this machine may answer.
        .catch(() => 'no answer');
    const isKubelet = async (address: string): Promise<boolean> => /Unauthorized|^ok$/.test(await askKubelet(address));
    await cluster.setNodeAddresses(NODE, [own, { type: 'ExternalIP', address: '198.51.100.7' }]);
    await eventually('an answer', () => isKubelet('198.51.100.7'));
    await cluster.setNodeAddresses(NODE, [own]);
    assert.equal(await isKubelet('198.51.100.7'), false);
  });

  it('cuts a watch that is open, and answers a new request', async () => {
    let hasEnded = false;
    const onEnd = (): void => {
      hasEnded = true;
    };
    const watch = cluster.kubectl(['get', 'nodes', '--watch', '--request-timeout=60s']).then(onEnd, onEnd);
    await eventually('the watch to be cut', async () => {
      await cluster.cutWatches();
      return hasEnded;
    });
    await watch;
    assert.match(await cluster.kubectl(['get', 'nodes']), new RegExp(NODE));
  });

  it('takes no write while etcd is paused, and takes it afterwards', async () => {
    await cluster.pauseEtcd();
    await assert.rejects(cluster.kubectl(['create', 'namespace', 'paused', '--request-timeout=1s']));
    await cluster.resumeEtcd();
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'resumed' } });
    await eventually('a write to succeed', () => cluster.kubectl(['apply', '-f', '-'], { input }));
  });

  it('leaves nothing behind when it stops', async () => {
    const { processes, layout } = cluster.state;
    await cluster.stop();
    for (const { pid, component } of processes) assert.ok(!readCommand(pid).includes(layout.dir), `${component} still runs`);
    assert.ok(!existsSync(layout.dir), layout.dir);
    assert.ok(!existsSync(layout.logs), layout.logs);
    for (const node of layout.nodes) assert.ok(!existsSync(`/run/netns/${node.netns}`), node.netns);
    assert.doesNotMatch(readFileSync('/proc/net/dev', 'utf8'), new RegExp(`^ *${layout.bridge}(n\\d)?:`, 'm'));
    assert.doesNotMatch(readFileSync('/proc/self/mountinfo', 'utf8'), new RegExp(layout.dir));
  });
});

function readCommand(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
