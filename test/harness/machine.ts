import { mkdir, writeFile } from 'node:fs/promises';
import type { ClusterLayout, NodeLayout } from './layout.ts';
import { startProcess, type ProcessRecord } from './processes.ts';

/**
 * A node's machine: network, mount, host name and process namespaces of its own, held by one init process. Inside, /var/lib/kubelet is
 * the node's own folder, so that several nodes of one file system can run a DaemonSet that mounts that path. Killing init ends
 * everything that ever ran on the node and drops its mounts with it.
 */
export async function startMachine(layout: ClusterLayout, node: NodeLayout): Promise<ProcessRecord> {
  for (const [folder, place] of ownFolders(node)) {
    await mkdir(folder, { recursive: true });
    await mkdir(place, { recursive: true });
  }
  const script = `${node.dir}/init.sh`;
  await writeFile(
    script,
    [
      '#!/bin/sh -e',
      // Pods may ask for mount propagation, which needs a shared tree; a tree of our own, so that nothing reaches the host.
      'mount --make-rprivate /',
      'mount -t proc proc /proc',
      ...ownFolders(node).map(([folder, place]) => `mount --bind ${folder} ${place}`),
      'mount --make-rshared /',
      `hostname ${node.name}`,
      `touch ${node.dir}/booted`,
      // `wait` reaps the orphans that end up here: container shims, and what they leave.
      'while :; do sleep 3600 & wait $!; done',
    ].join('\n'),
    { mode: 0o755 },
  );
  const unshare = await startProcess({
    component: 'machine',
    node: node.name,
    program: 'nsenter',
    args: [
      `--net=/var/run/netns/${node.netns}`,
      'unshare',
      '--mount',
      '--uts',
      '--pid',
      '--fork',
      '--kill-child',
      '--propagation',
      'private',
      '/bin/sh',
      script,
    ],
    log: `${layout.logs}/${node.name}-machine.log`,
  });
  return unshare;
}

/** The node's own folders (first), and their places inside it (second). */
export function ownFolders(node: NodeLayout): readonly (readonly [string, string])[] {
  return [
    [node.kubeletDir, '/var/lib/kubelet'],
    [`${node.dir}/pod-logs`, '/var/log/pods'],
    [`${node.dir}/container-logs`, '/var/log/containers'],
    [`${node.dir}/cni-state`, '/var/lib/cni'],
    [`${node.dir}/run-containerd`, '/run/containerd'],
    [`${node.dir}/run-netns`, '/run/netns'],
    // Files that the examples keep on a node (hostPath): they go with the cluster.
    [`${node.dir}/examples`, '/var/lib/earshot-examples'],
  ];
}
