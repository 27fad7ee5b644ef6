import { existsSync, readFileSync, readdirSync, rmSync, rmdirSync } from 'node:fs';
import { cp, rm } from 'node:fs/promises';
import { releaseIndex } from './claim.ts';
import { attempt } from './command.ts';
import type { ClusterLayout, NodeLayout } from './layout.ts';
import { ownFolders } from './machine.ts';
import { removeNetwork } from './network.ts';
import { processesWithArgument, startTimeOf } from './proc.ts';
import { endProcesses, type ProcessRecord } from './processes.ts';
import { CHECKOUT_STATE, readState, stateFileOf } from './state.ts';

/** Takes a cluster down and removes everything that it ever created, however far its start came. Its logs stay by default. */
export async function tearDown(layout: ClusterLayout, processes: readonly ProcessRecord[], options: { keepLogs: boolean }): Promise<void> {
  const published = readState(CHECKOUT_STATE)?.layout.dir === layout.dir;
  // A machine's init first in effect: with it goes everything inside, so that no order matters.
  await endProcesses(processes);
  await endProcesses(strays(layout));
  for (const node of layout.nodes) {
    removeControlGroups(node);
    // Output of containers is as much a log of the failure as that of the servers.
    if (options.keepLogs) await cp(`${node.dir}/pod-logs`, `${layout.logs}/${node.name}-pods`, { recursive: true }).catch(() => undefined);
  }
  await removeNetwork(layout);
  for (const mount of mountsBelow(layout.dir)) await attempt('umount', ['--lazy', mount]);
  await rm(layout.dir, { recursive: true, force: true });
  if (!options.keepLogs) await rm(layout.logs, { recursive: true, force: true });
  if (published) rmSync(CHECKOUT_STATE, { force: true });
  await releaseIndex(layout.index, () => {
    for (const [, place] of layout.nodes.flatMap(ownFolders)) removeIfEmpty(place);
    for (const hierarchy of readdirSync('/sys/fs/cgroup')) removeIfEmpty(`/sys/fs/cgroup/${hierarchy}/k8s.io`);
  });
}

/** Processes of a crash without a record: those that name one of this cluster's own folders. */
function strays(layout: ClusterLayout): readonly ProcessRecord[] {
  const own = [
    ...layout.nodes.flatMap((node) => [`${node.dir}/init.sh`, `${node.dir}/containerd.toml`, node.containerdSocket]),
    `--data-dir=${layout.dir}/etcd`,
    `--audit-policy-file=${layout.dir}/audit-policy.json`,
    `${layout.dir}/Corefile`,
    ...['kube-controller-manager', 'kube-scheduler'].map((name) => `--kubeconfig=${layout.dir}/credentials/${name}.kubeconfig`),
  ];
  return own.flatMap(processesWithArgument).flatMap((pid) => {
    const startTime = startTimeOf(pid);
    return startTime === undefined ? [] : [{ component: 'stray', pid, startTime, log: '' }];
  });
}

/** Kernel objects that outlive the processes in them. Names are container ids, so no others are removed. */
function removeControlGroups(node: NodeLayout): void {
  const tasks = `${node.dir}/containerd-state/io.containerd.runtime.v2.task/k8s.io`;
  const containers = existsSync(tasks) ? readdirSync(tasks) : [];
  for (const hierarchy of readdirSync('/sys/fs/cgroup')) {
    for (const container of containers) removeIfEmpty(`/sys/fs/cgroup/${hierarchy}/k8s.io/${container}`);
  }
}

function mountsBelow(folder: string): readonly string[] {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '');
  return mounts.filter((mount) => mount.startsWith(`${folder}/`)).toReversed();
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // It does not exist, or has another owner.
  }
}

/** Every cluster on this machine that has a record, of any starter. */
export function recordedClusters(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => existsSync(stateFileOf({ dir: `${folder}/${name}` }))) : [];
}
