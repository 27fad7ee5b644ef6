/**
 * `node scripts/image.ts [--name REFERENCE] [--out FILE] [--format FORMAT]` writes Earshot's container image as an archive
 * (default dist/earshot.tar), without a container engine. FORMAT is `oci-archive` (default) or `docker-archive`. `--csi-provisioner PROGRAM` writes, instead, an image of
 * that static program (default dist/csi-provisioner.tar), for clusters that reach no registry.
 *
 * The same checkout, Node.js and Debian libraries give the same digest.
 */
import { createRequire } from 'node:module';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { argumentsOf } from './arguments.ts';
import { bundle } from './bundle.ts';
import { archiveFormats, imageArchive, type ImageArchive, type ImageConfig } from './image/archive.ts';
import { NODE_ENVIRONMENT, NODE_FLAGS } from './image/node-flags.ts';
import { baseFiles, NON_ROOT, programFiles, text } from './image/rootfs.ts';
import type { TarEntry } from './image/tar.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const;

const { values: flags } = argumentsOf('node scripts/image.ts [--name NAME] [--out FILE] [--format FORMAT] [--csi-provisioner IMAGE]', {
  options: {
    name: { type: 'string' },
    out: { type: 'string' },
    format: { type: 'string', default: 'oci-archive' },
    'csi-provisioner': { type: 'string' },
  },
});
const provisioner = flags['csi-provisioner'];
const format = archiveFormats.find((each) => each === flags.format);
if (format === undefined) {
  console.error(`--format is ${flags.format}: it must be ${archiveFormats.join(' or ')}.`);
  process.exit(2);
}
const started = performance.now();
const out = path.resolve(flags.out ?? path.join(ROOT, provisioner === undefined ? 'dist/earshot.tar' : 'dist/csi-provisioner.tar'));
const name =
  flags.name ??
  (provisioner === undefined
    ? `localhost/earshot:${await versionOf('package.json')}`
    : 'registry.k8s.io/sig-storage/csi-provisioner:v6.3.0');
const archive = provisioner === undefined ? await earshotImage(name) : await provisionerImage(name, provisioner);
await mkdir(path.dirname(out), { recursive: true });
await writeFile(out, archive.bytes);
console.log(
  `${path.relative(process.cwd(), out)}: ${name}, ${Math.round(archive.bytes.length / 2 ** 20)} MiB, ${archive.digest}, ${((performance.now() - started) / 1000).toFixed(1)} s`,
);

async function earshotImage(reference: string): Promise<ImageArchive> {
  const node = pinnedNode();
  const { code, notices } = await bundle();
  const runtime: TarEntry[] = [
    ...baseFiles(),
    ...(await programFiles(path.join(node, 'bin/node'), 'usr/local/bin/node')),
    { type: 'file', path: 'usr/share/doc/node/LICENSE', content: await readFile(path.join(node, 'LICENSE')) },
  ];
  // What changes with every build lies in a layer of its own, so that an upgrade moves a few hundred kilobytes.
  const program: TarEntry[] = [
    { type: 'file', path: 'app/earshot.mjs', content: code },
    { type: 'file', path: 'usr/share/doc/earshot/LICENSE', content: await readFile(path.join(ROOT, 'LICENSE')) },
    text('usr/share/doc/earshot/THIRD-PARTY-LICENSES', notices),
  ];
  return imageArchive(
    reference,
    [runtime, program],
    {
      ...configOf(['/usr/local/bin/node', ...NODE_FLAGS, '/app/earshot.mjs']),
      environment: { NODE_ENV: 'production', ...NODE_ENVIRONMENT },
      labels: {
        'org.opencontainers.image.title': 'earshot',
        'org.opencontainers.image.description': 'Stable, known addresses for pods (listeners.stackable.tech)',
        'org.opencontainers.image.version': await versionOf('package.json'),
        'org.opencontainers.image.licenses': 'Apache-2.0',
      },
    },
    format,
  );
}

async function provisionerImage(reference: string, program: string): Promise<ImageArchive> {
  const files = [...baseFiles(), ...(await programFiles(program, 'csi-provisioner'))];
  return imageArchive(reference, [files], configOf(['/csi-provisioner']), format);
}

function configOf(entrypoint: readonly string[]): ImageConfig {
  return {
    architecture: architectureOf(process.arch),
    entrypoint,
    environment: {},
    user: `${NON_ROOT}:${NON_ROOT}`,
    workingDirectory: '/',
    labels: {},
  };
}

function architectureOf(arch: string): ImageConfig['architecture'] {
  if (arch === 'x64' || arch === 'arm64') return ARCHITECTURES[arch];
  throw new Error(`there is no image for ${arch}; build it on x64 or arm64`);
}

/** The folder of the Node.js that package.json pins: it comes with `npm ci`, as a package for this architecture. */
function pinnedNode(): string {
  const dependency = `node-linux-${process.arch}`;
  try {
    return path.dirname(createRequire(import.meta.url).resolve(`${dependency}/package.json`));
  } catch (cause) {
    throw new Error(`the package ${dependency} is not installed; run \`npm ci\` on Linux and try again`, { cause });
  }
}

async function versionOf(file: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(path.join(ROOT, file), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest && typeof manifest.version === 'string')
    return manifest.version;
  throw new Error(`${file} has no version`);
}
