import assert from 'node:assert/strict';
import { afterEach, before, describe, it } from 'node:test';
import type { ListenerIngress } from '../../src/api/listeners/index.ts';
import { type NodeAddress } from '../harness/index.ts';
import { answerFromOutside } from './support/clients.ts';
import { byListener, claim, pod, webServer } from './support/manifests.ts';
import { useNamespace } from './support/namespace.ts';
import { becomesTree, readTree, type TreeFiles } from './support/tree.ts';

const PORT = 8080;

describe("a Node's addresses", { timeout: 400_000 }, () => {
  const namespace = useNamespace('nodes');
  const { cluster } = namespace;
  const [node] = cluster.nodes;
  assert.ok(node);
  const own: NodeAddress = { type: 'InternalIP', address: node.addresses[0] ?? '' };
  // Apart from other clusters' on this machine (TEST-NET-2, RFC 5737).
  const [first, second] = [1, 2].map((host) => `198.51.100.${cluster.layout.index * 16 + host}`);
  assert.ok(first !== undefined && second !== undefined);
  const [hostname, otherHostname] = ['one.example.test', 'two.example.test'];
  /** Of the pod's volumes, on the node. */
  const folders = { ip: '', hostname: '' };

  before(async () => {
    for (const preferredAddressType of ['IP', 'Hostname'] as const) {
      const name = preferredAddressType.toLowerCase();
      const className = await namespace.class(name, { serviceType: 'NodePort', preferredAddressType });
      await namespace.listener(name, { className, ports: [{ name: 'http', port: PORT }] });
      await namespace.create(claim(name, byListener(name)));
    }
    await namespace.create(pod('server', { node: node.name, volumes: { ip: 'ip', hostname: 'hostname' }, script: webServer(PORT) }));
    const [server] = await namespace.running('server');
    for (const name of ['ip', 'hostname'] as const) {
      const { metadata } = await namespace.volumeOf(name);
      folders[name] = `${node.kubeletDir}/pods/${server?.metadata.uid}/volumes/kubernetes.io~csi/${metadata.name}/mount`;
    }
    await restore();
    assert.deepEqual(await namespace.tree('server', 'ip'), await filesOf('ip'), 'the pod sees these files');
  });
  afterEach(restore);

  const cases: readonly {
    readonly behaviour: string;
    readonly given: readonly NodeAddress[];
    readonly ips: readonly string[];
    readonly hostnames: readonly string[];
  }[] = [
    {
      behaviour: 'a new external one replaces the internal one',
      given: [own, { type: 'ExternalIP', address: first }, { type: 'Hostname', address: hostname }],
      ips: [first],
      hostnames: [hostname],
    },
    {
      behaviour: 'several of a kind are all announced, in their order',
      given: [
        { type: 'ExternalIP', address: second },
        own,
        { type: 'ExternalIP', address: first },
        { type: 'Hostname', address: hostname },
        { type: 'Hostname', address: otherHostname },
      ],
      ips: [second, first],
      hostnames: [hostname, otherHostname],
    },
    { behaviour: 'without a Hostname the IP is announced instead', given: [own], ips: [own.address], hostnames: [own.address] },
    {
      behaviour: 'without an IP the Hostname is announced instead',
      given: [{ type: 'Hostname', address: hostname }],
      ips: [hostname],
      hostnames: [hostname],
    },
  ];

  for (const { behaviour, given, ips, hostnames } of cases) {
    it(`are followed by status and files of a running pod, and answer: ${behaviour}`, async () => {
      await cluster.setNodeAddresses(node.name, given);
      for (const [name, addresses] of [
        ['ip', ips],
        ['hostname', hostnames],
      ] as const) {
        for (const { address, addressType, ports } of await becomes(name, addresses)) {
          assert.equal(addressType, /^[\d.]+$/.test(address) ? 'IP' : 'Hostname');
          assert.equal(await answerFromOutside(cluster, address, ports['http'] ?? 0), 'server');
        }
      }
    });
  }

  it('that can be no address, whatever they would do to a path, are not announced', async () => {
    const hostile: readonly NodeAddress[] = [
      own,
      ...['../../../../x', '/etc', '.', 'n'.repeat(300), 'a\nb'].flatMap((address): readonly NodeAddress[] => [
        { type: 'Hostname', address },
        { type: 'ExternalIP', address },
      ]),
    ];
    await cluster.api.patch(`/api/v1/nodes/${node.name}/status`, { status: { addresses: hostile } });
    const { status } = await namespace.untilListener(
      'hostname',
      'to be at the IP',
      (listener) => listener.status?.ingressAddresses?.[0]?.address === own.address,
    );
    assert.equal(status?.ingressAddresses?.length, 1);
    await becomesTree(() => filesOf('hostname'), status?.ingressAddresses ?? []);
    await becomesTree(() => filesOf('ip'), (await namespace.ready('ip')).status?.ingressAddresses ?? []);
  });

  it('that are all gone leave the files as they were, and a condition says so', async () => {
    const shown = await filesOf('ip');
    await cluster.setNodeAddresses(node.name, []);
    const { message } = await namespace.condition('ip', 'Ready', 'False', 'NodeHasNoAddress');
    assert.match(message, new RegExp(`Node ${node.name} lists no address`));
    assert.deepEqual(await filesOf('ip'), shown);
  });

  /** As the node registered. Waits until the Listeners know and the files are at rest, so that each test begins with the same. */
  async function restore(): Promise<void> {
    await cluster.setNodeAddresses(node?.name ?? '', [own, { type: 'Hostname', address: node?.name ?? '' }]);
    await becomes('ip', [own.address]);
    await becomes('hostname', [node?.name ?? '']);
  }

  /** Waits until a Listener is at these addresses, and its files with it; returns the addresses in its status. */
  async function becomes(name: keyof typeof folders, addresses: readonly string[]): Promise<readonly ListenerIngress[]> {
    const { status } = await namespace.untilListener(
      name,
      `to be at ${addresses.join()}`,
      (listener) => listener.status?.ingressAddresses?.map(({ address }) => address).join() === addresses.join(),
    );
    const ingress = status?.ingressAddresses ?? [];
    await becomesTree(() => filesOf(name), ingress);
    return ingress;
  }

  /** Read on the node: the API server runs programs in pods only where it knows an address of the node. */
  function filesOf(name: keyof typeof folders): Promise<TreeFiles> {
    return readTree((argv) => cluster.outside(argv), folders[name]);
  }
});
