/** The Helm chart as one file (`helm package` without its time stamps), and as an OCI artifact. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { artifactArchive } from '../image/archive.ts';
import { tarOf, type TarEntry } from '../image/tar.ts';

const CHART = path.resolve(import.meta.dirname, '../../deploy/chart');

/** A `.tgz` with everything below the folder `earshot/`, as `helm install` takes it. */
export async function chartArchive(): Promise<Buffer> {
  const files = await readdir(CHART, { recursive: true, withFileTypes: true });
  const entries = files
    .filter((file) => file.isFile())
    .map(async (file): Promise<TarEntry> => {
      const at = path.join(file.parentPath, file.name);
      return { type: 'file', path: path.join('earshot', path.relative(CHART, at)), content: await readFile(at) };
    });
  return gzipSync(tarOf(await Promise.all(entries)), { level: 9 });
}

/** Media types of https://helm.sh/docs/topics/registries/: `skopeo copy` pushes it, and `helm install oci://…` takes it. */
export async function chartArtifact(reference: string, archive: Buffer): Promise<Buffer> {
  const chart: unknown = parse(await readFile(path.join(CHART, 'Chart.yaml'), 'utf8'));
  return artifactArchive(
    reference,
    { mediaType: 'application/vnd.cncf.helm.config.v1+json', content: Buffer.from(JSON.stringify(chart)) },
    [{ mediaType: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip', content: archive }],
  ).bytes;
}
