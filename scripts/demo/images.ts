import { tmpdir } from 'node:os';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { BUSYBOX_IMAGE, type Cluster } from '../../test/harness/index.ts';
import { run } from '../../test/harness/command.ts';
import { writeDebianImage } from '../../test/harness/debian.ts';

/** Puts images of Debian's programs on all nodes, under the names that the examples use, so that no registry is needed. */
export async function loadExampleImages(cluster: Cluster): Promise<void> {
  await rename(cluster, BUSYBOX_IMAGE, 'busybox:1');
  await rename(cluster, await loadRedis(cluster), 'redis:7');
}

async function loadRedis(cluster: Cluster): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'earshot-redis-'));
  try {
    const archive = join(folder, 'redis.tar');
    const reference = await writeDebianImage(
      {
        name: 'redis',
        packages: ['redis-server', 'redis-tools'],
        programs: ['/usr/bin/redis-server', '/usr/bin/redis-cli'],
        command: ['redis-server'],
      },
      archive,
    );
    await cluster.loadImage(archive);
    return reference;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A short name in a manifest stands for one of Docker Hub's library. */
async function rename(cluster: Cluster, from: string, to: string): Promise<void> {
  await Promise.all(
    cluster.nodes.map(({ containerdSocket }) =>
      run('ctr', ['--address', containerdSocket, '--namespace', 'k8s.io', 'images', 'tag', '--force', from, `docker.io/library/${to}`]),
    ),
  );
}
