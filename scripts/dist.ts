/**
 * `node scripts/dist.ts [--out FOLDER] [--key FILE] [--repository NAME] [--architecture x64|arm64]` (`make dist`) writes the files of a
 * release to dist/release/:
 *
 *     earshot-VERSION-linux-{x64,arm64}.{tar.gz,deb,rpm}   for machines
 *     earshot-VERSION.tar                                  the container image for both processors, an OCI archive
 *     earshot-VERSION-docker-{x64,arm64}.tar.gz            the same for `docker load`, also before Docker 25
 *     earshot-chart-VERSION.tgz, earshot-chart-VERSION.oci.tar
 *     earshot-crds-VERSION.yaml, earshot-exposure-VERSION.yaml, earshot-sites-VERSION.yaml
 *     *.cdx.json                                           what is in packages, image and chart (CycloneDX)
 *     provenance.json, SHA256SUMS, and SHA256SUMS.sig if a key is given
 *
 * Two builds of one commit give the same bytes, as long as Debian's libraries are the same. `--architecture` limits packages and image to
 * one processor. `--key` is a private key for `ssh-keygen -Y sign`, with the namespace `earshot-release`. `--repository` is where the
 * release process pushes the image, such as `registry.example/earshot`: the chart then uses it with the digest of this image.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { VERSION } from '../src/version.ts';
import { argumentsOf } from './arguments.ts';
import { bundle } from './bundle.ts';
import { chartManifests, renderManifest } from './chart-manifests.ts';
import { buildInfoOf } from './dist/build-info.ts';
import { chartArchive, chartArtifact } from './dist/chart-archive.ts';
import { writeLinuxPackages } from './dist/linux-packages.ts';
import { architectures, nodeVersion } from './dist/pinned-node.ts';
import { programTree } from './dist/program-files.ts';
import { provenanceStatement } from './dist/provenance.ts';
import { billOfMaterials, chartMaterials } from './dist/sbom.ts';
import { imageArchive, multiArchitectureArchive } from './image/archive.ts';
import { earshotContent } from './image/earshot-image.ts';
import { tarOf } from './image/tar.ts';

const ROOT = path.resolve(import.meta.dirname, '..');
/** Placeholder until the project has a public address. */
const REPOSITORY = 'https://earshot.invalid/earshot';
const run = promisify(execFile);

const { values: flags } = argumentsOf('node scripts/dist.ts [--out FOLDER] [--key FILE] [--repository NAME] [--architecture x64|arm64]', {
  options: { out: { type: 'string' }, key: { type: 'string' }, repository: { type: 'string' }, architecture: { type: 'string' } },
});
const wanted = architectures.filter((one) => flags.architecture === undefined || flags.architecture === one);
if (wanted.length === 0) throw new Error(`--architecture is one of ${architectures.join(', ')}`);
const out = path.resolve(flags.out ?? path.join(ROOT, 'dist/release'));

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const { commit, time } = await buildInfoOf(ROOT);
const date = new Date(time * 1000);
const program = await bundle(undefined, { commit, date: date.toISOString() });
const contents = { version: VERSION, commit, date, packages: program.packages, node: await nodeVersion() };

for (const architecture of wanted) {
  const tree = await programTree(program, architecture, date);
  const name = `earshot-${VERSION}-linux-${architecture}`;
  const inFolder = tree.map((entry) => ({ ...entry, path: `${name}/${entry.path}` }));
  await write(`${name}.tar.gz`, gzipSync(tarOf(inFolder), { level: 9 }));
  await writeLinuxPackages({ version: VERSION, architecture, tree, date, out });
  await write(`${name}.cdx.json`, billOfMaterials({ ...contents, name: 'earshot', debian: [] }));
}

const imageName = `localhost/earshot:${VERSION}`;
const images = await Promise.all(wanted.map((architecture) => earshotContent(program, architecture)));
const [first] = images;
if (first === undefined) throw new Error('no image was built');
const image = images.length > 1 ? multiArchitectureArchive(imageName, images) : imageArchive(imageName, first.layers, first.config);
await write(`earshot-${VERSION}.tar`, image.bytes);
const debian = images.flatMap((one) => one.debian);
await write(`earshot-${VERSION}.tar.cdx.json`, billOfMaterials({ ...contents, name: 'earshot (image)', debian }));
for (const [index, architecture] of wanted.entries()) {
  const { layers, config } = images[index] ?? first;
  const { bytes } = imageArchive(imageName, layers, config, 'docker-archive');
  await write(`earshot-${VERSION}-docker-${architecture}.tar.gz`, gzipSync(bytes));
}

const { repository } = flags;
const { digest } = image;
const chart = await chartArchive(repository === undefined ? undefined : { repository, digest });
await write(`earshot-chart-${VERSION}.tgz`, chart);
await write(`earshot-chart-${VERSION}.oci.tar`, await chartArtifact(`localhost/earshot-chart:${VERSION}`, chart));
await write(
  `earshot-chart-${VERSION}.cdx.json`,
  chartMaterials({ ...contents, image: { repository: repository ?? 'localhost/earshot', digest } }),
);
await write(`earshot-crds-${VERSION}.yaml`, await definitions());
const set = repository === undefined ? [] : ['--set', `image.repository=${repository},image.digest=${digest}`];
for (const [file, name] of [
  ['deploy/earshot.yaml', 'exposure'],
  ['deploy/earshot-sites.yaml', 'sites'],
] as const) {
  const manifest = chartManifests.find((each) => each.file === file);
  if (manifest === undefined) throw new Error(`${file} is not rendered from the chart`);
  // Without a repository the file is the one in the checkout, which needs no Helm.
  const text = set.length === 0 ? await readFile(path.join(ROOT, file), 'utf8') : await renderManifest(manifest, set);
  await write(`earshot-${name}-${VERSION}.yaml`, text);
}

const tools = { node: process.versions.node, esbuild: await installedVersion('esbuild') };
await write(
  'provenance.json',
  provenanceStatement({
    version: VERSION,
    commit,
    sums: await sumsOf(),
    image: { name: imageName, digest },
    tools,
    repository: REPOSITORY,
  }),
);
await write('SHA256SUMS', [...(await sumsOf())].map(([name, sum]) => `${sum}  ${name}\n`).join(''));
if (flags.key !== undefined)
  await run('ssh-keygen', ['-Y', 'sign', '-f', flags.key, '-n', 'earshot-release', path.join(out, 'SHA256SUMS')]);
console.log(await readFile(path.join(out, 'SHA256SUMS'), 'utf8'));

async function write(name: string, content: Buffer | string): Promise<void> {
  await writeFile(path.join(out, name), content);
}

async function sumsOf(): Promise<ReadonlyMap<string, string>> {
  const names = (await readdir(out)).toSorted();
  const sums = names.map(
    async (name) =>
      [
        name,
        createHash('sha256')
          .update(await readFile(path.join(out, name)))
          .digest('hex'),
      ] as const,
  );
  return new Map(await Promise.all(sums));
}

async function definitions(): Promise<string> {
  const folder = path.join(ROOT, 'deploy/crds');
  const files = (await readdir(folder)).toSorted();
  return (await Promise.all(files.map((file) => readFile(path.join(folder, file), 'utf8')))).map((text) => `---\n${text}`).join('');
}

async function installedVersion(name: string): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(path.join(ROOT, 'node_modules', name, 'package.json'), 'utf8'));
  return typeof manifest === 'object' && manifest !== null && 'version' in manifest ? String(manifest.version) : 'unknown';
}
