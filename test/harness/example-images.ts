import type { Cluster } from './cluster.ts';
import { libraryImage } from './images.ts';

/** Images of the examples. `busybox:1` is on every node from the start. */
export const EXAMPLE_IMAGES: readonly string[] = ['busybox:1', 'redis:7'];

/** Puts images of Debian's programs on all nodes, under the names that the examples use, so that no registry is needed. */
export async function loadExampleImages(cluster: Cluster): Promise<void> {
  await cluster.loadDebianImage({
    name: 'redis',
    aliases: [libraryImage('redis:7')],
    packages: ['redis-server', 'redis-tools'],
    programs: ['/usr/bin/redis-server', '/usr/bin/redis-cli'],
    command: ['redis-server'],
  });
}
