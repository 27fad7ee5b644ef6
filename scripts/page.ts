/** Builds the page of the console (src/console/page): its files have a hash in their names, and are compressed. */
import { build, type Metafile } from 'esbuild';
import path from 'node:path';
import { constants, gzipSync } from 'node:zlib';
import type { PageAsset } from '../src/console/assets.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const PAGE = 'src/console/page';

export interface BuiltPage {
  readonly assets: readonly PageAsset[];
  /** Files that went in. */
  readonly inputs: readonly string[];
}

export async function buildPage(): Promise<readonly PageAsset[]> {
  return (await buildPageFiles()).assets;
}

export async function buildPageFiles(): Promise<BuiltPage> {
  const result = await build({
    absWorkingDir: ROOT,
    entryPoints: [`${PAGE}/main.tsx`, `${PAGE}/graph-worker.ts`, `${PAGE}/page.css`, `${PAGE}/icon.svg`],
    bundle: true,
    write: false,
    metafile: true,
    minify: true,
    platform: 'browser',
    target: ['es2023'],
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    outdir: 'assets',
    entryNames: '[name]-[hash]',
    legalComments: 'none',
    loader: { '.svg': 'copy' },
    logLevel: 'warning',
  });
  const outputs = result.outputFiles.map(({ path: file, contents }) => assetOf(`assets/${path.basename(file)}`, Buffer.from(contents)));
  const nameOf = (entry: string): string => `assets/${path.basename(outputOf(result.metafile, `${PAGE}/${entry}`))}`;
  const index = assetOf(
    'index.html',
    Buffer.from(html(nameOf('main.tsx'), nameOf('page.css'), nameOf('graph-worker.ts'), nameOf('icon.svg'))),
  );
  return { assets: [index, ...outputs], inputs: Object.keys(result.metafile.inputs) };
}

function outputOf({ outputs }: Metafile, entry: string): string {
  const found = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry)?.[0];
  if (found === undefined) throw new Error(`esbuild wrote nothing for ${entry}`);
  return found;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

function assetOf(file: string, content: Buffer): PageAsset {
  const gzip = gzipSync(content, { level: constants.Z_BEST_COMPRESSION });
  return { path: file, type: TYPES[path.extname(file)] ?? 'application/octet-stream', gzip };
}

/** Paths are relative, so that the page works below any path. */
const html = (script: string, style: string, worker: string, icon: string): string => `<!doctype html>
<html lang="en" data-graph-worker="${worker}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Earshot</title>
<link rel="icon" href="${icon}">
<link rel="stylesheet" href="${style}">
<script type="module" src="${script}"></script>
</head>
<body><div id="page"></div><noscript>The console needs JavaScript.</noscript></body>
</html>
`;
