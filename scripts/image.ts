/**
 * `node scripts/image.ts [--name REFERENCE] [--out FILE] [--format FORMAT]` writes Earshot's container image as an archive
 * (default dist/earshot.tar), without a container engine. FORMAT is `oci-archive` (default) or `docker-archive`. `--csi-provisioner PROGRAM` writes, instead, an image of
 * that static program (default dist/csi-provisioner.tar), for clusters that reach no registry.
 *
 * The same checkout, Node.js and Debian libraries give the same digest.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { VERSION } from '../src/version.ts';
import { argumentsOf } from './arguments.ts';
import { bundle } from './bundle.ts';
import { archiveFormats, imageArchive, type ArchiveFormat, type ImageArchive } from './image/archive.ts';
import { earshotImage, imageConfig } from './image/earshot-image.ts';
import { baseFiles, programFiles } from './image/rootfs.ts';

const ROOT = path.resolve(import.meta.dirname, '..');

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
  flags.name ?? (provisioner === undefined ? `localhost/earshot:${VERSION}` : 'registry.k8s.io/sig-storage/csi-provisioner:v6.3.0');
const archive =
  provisioner === undefined
    ? (await earshotImage(name, await bundle(), format)).archive
    : await provisionerImage(name, provisioner, format);
await mkdir(path.dirname(out), { recursive: true });
await writeFile(out, archive.bytes);
console.log(
  `${path.relative(process.cwd(), out)}: ${name}, ${Math.round(archive.bytes.length / 2 ** 20)} MiB, ${archive.digest}, ${((performance.now() - started) / 1000).toFixed(1)} s`,
);

async function provisionerImage(reference: string, program: string, as: ArchiveFormat): Promise<ImageArchive> {
  const files = [...baseFiles(), ...(await programFiles(program, 'csi-provisioner'))];
  return imageArchive(reference, [files], imageConfig(['/csi-provisioner']), as);
}
