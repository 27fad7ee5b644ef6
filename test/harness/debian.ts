import { existsSync, realpathSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from './command.ts';
import { HarnessError } from './failures.ts';
import { writeImage } from './images.ts';

export interface DebianImage {
  /** Becomes `earshot.local/NAME:1`. */
  readonly name: string;
  readonly packages: readonly string[];
  /** Absolute paths of the programs that the image is for; their libraries come with them. */
  readonly programs: readonly string[];
  readonly command: readonly string[];
  readonly texts?: Readonly<Record<string, string>>;
  /** See ImageContents. */
  readonly aliases?: readonly string[];
}

/**
 * Makes an image of programs from Debian packages, with the libraries that `ldd` names and busybox for a shell. Packages are
 * fetched and unpacked, never installed, so that no service starts on the machine; what is installed already is taken as it is.
 */
export async function writeDebianImage(image: DebianImage, archive: string): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'earshot-debian-'));
  try {
    for (const deb of await fetchPackages(image.packages)) await run('dpkg', ['--extract', deb, root]);
    const files: Record<string, string> = {};
    for (const program of image.programs) {
      const source = [`${root}${program}`, program].find((path) => existsSync(path));
      if (source === undefined)
        throw new HarnessError('NOT_POSSIBLE_HERE', `${program} is in none of the packages ${image.packages.join(', ')}`);
      files[program] = realpathSync(source);
      for (const library of await librariesOf(files[program], root))
        files[library.startsWith(root) ? library.slice(root.length) : library] = realpathSync(library);
    }
    const reference = `earshot.local/${image.name}:1`;
    const { command, texts = {}, aliases = [] } = image;
    await writeImage({ reference, aliases, files, texts, busybox: true, command }, archive);
    return reference;
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}

/** A minimal Debian with some packages, made once by debootstrap and kept in the cache. Copy it before you change it. */
export async function debianRoot(packages: readonly string[]): Promise<string> {
  const root = join(cacheFolder(), 'debian', `root+${packages.toSorted().join('+')}`);
  if (existsSync(root)) return root;
  await mkdir(join(root, '..'), { recursive: true });
  const fresh = await mkdtemp(`${root}.`);
  await run('debootstrap', ['--variant=minbase', `--include=${packages.join(',')}`, 'bookworm', fresh], { timeoutMs: 10 * 60_000 });
  await rename(fresh, root);
  return root;
}

function cacheFolder(): string {
  return process.env['EARSHOT_CACHE'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'earshot');
}

/** The packages and those of their dependencies that this machine lacks, as files. */
async function fetchPackages(names: readonly string[]): Promise<readonly string[]> {
  const folder = join(cacheFolder(), 'debian', names.toSorted().join('+'));
  await mkdir(join(folder, 'partial'), { recursive: true });
  // As root, apt drops its rights for downloads where it can; where it may not write, it only warns. The named packages are fetched
  // even where they are installed: their files refer to each other (redis-server is a link to a program of redis-tools).
  const fetch = [
    'install',
    '--reinstall',
    '--download-only',
    '--yes',
    '--no-install-recommends',
    '-o',
    `Dir::Cache::archives=${folder}`,
    '-o',
    'APT::Sandbox::User=root',
    ...names,
  ];
  await run('apt-get', fetch).catch(async () => {
    await run('apt-get', ['update']);
    await run('apt-get', fetch);
  });
  return (await readdir(folder)).filter((file) => file.endsWith('.deb')).map((file) => join(folder, file));
}

async function librariesOf(program: string, root: string): Promise<readonly string[]> {
  const folders = [
    '/usr/lib/x86_64-linux-gnu',
    '/lib/x86_64-linux-gnu',
    '/usr/lib/aarch64-linux-gnu',
    '/lib/aarch64-linux-gnu',
    '/usr/lib',
  ];
  const listed = await run('ldd', [program], { env: { LD_LIBRARY_PATH: folders.map((folder) => `${root}${folder}`).join(':') } });
  const missing = listed.split('\n').filter((line) => line.includes('not found'));
  if (missing.length > 0)
    throw new HarnessError(
      'NOT_POSSIBLE_HERE',
      `${program} needs libraries that no package brought: ${missing.map((line) => line.trim()).join('; ')}`,
    );
  return listed.split('\n').flatMap((line) => /(?:=> )?(\/\S+) \(0x/.exec(line)?.[1] ?? []);
}
