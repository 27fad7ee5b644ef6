import { chmod, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from './command.ts';
import type { NodeLayout } from './layout.ts';

/** Holder of a pod's network namespace: any static program that sleeps. */
export const SANDBOX_IMAGE = 'earshot.local/pause:1';

export interface ImageContents {
  /** Full reference, such as `earshot.local/redis:1`. */
  readonly reference: string;
  /** Further references, such as `docker.io/library/redis:7` for what a manifest calls `redis:7`. */
  readonly aliases?: readonly string[];
  /** Path in the image → path on this machine. */
  readonly files: Readonly<Record<string, string>>;
  /** Path in the image → text. */
  readonly texts?: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  readonly env?: readonly string[];
  /** Commands of busybox to link into /bin: every one that a shell script in a test might want. */
  readonly busybox?: boolean;
}

/** Writes a docker-archive of one layer, as `docker save` would; containerd imports it without a registry. */
export async function writeImage(contents: ImageContents, archive: string): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'earshot-image-'));
  try {
    const root = join(work, 'root');
    await mkdir(join(root, 'tmp'), { recursive: true });
    await chmod(join(root, 'tmp'), 0o1777);
    for (const [path, source] of Object.entries(contents.files)) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await cp(source, join(root, path), { dereference: true });
    }
    for (const [path, text] of Object.entries({ ...ACCOUNTS, ...contents.texts })) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), text);
    }
    if (contents.busybox === true)
      await run('/usr/bin/busybox', [
        'sh',
        '-c',
        'mkdir -p "$1/bin"; cp /usr/bin/busybox "$1/bin/busybox"; for a in $(busybox --list); do [ -e "$1/bin/$a" ] || ln -s busybox "$1/bin/$a"; done',
        'sh',
        root,
      ]);
    await run('tar', [
      '-C',
      root,
      '--sort=name',
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '--mtime=@0',
      '-cf',
      join(work, 'layer.tar'),
      '.',
    ]);
    const config = JSON.stringify({
      architecture: process.arch === 'x64' ? 'amd64' : process.arch,
      os: 'linux',
      config: { Cmd: contents.command, Env: contents.env ?? ['PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'], WorkingDir: '/' },
      rootfs: { type: 'layers', diff_ids: [`sha256:${await digest(join(work, 'layer.tar'))}`] },
    });
    await writeFile(join(work, 'config.json'), config);
    await writeFile(
      join(work, 'manifest.json'),
      JSON.stringify([{ Config: 'config.json', RepoTags: [contents.reference, ...(contents.aliases ?? [])], Layers: ['layer.tar'] }]),
    );
    await run('tar', ['-C', work, '-cf', archive, 'manifest.json', 'config.json', 'layer.tar']);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Imports a docker-archive or an OCI archive into nodes' containerd. */
export async function importImage(archive: string, nodes: readonly NodeLayout[]): Promise<void> {
  await Promise.all(
    nodes.map((node) => run('ctr', ['--address', node.containerdSocket, '--namespace', 'k8s.io', 'images', 'import', archive])),
  );
}

/** The image that every node needs before it can run a pod. */
export async function writeSandboxImage(archive: string): Promise<void> {
  await writeImage(
    { reference: SANDBOX_IMAGE, files: { '/bin/busybox': '/usr/bin/busybox' }, command: ['/bin/busybox', 'sleep', '2147483647'] },
    archive,
  );
}

/** A short name in a manifest stands for one of Docker Hub's library. */
export function libraryImage(name: string): string {
  return `docker.io/library/${name}`;
}

/** Busybox with all its commands, the image of tests that need no more than a shell. The examples know it as `busybox:1`. */
export const BUSYBOX_IMAGE = 'earshot.local/busybox:1';

export async function writeBusyboxImage(archive: string): Promise<void> {
  const aliases = [libraryImage('busybox:1')];
  await writeImage({ reference: BUSYBOX_IMAGE, aliases, files: {}, busybox: true, command: ['/bin/sh'] }, archive);
}

const ACCOUNTS = {
  '/etc/passwd': 'root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n',
  '/etc/group': 'root:x:0:\nnogroup:x:65534:\n',
};

async function digest(file: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
