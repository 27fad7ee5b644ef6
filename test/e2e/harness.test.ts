import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { connectCluster, eventually, fakeLoadBalancer, startCluster, startMetalLB, stopCluster, type Cluster } from '../harness/index.ts';

const NAME = 'harness-test';

const web = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 0,
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app: 'web' } },
          },
        ],
        containers: [
          {
            name: 'web',
            // As the examples write it.
            image: 'busybox:1',
            imagePullPolicy: 'Never',
            command: ['sh', '-c', 'hostname > /tmp/index.html; exec httpd -f -p 8080 -h /tmp'],
          },
        ],
      },
    },
  },
};

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: {
    type: 'NodePort',
    ipFamilyPolicy: 'PreferDualStack',
    selector: { app: 'web' },
    ports: [{ port: 80, targetPort: 8080, nodePort: 30080 }],
  },
};

interface Pods {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly uid: string };
    readonly spec: { readonly nodeName: string };
  }[];
}

describe('the test cluster', { timeout: 580_000 }, () => {
  let cluster: Cluster;
  const fetchFrom = (address: string): Promise<string> => cluster.outside(['curl', '-sSf', '--max-time', '3', `http://${address}:30080/`]);
  const answers = (address: string): Promise<string> => eventually(`http://${address}:30080 to answer`, () => fetchFrom(address));
  const pods = async (): Promise<Pods['items']> =>
    (await cluster.api.get<Pods>('/api/v1/namespaces/default/pods?labelSelector=app%3Dweb')).items;
  const ingressOf = async (name: string): Promise<readonly { ip?: string; hostname?: string }[]> => {
    const { status } = await cluster.api.get<{ status: { loadBalancer: { ingress?: readonly { ip?: string; hostname?: string }[] } } }>(
      `/api/v1/namespaces/default/services/${name}`,
    );
    return status.loadBalancer.ingress ?? [];
  };
  const [first, second] = [`${NAME}-1`, `${NAME}-2`];

  before(async () => {
    await stopCluster(NAME);
    cluster = await startCluster({ name: NAME, dualStack: true });
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [web, service] }) });
    await cluster.kubectl(['rollout', 'status', 'deployment/web', '--timeout=110s']);
  });
  after(() => cluster[Symbol.asyncDispose]());

  it('answers at a NodePort of each node from outside, over IPv4 and IPv6', async () => {
    for (const address of cluster.nodes.flatMap((node) => node.addresses)) {
      assert.match(await answers(address.includes(':') ? `[${address}]` : address), /^web-/);
    }
  });

  it('resolves Services in a pod', async () => {
    const [pod] = await pods();
    const lookUp = (): Promise<string> => cluster.exec('default', pod?.metadata.name ?? '', ['nslookup', 'web.default.svc.cluster.local.']);
    assert.match(await eventually('the name to resolve', lookUp), /Address: 10\./);
  });

  it('carries a Service to pods of the same node and of another', async () => {
    const [pod] = await pods();
    const seen = new Set<string>();
    await eventually('both pods to answer', async () => {
      seen.add(
        await cluster.exec('default', pod?.metadata.name ?? '', [
          'timeout',
          '3',
          'wget',
          '-q',
          '-O',
          '-',
          'http://web.default.svc.cluster.local./',
        ]),
      );
      return seen.size === 2;
    });
  });

  it('answers at every address that a node is given, and no longer at one that is taken away', async () => {
    const own = cluster.nodes[0]?.addresses[0] ?? '';
    await cluster.setNodeAddresses(first, [
      { type: 'InternalIP', address: own },
      { type: 'ExternalIP', address: '198.51.100.7' },
      { type: 'ExternalIP', address: '198.51.100.8' },
      { type: 'ExternalIP', address: '2001:db8::7' },
      { type: 'Hostname', address: 'one.example.test' },
    ]);
    for (const address of ['198.51.100.7', '198.51.100.8', '[2001:db8::7]', 'one.example.test'])
      assert.match(await answers(address), /^web-/);
    await cluster.setNodeAddresses(first, [
      { type: 'InternalIP', address: own },
      { type: 'ExternalIP', address: '198.51.100.8' },
    ]);
    await assert.rejects(fetchFrom('198.51.100.7'));
    assert.match(await answers('198.51.100.8'), /^web-/);
  });

  it('keeps given addresses and running pods over a restart of the kubelet', async () => {
    const uids = (await pods()).map(({ metadata }) => metadata.uid).sort();
    await cluster.stopKubelet(first);
    await cluster.startKubelet(first);
    const node = await cluster.api.get<{ status: { addresses: readonly { address: string }[] } }>(`/api/v1/nodes/${first}`);
    assert.ok(node.status.addresses.some(({ address }) => address === '198.51.100.8'));
    assert.deepEqual((await pods()).map(({ metadata }) => metadata.uid).sort(), uids);
  });

  it('gives a token that is bound to the pod and names its node', async () => {
    const pod = (await pods()).find(({ spec }) => spec.nodeName === second);
    const token = await cluster.token('default', 'default', { pod: pod?.metadata.name ?? '' });
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      'kubernetes.io': { node: { name: string }; pod: { uid: string } };
    };
    assert.equal(claims['kubernetes.io'].node.name, second);
    assert.equal(claims['kubernetes.io'].pod.uid, pod?.metadata.uid);
  });

  it('cuts a watch that is open, and answers a new one', async () => {
    const watch = cluster.kubectl(['get', 'pods', '--watch', '--request-timeout=60s', '-v=6']);
    let ended = false;
    const over = watch.then(
      () => {
        ended = true;
      },
      () => {
        ended = true;
      },
    );
    await eventually('the watch to be cut', async () => {
      await cluster.cutWatches();
      return ended;
    });
    await over;
    assert.ok((await pods()).length === 2);
  });

  it('runs a program of a Debian package with its libraries', async () => {
    const image = await cluster.loadDebianImage({
      name: 'redis',
      packages: ['redis-server', 'redis-tools'],
      programs: ['/usr/bin/redis-server', '/usr/bin/redis-cli'],
      command: ['redis-server'],
    });
    await cluster.kubectl([
      'run',
      'redis',
      `--image=${image}`,
      '--image-pull-policy=Never',
      '--restart=Never',
      '--',
      'redis-server',
      '--protected-mode',
      'no',
    ]);
    await cluster.kubectl(['wait', '--for=condition=Ready', '--timeout=100s', 'pod/redis']);
    assert.match(await eventually('redis to answer', () => cluster.exec('default', 'redis', ['redis-cli', 'ping'])), /PONG/);
  });

  it('answers at a load balancer address that MetalLB assigns', async () => {
    await using _ = await startMetalLB(cluster, { addresses: ['198.51.100.96/28'] });
    const balanced = {
      ...service,
      metadata: { name: 'balanced' },
      spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080 }] },
    };
    await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(balanced) });
    const ip = await eventually('an address', async () => (await ingressOf('balanced'))[0]?.ip);
    assert.match(ip, /^198\.51\.100\./);
    assert.match(
      await eventually(`http://${ip} to answer`, () => cluster.outside(['curl', '-sSf', '--max-time', '3', `http://${ip}/`])),
      /^web-/,
    );
    await cluster.kubectl(['delete', 'service', 'balanced']);
  });

  it('lets a stand-in for a cloud answer each Service as the test likes, and as late', async () => {
    const permitted = Promise.withResolvers<undefined>();
    await using _ = fakeLoadBalancer(cluster, async ({ metadata }) => {
      if (metadata.name === 'late') await permitted.promise;
      return [{ ip: '203.0.113.1' }, { hostname: `${metadata.name}.example.test` }];
    });
    for (const name of ['prompt', 'late']) await cluster.kubectl(['create', 'service', 'loadbalancer', name, '--tcp=80']);
    await eventually('the prompt answer', async () => (await ingressOf('prompt')).length === 2);
    assert.deepEqual(await ingressOf('late'), []);
    permitted.resolve(undefined);
    const late = await eventually('the late answer', async () => (await ingressOf('late'))[1]?.hostname);
    assert.equal(late, 'late.example.test');
  });

  it('answers again after a pause of etcd and a restart of the API server', async () => {
    await cluster.pauseEtcd();
    await assert.rejects(cluster.kubectl(['create', 'namespace', 'paused', '--request-timeout=1s']));
    await cluster.resumeEtcd();
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'resumed' } });
    await eventually('a write to succeed', () => cluster.kubectl(['apply', '-f', '-'], { input }));
    await cluster.restartApiServer();
    assert.equal((await pods()).length, 2);
  });

  it('loses a Node object and gets it back with its addresses', async () => {
    await cluster.deleteNode(first);
    assert.equal(await cluster.api.find(`/api/v1/nodes/${first}`), undefined);
    await cluster.addNode(first);
    const node = await cluster.api.get<{ status: { addresses: readonly { address: string }[] } }>(`/api/v1/nodes/${first}`);
    assert.ok(node.status.addresses.some(({ address }) => address === '198.51.100.8'));
  });

  it('counts every call in the audit log, by user agent', async () => {
    // What is behind the last line's end is still being written.
    const calls = readFileSync(cluster.auditLog, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { userAgent: string; verb: string });
    assert.ok(calls.some(({ userAgent, verb }) => userAgent.startsWith('kubelet/') && verb === 'create'));
  });

  it('is found by another process through its record', async () => {
    await using other = connectCluster(`${cluster.layout.dir}/state.json`);
    assert.match(await other.kubectl(['get', 'nodes']), /Ready/);
  });

  it('refuses a second cluster of the same name', async () => {
    await assert.rejects(startCluster({ name: NAME }), { code: 'CLUSTER_RUNS' });
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
