import { execFile } from 'node:child_process';
import { access, readFile, realpath } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { withoutDebugSections } from './elf.ts';
import type { TarEntry } from './tar.ts';

const run = promisify(execFile);

/** The user that everything but the node driver runs as; the number is what other images call "nonroot". */
export const NON_ROOT = 65532;

/** What any program needs to find: a user for the number it runs as, a name lookup order, a place for temporary files. */
export function baseFiles(): TarEntry[] {
  return [
    text('etc/passwd', `root:x:0:0:root:/:/sbin/nologin\nnonroot:x:${NON_ROOT}:${NON_ROOT}:nonroot:/:/sbin/nologin\n`),
    text('etc/group', `root:x:0:\nnonroot:x:${NON_ROOT}:\n`),
    text('etc/nsswitch.conf', 'hosts: files dns\n'),
    { type: 'folder', path: 'tmp', mode: 0o1777 },
  ];
}

/**
 * A program at `at`, and the shared libraries that it loads, at the places where its loader looks for them. With
 * each library come the copyright file and the description of its Debian package, so that a scanner of the image
 * knows the version (`/var/lib/dpkg/status.d`, one file a package, is where scanners look in images without dpkg).
 */
export async function programFiles(program: string, at: string): Promise<TarEntry[]> {
  const libraries = await sharedLibrariesOf(program);
  const files = await Promise.all(
    libraries.map(async (library): Promise<TarEntry> => ({
      type: 'file',
      path: library.slice(1),
      content: await readFile(library),
      executable: true,
    })),
  );
  const packages = new Set((await Promise.all(libraries.map(packageOf))).filter((name) => name !== undefined));
  const papers = await Promise.all([...packages].map(papersOf));
  const content = withoutDebugSections(await readFile(program));
  return [{ type: 'file', path: at, content, executable: true }, ...files, ...papers.flat()];
}

export function text(at: string, content: string): TarEntry {
  return { type: 'file', path: at, content: Buffer.from(content) };
}

/** Absolute paths, as the loader would open them; none for a static program. */
async function sharedLibrariesOf(program: string): Promise<string[]> {
  const { stdout } = await run('ldd', [program]).catch((error: unknown) => {
    if (isStatic(error)) return { stdout: '' };
    throw new Error(`ldd cannot list the libraries of ${program}; install libc-bin and try again`, { cause: error });
  });
  const missing = /^\s*(\S+) => not found/m.exec(stdout);
  if (missing !== null)
    throw new Error(`${program} needs ${missing[1]}, which is not on this machine; install it (apt-get install libatomic1) and try again`);
  return [...stdout.matchAll(/(?:=> |^\s*)(\/\S+) \(0x/gm)].flatMap(([, library]) => (library === undefined ? [] : [library]));
}

function isStatic(error: unknown): boolean {
  return error instanceof Error && 'stderr' in error && String(error.stderr).includes('not a dynamic executable');
}

/** The Debian package that holds a file. Its list may name the file by the path before or after /lib became a link. */
async function packageOf(library: string): Promise<string | undefined> {
  const candidates = [library, `/usr${library}`, await realpath(library)];
  for (const candidate of candidates) {
    const found = await run('dpkg-query', ['--search', candidate]).catch(() => undefined);
    const name = found?.stdout.split(/[:,]/, 1)[0];
    if (name !== undefined && name !== '') return name;
  }
  return undefined;
}

/** The package's status and copyright, for scanners of the image and for its licence. */
async function papersOf(name: string): Promise<TarEntry[]> {
  const { stdout } = await run('dpkg-query', ['--status', name]);
  const copyright = path.join('/usr/share/doc', name, 'copyright');
  await access(copyright).catch((cause: unknown) => {
    throw new Error(`${copyright} is missing; an image may not hold ${name} without it (apt-get install --reinstall ${name})`, { cause });
  });
  return [text(`var/lib/dpkg/status.d/${name}`, stdout), { type: 'file', path: copyright.slice(1), content: await readFile(copyright) }];
}
