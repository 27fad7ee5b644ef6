import type { Host } from '../../test/net/harness/index.ts';

/**
 * Room for many short connections from a host: more ports, and each may be used again a second after its connection ended.
 * @param reserved ports among them that servers will listen at
 */
export async function allowManyConnections(host: Host, reserved: readonly number[] = []): Promise<void> {
  await host.run([
    'sh',
    '-ec',
    [
      'cd /proc/sys/net/ipv4',
      'echo 10000 65535 > ip_local_port_range',
      `echo ${reserved.join(',')} > ip_local_reserved_ports`,
      'echo 1 > tcp_tw_reuse',
    ].join('\n'),
  ]);
}
