/**
 * `node scripts/bundle.ts [FILE]`: the whole program as one file (default dist/earshot.mjs), which needs Node.js
 * and nothing else, and beside it the licences of what went into it.
 */
import { build, type Plugin } from 'esbuild';
import { createRequire } from 'node:module';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { wordsOf } from './arguments.ts';
import { buildPageFiles } from './page.ts';
import type { PageAsset } from '../src/console/assets.ts';

export interface Bundle {
  readonly code: Buffer;
  /** The licence texts of the packages that went in, as their licences ask for. */
  readonly notices: string;
  /** The packages that went in. */
  readonly packages: readonly BundledPackage[];
}

export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  /** SPDX expression. */
  readonly license: string;
}

/** Commit and date of a release, which `earshot version` shows. */
export interface BuildStamp {
  readonly commit: string;
  /** RFC 3339. */
  readonly date: string;
}

const ROOT = path.resolve(import.meta.dirname, '..');

export async function bundle(entry: string = path.join(ROOT, 'src/cli/main.ts'), stamp?: BuildStamp): Promise<Bundle> {
  const page = await buildPageFiles();
  const result = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    // Names are kept, so that a stack trace reads without a source map, and lines are short: Node.js prints the one where an
    // uncaught error was thrown. Without names it would be resident memory of 1 MB less.
    minifySyntax: true,
    minifyWhitespace: true,
    lineLimit: 160,
    legalComments: 'none',
    // Packages in CommonJS ask for Node's own modules with require().
    plugins: [builtinsWhenNeeded, containPage(page.assets)],
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    define: stamp === undefined ? {} : { EARSHOT_BUILD: JSON.stringify(stamp) },
    logLevel: 'warning',
  });
  const [output] = result.outputFiles;
  if (output === undefined) throw new Error(`esbuild wrote nothing for ${entry}`);
  const inputs = [...Object.keys(result.metafile.inputs), ...page.inputs];
  return { code: Buffer.from(inAscii(output.text)), notices: await noticesOf(inputs), packages: await packagesOf(inputs) };
}

/**
 * Node's own modules are loaded by the first module of ours that needs them. As imports they would all be loaded with the bundle, and an
 * import reads each export besides, also those that load much more (`http` has a WebSocket, for which it loads its own undici). A fresh
 * router has 3 MB less resident. Each export that is used becomes a plain variable. Through namespaces of CommonJS modules, a router has
 * 300 copies of their exports, and each use calls a getter.
 */
const builtinsWhenNeeded: Plugin = {
  name: 'builtins-when-needed',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:/ }, ({ path: name, kind }) =>
      kind === 'require-call' ? { path: name, external: true } : { path: name, namespace: 'builtin', sideEffects: false },
    );
    onLoad({ filter: /^/, namespace: 'builtin' }, ({ path: name }) => ({ contents: exportsOf(name), loader: 'js' }));
  },
};

/** Replaces the module that builds the page of the console by one that contains its files, as short lines of Base64. */
const containPage = (assets: readonly PageAsset[]): Plugin => ({
  name: 'contain-page',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/console\/page-assets\.ts$/ }, () => {
      const files = assets.map(({ path: file, type, gzip }) => {
        const lines = gzip.toString('base64').match(/.{1,120}/g) ?? [];
        return `{path:${JSON.stringify(file)},type:${JSON.stringify(type)},gzip:Buffer.from(${JSON.stringify(lines)}.join(''),'base64')}`;
      });
      return { contents: `export const loadPage=async()=>[${files.join(',\n')}];`, loader: 'js' };
    });
  },
});

const require = createRequire(import.meta.url);

/** A module with the exports of one of Node's own. Those that are not used are left out of the bundle, so they are not read. */
function exportsOf(name: string): string {
  const module: unknown = require(name);
  if (module === null || (typeof module !== 'object' && typeof module !== 'function')) throw new TypeError(`${name} has no exports`);
  const names = Object.keys(module).filter((key) => key !== 'default' && /^[\w$]+$/.test(key));
  const lines = names.map((key) => `const own_${key}=/* @__PURE__ */(()=>all.${key})();export{own_${key} as ${key}};`);
  return [`const all=require(${JSON.stringify(name)});export default all;`, ...lines].join('\n');
}

/**
 * V8 keeps a source text that is all Latin-1 in one byte a character, any other in two, and keeps it for good. esbuild
 * escapes what stands in strings already; what is left stands in comments.
 */
function inAscii(code: string): string {
  return code.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

async function noticesOf(inputs: readonly string[]): Promise<string> {
  const packages = Object.entries(Object.groupBy(inputs, (input) => packageFolderOf(input) ?? ''));
  const notices = packages
    .filter(([folder]) => folder !== '')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, files = []]) => noticeOf(folder, files));
  return (await Promise.all(notices)).join(`\n${'-'.repeat(80)}\n\n`);
}

async function packagesOf(inputs: readonly string[]): Promise<readonly BundledPackage[]> {
  const folders = new Set(inputs.flatMap((input) => packageFolderOf(input) ?? []));
  const manifests = await Promise.all(
    [...folders]
      .toSorted()
      .map(async (folder): Promise<unknown> => JSON.parse(await readFile(path.join(ROOT, folder, 'package.json'), 'utf8'))),
  );
  return manifests.map((manifest) => ({
    name: field(manifest, 'name'),
    version: field(manifest, 'version'),
    license: field(manifest, 'license'),
  }));
}

function packageFolderOf(input: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
}

async function noticeOf(folder: string, inputs: readonly string[]): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(path.join(ROOT, folder, 'package.json'), 'utf8'));
  const files = (await readdir(path.join(ROOT, folder))).filter((file) => /^(licen[cs]e|notice|copying)(\.|$)/i.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(path.join(ROOT, folder, file), 'utf8')));
  const title = `${field(manifest, 'name')} ${field(manifest, 'version')} (${field(manifest, 'license')})`;
  return [title, ...(texts.length > 0 ? texts : await headersOf(inputs))].join('\n\n');
}

/** Some packages have no licence file, but a licence at the head of each source file. */
async function headersOf(inputs: readonly string[]): Promise<string[]> {
  const heads = await Promise.all(inputs.map(async (input) => /^(?:\/\/.*\n)+/.exec(await readFile(path.join(ROOT, input), 'utf8'))?.[0]));
  return [...new Set(heads.filter((head) => head !== undefined))].sort();
}

function field(manifest: unknown, name: string): string {
  const value = typeof manifest === 'object' && manifest !== null ? Object.entries(manifest).find(([key]) => key === name)?.[1] : undefined;
  return typeof value === 'string' ? value : 'unknown';
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = path.resolve(wordsOf('node scripts/bundle.ts [FILE]', 1)[0] ?? path.join(ROOT, 'dist/earshot.mjs'));
  const created = await bundle();
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, created.code);
  await writeFile(`${file}.licenses.txt`, created.notices);
  console.log(`${file}: ${Math.round(created.code.length / 1024)} KiB`);
}
