/**
 * `node scripts/bundle.ts [FILE]`: the whole program as one file (default dist/earshot.mjs), which needs Node.js
 * and nothing else, and beside it the licences of what went into it.
 */
import { build } from 'esbuild';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Bundle {
  readonly code: Buffer;
  /** The licence texts of the packages that went in, as their licences ask for. */
  readonly notices: string;
}

const ROOT = path.resolve(import.meta.dirname, '..');

export async function bundle(entry: string = path.join(ROOT, 'src/cli/main.ts')): Promise<Bundle> {
  const result = await build({
    absWorkingDir: ROOT,
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    // Names are kept, so that a stack trace reads without a source map; what minifying them saves is not resident.
    minifySyntax: true,
    legalComments: 'none',
    // Packages in CommonJS ask for Node's own modules with require().
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    logLevel: 'warning',
  });
  const [output] = result.outputFiles;
  if (output === undefined) throw new Error(`esbuild wrote nothing for ${entry}`);
  return { code: Buffer.from(output.contents), notices: await noticesOf(Object.keys(result.metafile.inputs)) };
}

async function noticesOf(inputs: readonly string[]): Promise<string> {
  const folders = new Set(inputs.map(packageFolderOf).filter((folder) => folder !== undefined));
  const notices = await Promise.all([...folders].sort().map((folder) => noticeOf(path.join(ROOT, folder))));
  return notices.join(`\n${'-'.repeat(80)}\n\n`);
}

function packageFolderOf(input: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0];
}

async function noticeOf(folder: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
  const files = (await readdir(folder)).filter((file) => /^(licen[cs]e|notice|copying)(\.|$)/i.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')));
  return [`${field(manifest, 'name')} ${field(manifest, 'version')} (${field(manifest, 'license')})`, ...texts].join('\n\n');
}

function field(manifest: unknown, name: string): string {
  const value = typeof manifest === 'object' && manifest !== null ? Object.entries(manifest).find(([key]) => key === name)?.[1] : undefined;
  return typeof value === 'string' ? value : 'unknown';
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = path.resolve(process.argv[2] ?? path.join(ROOT, 'dist/earshot.mjs'));
  const made = await bundle();
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, made.code);
  await writeFile(`${file}.licenses.txt`, made.notices);
  console.log(`${file}: ${Math.round(made.code.length / 1024)} KiB`);
}
