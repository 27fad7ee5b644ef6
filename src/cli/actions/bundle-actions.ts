/** `system generate-bundle`: the input of a namespace as one file that installs it on another machine. */
import { lstat, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { makeDirectory, readText, writeDurably } from '../../files/durable.ts';
import { baseDirectory, layoutOf } from '../../platform/linux/layout.ts';
import { parseResources } from '../../platform/linux/parse.ts';
import { locationText } from '../../platform/linux/report.ts';
import { commandIn } from '../../text/command-in.ts';
import { printable, quoted } from '../../text/printable.ts';
import { CliError } from '../errors.ts';
import { tarOf, type ArchiveFile } from '../output/tar.ts';
import type { Terminal } from '../output/terminal.ts';
import type { MachinePlatform } from '../place.ts';
import { installerText } from './bundle-installer.ts';

export interface BundleOptions {
  /** Directory of resources, or one like `input`. Default: `input` of the namespace. */
  readonly input?: string;
  readonly type: 'tarball' | 'shell-script';
  /** Default platform of the installer. */
  readonly platform: MachinePlatform;
}

const MOST_FILES = 1_000;
const MOST_BYTES = 16 * 1024 * 1024;

/** @throws CliError */
export async function generateBundle(namespace: string, name: string, options: BundleOptions, terminal: Terminal): Promise<void> {
  const { input, type, platform } = options;
  const directory = join(baseDirectory(), 'bundles');
  if (!/^[A-Za-z0-9][\w.-]{0,200}$/.test(name))
    throw new CliError(
      'bad-name',
      `${quoted(name)} cannot be the name of a bundle: it is not a plain file name. It is written to ${directory}.`,
    );
  const root = input === undefined ? layoutOf(namespace).input.root : resolve(input);
  const files = await filesBelow(root);
  await requireSite(files, namespace, root, terminal);
  const isScript = type === 'shell-script';
  const installer = installerText({ namespace, platform, archive: isScript ? 'behind' : 'beside' });
  const archive = gzipSync(
    tarOf(isScript ? files : [{ path: 'install.sh', content: installer, mode: 0o700 }, ...files], Math.floor(Date.now() / 1000)),
  );
  const path = join(directory, `${name}.${isScript ? 'sh' : 'tar.gz'}`);
  await makeDirectory(directory, 0o700);
  await writeDurably(path, isScript ? Buffer.concat([Buffer.from(installer), archive]) : archive, isScript ? 0o700 : 0o600);
  terminal.out(`${path} is written: ${files.length} files.\n`);
  const how = isScript ? `sh ${name}.sh` : `tar -xzf ${name}.tar.gz && sh install.sh`;
  terminal.note(`Copy it to a machine that has earshot, and run \`${how}\` there (-h shows options). TLS bundles in it hold keys.\n`);
}

/** Files of the bundle, below `input/`. A directory that only holds resources becomes `input/resources`. */
async function filesBelow(root: string): Promise<readonly ArchiveFile[]> {
  const found: ArchiveFile[] = [];
  let bytes = 0;
  const visit = async (folder: string, target: string): Promise<void> => {
    for (const name of (await namesIn(folder)).toSorted()) {
      const path = join(folder, name);
      const about = await lstat(path);
      const isManifest = /\.(ya?ml|json)$/.test(name);
      if (folder === root && !PARTS.has(name) && !isManifest) continue;
      if (about.isDirectory()) await visit(path, `${target}/${name}`);
      else {
        if (!about.isFile()) throw refusal(path, 'it is not a plain file', 'Copy the file itself to that place');
        const content = (await readText(path, { bytes: MOST_BYTES, within: root })) ?? '';
        bytes += content.length;
        found.push({ path: folder === root ? `${target}/resources/${name}` : `${target}/${name}`, content });
        if (found.length > MOST_FILES || bytes > MOST_BYTES)
          throw refusal(root, `it has more than ${MOST_FILES} files or ${MOST_BYTES} bytes`, 'Move other files elsewhere');
      }
    }
  };
  await visit(root, 'input');
  return found;
}

/** Directories of `input`. */
const PARTS: ReadonlySet<string> = new Set(['resources', 'certs', 'issuers']);

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    // Hidden files are drafts of editors and of this program.
    return (await readdir(folder)).filter((name) => !name.startsWith('.'));
  } catch (error) {
    throw new CliError('not-found', `${printable(folder)} is not a directory that can be read. Give another one with --input.`, error);
  }
}

function refusal(path: string, cause: string, advice: string): CliError {
  return new CliError('usage', `${printable(path)} cannot be put into a bundle: ${cause}. ${advice}.`);
}

/** @throws CliError usage if a resource is invalid or the Site is missing */
async function requireSite(files: readonly ArchiveFile[], namespace: string, root: string, terminal: Terminal): Promise<void> {
  const errors: string[] = [];
  let hasSite = false;
  for (const { path, content } of files) {
    if (!path.startsWith('input/resources/')) continue;
    const { objects, problems } = await parseResources(content, path.slice('input/resources/'.length), namespace);
    hasSite ||= objects.some(({ value }) => value.kind === 'Site');
    for (const problem of problems) {
      const line = printable(locationText(problem));
      if (problem.severity === 'error') errors.push(line);
      else terminal.note(`Warning: ${line}\n`);
    }
  }
  if (errors.length > 0) throw new CliError('usage', `No bundle is written:\n${errors.map((error) => `  ${error}`).join('\n')}`);
  if (hasSite) return;
  const create = commandIn(namespace, 'site create NAME');
  throw new CliError('usage', `No bundle is written: ${printable(root)} has no Site. Create one with ${create}, or give --input.`);
}
