/** Shared libraries for another processor: packages of the machine's Debian, fetched into a folder and unpacked there. The machine stays as it is. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { dynamicLinksOf, withoutDebugSections } from './elf.ts';
import { text } from './rootfs.ts';
import type { TarEntry } from './tar.ts';

const run = promisify(execFile);

/** Packages that Node.js is linked against; apt adds what they depend on. */
const PACKAGES = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1'];
/** Where the loaders of Debian look, besides their own folder. */
const TRIPLETS = { amd64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' } as const;

type DebianArchitecture = keyof typeof TRIPLETS;

/** Like `programFiles`, for a program of another processor. */
export async function fetchedProgramFiles(program: string, at: string, architecture: DebianArchitecture): Promise<readonly TarEntry[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'earshot-libraries-'));
  try {
    const archives = await fetchPackages(folder, architecture);
    const root = path.join(folder, 'root');
    for (const archive of archives) await run('dpkg-deb', ['--extract', archive, root]);
    const content = await readFile(program);
    const libraries = await librariesOf(content, root, architecture);
    const papers = await Promise.all(archives.map((archive) => papersOf(archive, root)));
    return [{ type: 'file', path: at, content: withoutDebugSections(content), executable: true }, ...libraries, ...papers.flat()];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** apt verifies the packages by the keys of the machine. Its lists, its state and its cache are in the folder. */
async function fetchPackages(folder: string, architecture: DebianArchitecture): Promise<readonly string[]> {
  const archives = path.join(folder, 'archives');
  for (const each of ['lists/partial', 'archives/partial']) await mkdir(path.join(folder, each), { recursive: true });
  await writeFile(path.join(folder, 'status'), '');
  const settings = {
    'APT::Architecture': architecture,
    'APT::Architectures::': architecture,
    'APT::Sandbox::User': 'root',
    'Acquire::Languages': 'none',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
    'Dir::State::lists': path.join(folder, 'lists'),
    'Dir::State::status': path.join(folder, 'status'),
    'Dir::Cache': folder,
    'Dir::Cache::archives': archives,
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  try {
    await run('apt-get', [...options, 'update']);
    await run('apt-get', [...options, 'install', '--download-only', '--yes', '--no-install-recommends', ...PACKAGES]);
  } catch (cause) {
    const message = `Debian packages for ${architecture} cannot be fetched; check that apt reaches its repositories, or build for one processor: --architecture`;
    throw new Error(message, { cause });
  }
  return (await readdir(archives))
    .filter((file) => file.endsWith('.deb'))
    .toSorted()
    .map((file) => path.join(archives, file));
}

/** The loader and all libraries, at the paths where the loader opens them. */
async function librariesOf(program: Buffer, root: string, architecture: DebianArchitecture): Promise<readonly TarEntry[]> {
  const { interpreter = '', needed } = dynamicLinksOf(program);
  const folders = ['lib', 'usr/lib'].map((folder) => `${folder}/${TRIPLETS[architecture]}`);
  const found = new Map<string, TarEntry>();
  // A library may need others, which are appended while the list is walked. Some need the loader by its name.
  const names = [interpreter.slice(1), ...needed];
  for (const name of names) {
    if (found.has(path.basename(name))) continue;
    const candidates = name.includes('/') ? [name] : folders.map((folder) => `${folder}/${name}`);
    const at = candidates.find((candidate) => existsSync(path.join(root, candidate)));
    if (at === undefined)
      throw new Error(`Node.js for ${architecture} needs ${name}, which is in none of the packages ${PACKAGES.join(', ')}`);
    const content = await readFile(path.join(root, at));
    found.set(path.basename(name), { type: 'file', path: at, content, executable: true });
    names.push(...dynamicLinksOf(content).needed);
  }
  return [...found.values()];
}

/** The package's control file and copyright, as scanners of the image expect them. */
async function papersOf(archive: string, root: string): Promise<readonly TarEntry[]> {
  const { stdout: control } = await run('dpkg-deb', ['--field', archive]);
  const name = /^Package: (.+)$/m.exec(control)?.[1] ?? '';
  const copyright = `usr/share/doc/${name}/copyright`;
  const content = await readFile(path.join(root, copyright));
  return [text(`var/lib/dpkg/status.d/${name}`, control), { type: 'file', path: copyright, content }];
}
