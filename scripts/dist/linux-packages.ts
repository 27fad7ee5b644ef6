/** The .deb and the .rpm of a release, packed by nFPM (tools/nfpm): it knows both formats. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import type { TarEntry } from '../image/tar.ts';
import type { Architecture } from './pinned-node.ts';

export interface PackageOptions {
  readonly version: string;
  readonly architecture: Architecture;
  /** Files below `/usr`. */
  readonly tree: readonly TarEntry[];
  /** Time stamp of all files, so that two builds of a commit give the same bytes. */
  readonly date: Date;
  readonly out: string;
}

const ROOT = path.resolve(import.meta.dirname, '../..');
const SCRIPTS = path.join(import.meta.dirname, 'package-scripts');
const GOARCH = { x64: 'amd64', arm64: 'arm64' } as const;
const FORMATS = ['deb', 'rpm'] as const;
const run = promisify(execFile);

/** @returns names of the files in `out` */
export async function writeLinuxPackages(options: PackageOptions): Promise<readonly string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'earshot-dist-'));
  try {
    await writeTree(folder, options.tree);
    const config = path.join(folder, 'nfpm.yaml');
    await writeFile(config, stringify(nfpmConfig(options, folder)));
    const nfpm = path.join((await run(path.join(ROOT, 'tools/build.sh'), ['--path', 'nfpm'])).stdout.trim(), 'nfpm');
    const environment = { ...process.env, SOURCE_DATE_EPOCH: String(Math.floor(options.date.getTime() / 1000)) };
    const names: string[] = [];
    for (const format of FORMATS) {
      const name = `earshot-${options.version}-linux-${options.architecture}.${format}`;
      await run(nfpm, ['package', '--config', config, '--packager', format, '--target', path.join(options.out, name)], {
        env: environment,
      });
      names.push(name);
    }
    return names;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** https://nfpm.goreleaser.com/docs/configuration/ */
function nfpmConfig({ version, architecture, tree, date }: PackageOptions, folder: string): object {
  const mtime = date.toISOString();
  return {
    name: 'earshot',
    arch: GOARCH[architecture],
    platform: 'linux',
    version,
    section: 'net',
    priority: 'optional',
    maintainer: 'Earshot maintainers <maintainers@earshot.invalid>',
    description: 'Services across sites, over mutual TLS, without a VPN\n Connects a local port of one site to servers of other sites.',
    license: 'Apache-2.0',
    mtime,
    contents: tree.flatMap((entry) =>
      entry.type === 'file'
        ? [
            {
              src: path.join(folder, entry.path),
              dst: `/usr/${entry.path}`,
              file_info: { mode: entry.executable === true ? 0o755 : 0o644, owner: 'root', group: 'root', mtime },
            },
          ]
        : [],
    ),
    scripts: { postinstall: path.join(SCRIPTS, 'postinstall.sh'), preremove: path.join(SCRIPTS, 'preremove.sh') },
    overrides: {
      deb: {
        // The pinned Node.js is linked against these, and passwd creates the user.
        depends: ['libc6 (>= 2.28)', 'libstdc++6 (>= 12)', 'libgcc-s1', 'libatomic1', 'passwd'],
        scripts: { postremove: path.join(SCRIPTS, 'postremove.sh') },
      },
      rpm: { depends: ['glibc >= 2.28', 'libstdc++ >= 12', 'libgcc', 'libatomic', '/usr/sbin/useradd'] },
    },
    deb: { compression: 'gzip' },
    rpm: { compression: 'gzip', summary: 'Services across sites, over mutual TLS, without a VPN' },
  };
}

export async function writeTree(folder: string, tree: readonly TarEntry[]): Promise<void> {
  for (const entry of tree) {
    const file = path.join(folder, entry.path);
    await mkdir(entry.type === 'folder' ? file : path.dirname(file), { recursive: true });
    if (entry.type === 'link') await symlink(entry.target, file);
    if (entry.type !== 'file') continue;
    await writeFile(file, entry.content);
    await chmod(file, entry.executable === true ? 0o755 : 0o644);
  }
}
