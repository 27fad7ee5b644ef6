import assert from 'node:assert/strict';
import { BlockList } from 'node:net';
import { it } from 'node:test';
import { families, layOut, MOST_CLUSTERS, MOST_NODES, type ClusterLayout } from '../../harness/layout.ts';

const all: readonly ClusterLayout[] = Array.from({ length: MOST_CLUSTERS }, (_, index) =>
  layOut({ name: `cluster-${index}`, index, nodes: MOST_NODES, dualStack: true, logs: '/tmp' }),
);

it('gives no two clusters of one machine an address, a device or a folder in common', () => {
  const own = (layout: ClusterLayout): readonly string[] => [
    layout.dir,
    layout.bridge,
    layout.loopback,
    layout.dnsAddress,
    ...families(layout.host),
    ...families(layout.serviceRange),
    ...families(layout.podRange),
    ...layout.nodes.flatMap((node) => [node.netns, node.veth, node.dir, ...families(node.address), ...families(node.podRange)]),
  ];
  const seen = all.flatMap(own);
  assert.equal(new Set(seen).size, seen.length);
});

it("keeps nodes, pods and Services of all clusters out of each other's ranges", () => {
  const ranges = all.flatMap((layout) => [layout.nodeRange, layout.podRange, layout.serviceRange]).flatMap(families);
  for (const [n, range] of ranges.entries()) {
    const others = new BlockList();
    for (const [m, other] of ranges.entries()) if (m !== n) others.addSubnet(addressOf(other), prefixOf(other), familyOf(other));
    assert.ok(!others.check(addressOf(range), familyOf(range)), range);
  }
});

it("leaves room below a node's folder for the path of a driver's socket", () => {
  const longest = layOut({ name: 'a'.repeat(20), index: 15, nodes: MOST_NODES, dualStack: false, logs: '/tmp' });
  for (const { kubeletDir, containerdSocket } of longest.nodes) {
    assert.ok(`${kubeletDir}/plugins_registry/listeners.stackable.tech-reg.sock`.length <= 107);
    assert.ok(containerdSocket.length <= 107);
  }
});

it('keeps device names within the 15 bytes that Linux takes', () => {
  for (const { bridge, nodes } of all) for (const name of [bridge, ...nodes.map(({ veth }) => veth)]) assert.ok(name.length <= 15, name);
});

function addressOf(range: string): string {
  return range.split('/')[0] ?? '';
}

function prefixOf(range: string): number {
  return Number(range.split('/')[1]);
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return address.includes(':') ? 'ipv6' : 'ipv4';
}
