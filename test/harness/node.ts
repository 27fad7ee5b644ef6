import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { attempt } from './command.ts';
import { kubeconfigOf } from './credentials.ts';
import { SANDBOX_IMAGE } from './images.ts';
import { families, type ClusterLayout, type NodeLayout } from './layout.ts';
import { childOf } from './proc.ts';
import { startProcess, untilReady, type ProcessRecord } from './processes.ts';
import { eventually } from './wait.ts';

/** Pid of a machine's init, the one that a node's other processes join. */
export async function initOf(machine: ProcessRecord, node: NodeLayout): Promise<number> {
  return eventually(`${node.name} to boot`, () => (existsSync(`${node.dir}/booted`) ? childOf(machine.pid) : undefined), { everyMs: 5 });
}

export async function startContainerd(layout: ClusterLayout, node: NodeLayout, inside: number): Promise<ProcessRecord> {
  const config = `${node.dir}/containerd.toml`;
  await mkdir(`${node.dir}/cni`, { recursive: true });
  await writeFile(config, containerdConfig(node));
  await writeFile(`${node.dir}/cni/10-pods.conflist`, JSON.stringify(podNetwork(node)));
  const record = await startProcess({
    component: 'containerd',
    node: node.name,
    inside,
    program: '/usr/bin/containerd',
    args: ['--config', config, '--log-level', 'info'],
    log: `${layout.logs}/${node.name}-containerd.log`,
  });
  await untilReady(record, () => existsSync(node.containerdSocket) && attempt('ctr', ['--address', node.containerdSocket, 'version']), {
    everyMs: 30,
  });
  return record;
}

export async function startKubelet(layout: ClusterLayout, node: NodeLayout, inside: number, binaries: string): Promise<ProcessRecord> {
  const config = `${node.dir}/kubelet.json`;
  await writeFile(config, JSON.stringify(kubeletConfig(layout, node), undefined, 2));
  await writeFile(`${node.dir}/resolv.conf`, `nameserver ${layout.host.v4}\n`);
  return startProcess({
    component: 'kubelet',
    node: node.name,
    inside,
    program: `${binaries}/kubelet`,
    args: [
      `--config=${config}`,
      `--kubeconfig=${kubeconfigOf(layout, node.name)}`,
      '--root-dir=/var/lib/kubelet',
      `--hostname-override=${node.name}`,
      // An external cloud provider owns Node.status.addresses; the harness is that cloud.
      `--node-ip=${families(node.address).join(',')}`,
      '--cloud-provider=external',
      '--v=2',
    ],
    log: `${layout.logs}/${node.name}-kubelet.log`,
  });
}

export async function startKubeProxy(layout: ClusterLayout, node: NodeLayout, inside: number, binaries: string): Promise<ProcessRecord> {
  const config = `${node.dir}/kube-proxy.json`;
  await writeFile(
    config,
    JSON.stringify(
      {
        apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
        kind: 'KubeProxyConfiguration',
        mode: 'iptables',
        clientConnection: { kubeconfig: kubeconfigOf(layout, 'kube-proxy') },
        clusterCIDR: families(layout.podRange).join(','),
        hostnameOverride: node.name,
        bindAddress: node.address.v4,
        // Connection tracking's size belongs to the machine, not to a network namespace on it.
        conntrack: { maxPerCore: 0, min: 0 },
      },
      undefined,
      2,
    ),
  );
  return startProcess({
    component: 'kube-proxy',
    node: node.name,
    inside,
    program: `${binaries}/kube-proxy`,
    args: [`--config=${config}`, '--v=1'],
    log: `${layout.logs}/${node.name}-kube-proxy.log`,
  });
}

function containerdConfig(node: NodeLayout): string {
  return `version = 2
root = "${node.dir}/containerd"
state = "${node.dir}/containerd-state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.devmapper"]
[grpc]
  address = "${node.containerdSocket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${node.dir}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${SANDBOX_IMAGE}"
  # The machine may be a guest without CAP_SYS_RESOURCE, and without AppArmor's tools.
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "/usr/sbin/runc"
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${node.dir}/cni"
`;
}

/** Each pod on a cable of its own, routed: on a shared bridge, answers of a pod to its neighbour would go round the service proxy. */
function podNetwork(node: NodeLayout): object {
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'ptp',
        ipMasq: false,
        ipam: {
          type: 'host-local',
          dataDir: '/var/lib/cni/networks',
          ranges: families(node.podRange).map((subnet) => [{ subnet }]),
          routes: families(node.podRange).map((subnet) => ({ dst: subnet.includes(':') ? '::/0' : '0.0.0.0/0' })),
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}

function kubeletConfig(layout: ClusterLayout, node: NodeLayout): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: false },
      x509: { clientCAFile: `${layout.dir}/credentials/ca.crt` },
    },
    // Only certificates of the cluster's own authority get this far: the API server's.
    authorization: { mode: 'AlwaysAllow' },
    containerRuntimeEndpoint: `unix://${node.containerdSocket}`,
    clusterDNS: [layout.dnsAddress],
    clusterDomain: layout.domain,
    resolvConf: `${node.dir}/resolv.conf`,
    volumePluginDir: `${node.dir}/flexvolume`,
    // A machine with version 1 or hybrid control groups, on which several nodes share the root.
    failCgroupV1: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: '/',
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    failSwapOn: false,
    evictionHard: {},
    imageGCHighThresholdPercent: 100,
    maxPods: 250,
    serializeImagePulls: false,
  };
}
