import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { run } from './command.ts';
import { HarnessError } from './failures.ts';

const BUILD = fileURLToPath(new URL('../../tools/build.sh', import.meta.url));

/** Which module below tools/ is Kubernetes; another version is one variable away. */
export const KUBERNETES = process.env['KUBERNETES'] || 'kubernetes';

export type Tool = 'coredns' | 'csi-provisioner' | 'csi-sanity' | 'etcd' | 'h2spec' | 'helm' | 'metallb' | 'nfpm' | 'kubernetes';

/** Folder of a Go tool's binaries, built when the cache lacks it. Kubernetes is the version that was asked for, unless one is named. */
export async function toolFolder(tool: Tool, log: (line: string) => void = () => undefined, kubernetes = KUBERNETES): Promise<string> {
  const name = tool === 'kubernetes' ? kubernetes : tool;
  const folder = await toolPath(name);
  if (!existsSync(folder)) {
    log(`building ${name}: once, some minutes`);
    await run(BUILD, [name], { timeoutMs: 30 * 60_000 });
  }
  return folder;
}

/** Folder of a built tool's binaries. */
export async function toolPath(name: string): Promise<string> {
  return (await run(BUILD, ['--path', name])).trim();
}

/** Requirements of a test cluster on the machine, reported at once and in full rather than one by one. */
export function assertPossibleHere(): void {
  const missing: string[] = [];
  if (process.platform !== 'linux') missing.push('Linux (network and mount namespaces)');
  if (process.getuid?.() !== 0) missing.push('root (run it with sudo)');
  for (const [file, debianPackage] of NEEDED) if (!existsSync(file)) missing.push(`${file} (Debian: apt-get install ${debianPackage})`);
  if (missing.length > 0)
    throw new HarnessError(
      'NOT_POSSIBLE_HERE',
      `a test cluster needs:\n${missing.map((line) => `  - ${line}`).join('\n')}\n\`scripts/setup\` installs what it can.`,
    );
}

const NEEDED: readonly (readonly [string, string])[] = [
  ['/usr/bin/containerd', 'containerd'],
  ['/usr/sbin/runc', 'runc'],
  ['/usr/lib/cni/ptp', 'containernetworking-plugins'],
  ['/usr/sbin/iptables', 'iptables'],
  ['/usr/sbin/ip', 'iproute2'],
  ['/usr/bin/busybox', 'busybox-static'],
  ['/usr/bin/openssl', 'openssl'],
  ['/usr/bin/nsenter', 'util-linux'],
];
