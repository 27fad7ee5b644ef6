/** The Helm chart as one file (`helm package` without its time stamps), and as an OCI artifact. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { artifactArchive } from '../image/archive.ts';
import { tarOf, type TarEntry } from '../image/tar.ts';

const CHART = path.resolve(import.meta.dirname, '../../deploy/chart');

/** Image in the registry of a release. */
export interface ReleasedImage {
  readonly repository: string;
  /** `sha256:…` */
  readonly digest: string;
}

/**
 * A `.tgz` with everything below the folder `earshot/`, as `helm install` takes it.
 * @param image becomes the default of the values; otherwise it stays the one that `make image` builds, by its tag
 */
export async function chartArchive(image?: ReleasedImage): Promise<Buffer> {
  const files = await readdir(CHART, { recursive: true, withFileTypes: true });
  const entries = files
    .filter((file) => file.isFile())
    .map(async (file): Promise<TarEntry> => {
      const at = path.join(file.parentPath, file.name);
      const [name, content] = [path.relative(CHART, at), await readFile(at)];
      const isChanged = image !== undefined && name === 'values.yaml';
      return { type: 'file', path: path.join('earshot', name), content: isChanged ? withImage(content.toString('utf8'), image) : content };
    });
  return gzipSync(tarOf(await Promise.all(entries)), { level: 9 });
}

/** Changes the two lines of `image`, so that comments stay. @throws Error if values.yaml has other lines */
function withImage(values: string, { repository, digest }: ReleasedImage): Buffer {
  if (!/^sha256:[0-9a-f]{64}$/.test(digest) || !/^[\w.:/-]+$/.test(repository)) throw new Error(`not an image: ${repository}@${digest}`);
  const changed = values.replace(
    /^(image:\n(?: .*\n)*? {2}repository: )localhost\/earshot(\n(?: .*\n)*? {2}digest: )""$/m,
    (_line, before: string, between: string) => `${before}${repository}${between}${digest}`,
  );
  if (changed === values) throw new Error('values.yaml has no image to replace');
  return Buffer.from(changed);
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
