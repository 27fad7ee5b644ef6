import { createHash } from 'node:crypto';
import { tarOf, type TarEntry } from './tar.ts';

/** Program, user and environment of a container of the image. */
export interface ImageConfig {
  readonly architecture: 'amd64' | 'arm64';
  readonly entrypoint: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workingDirectory: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ImageArchive {
  readonly bytes: Buffer;
  /** `sha256:…` of the manifest, by which a registry names the image. */
  readonly digest: string;
}

/** `oci-archive`: OCI image layout; `docker-archive`: for Docker before 25, which does not import that. */
export const archiveFormats = ['oci-archive', 'docker-archive'] as const;
export type ArchiveFormat = (typeof archiveFormats)[number];

/**
 * An image in one tar. Layers are not compressed: a registry client does that when it pushes, and the digest then depends on no
 * compressor's version. Nothing in it depends on the clock.
 * @param name full reference, such as `registry.example.com/earshot:0.1.0`
 */
export function imageArchive(
  name: string,
  layers: readonly (readonly TarEntry[])[],
  config: ImageConfig,
  format: ArchiveFormat = 'oci-archive',
): ImageArchive {
  const { manifest, configBlob, layerBlobs } = imageBlobs(layers, config);
  const bytes =
    format === 'docker-archive'
      ? dockerArchive(name, configBlob, layerBlobs)
      : ociArchive(name, manifest, [configBlob, ...layerBlobs], platformOf(config));
  return { bytes, digest: manifest.digest };
}

export interface ImageContent {
  readonly layers: readonly (readonly TarEntry[])[];
  readonly config: ImageConfig;
}

/** One image for several processors: an OCI image index, from which a client takes the manifest of its own. The digest is that of the index. */
export function multiArchitectureArchive(name: string, images: readonly ImageContent[]): ImageArchive {
  const parts = images.map(({ layers, config }) => ({ ...imageBlobs(layers, config), platform: platformOf(config) }));
  const mediaType = 'application/vnd.oci.image.index.v1+json';
  const manifests = parts.map(({ manifest, platform }) => ({ ...descriptorOf(manifest), platform }));
  const index = jsonBlob(mediaType, { schemaVersion: 2, mediaType, manifests });
  const blobs = parts.flatMap(({ manifest, configBlob, layerBlobs }) => [manifest, configBlob, ...layerBlobs]);
  return { bytes: ociArchive(name, index, blobs), digest: index.digest };
}

interface ImageBlobs {
  readonly manifest: Blob;
  readonly configBlob: Blob;
  readonly layerBlobs: readonly Blob[];
}

function imageBlobs(layers: readonly (readonly TarEntry[])[], config: ImageConfig): ImageBlobs {
  const layerBlobs = layers.map((layer) => blobOf('application/vnd.oci.image.layer.v1.tar', tarOf(layer)));
  const configBlob = jsonBlob('application/vnd.oci.image.config.v1+json', {
    created: EPOCH,
    ...platformOf(config),
    config: {
      User: config.user,
      Env: Object.entries(config.environment).map(([key, value]) => `${key}=${value}`),
      Entrypoint: config.entrypoint,
      WorkingDir: config.workingDirectory,
      Labels: config.labels,
    },
    rootfs: { type: 'layers', diff_ids: layerBlobs.map((blob) => blob.digest) },
    history: layerBlobs.map(() => ({ created: EPOCH, created_by: 'scripts/image.ts' })),
  });
  return { manifest: manifestOf(configBlob, layerBlobs), configBlob, layerBlobs };
}

function platformOf({ architecture }: ImageConfig): { readonly architecture: string; readonly os: string } {
  return { architecture, os: 'linux' };
}

export interface TypedContent {
  readonly mediaType: string;
  readonly content: Buffer;
}

/** An OCI artifact that is not an image, such as a Helm chart, in the same layout. */
export function artifactArchive(name: string, config: TypedContent, layers: readonly TypedContent[]): ImageArchive {
  const [configBlob, layerBlobs] = [
    blobOf(config.mediaType, config.content),
    layers.map((layer) => blobOf(layer.mediaType, layer.content)),
  ];
  const manifest = manifestOf(configBlob, layerBlobs);
  return { bytes: ociArchive(name, manifest, [configBlob, ...layerBlobs]), digest: manifest.digest };
}

/** Source: OCI image-spec v1.1 (image-layout.md, manifest.md, config.md). Read by containerd, skopeo, Podman and Docker from 25. */
function ociArchive(name: string, manifest: Blob, blobs: readonly Blob[], platform?: object): Buffer {
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...descriptorOf(manifest),
        ...(platform && { platform }),
        // The first is containerd's, which wants the whole name; the second the specification's, a tag.
        annotations: { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': tagOf(name) },
      },
    ],
  };
  const files = uniqueByDigest([manifest, ...blobs]).map((blob) => fileAt(`blobs/sha256/${hexOf(blob)}`, blob));
  return tarOf([fileOf('oci-layout', { imageLayoutVersion: '1.0.0' }), fileOf('index.json', index), ...files]);
}

/** Source: Docker image specification v1.2, "Combined Image JSON + Filesystem Changeset Format" (`manifest.json`). */
function dockerArchive(name: string, config: Blob, layers: readonly Blob[]): Buffer {
  const layerFile = (layer: Blob): string => `${hexOf(layer)}.tar`;
  const index = [{ Config: `${hexOf(config)}.json`, RepoTags: [name], Layers: layers.map(layerFile) }];
  const files = uniqueByDigest(layers).map((layer) => fileAt(layerFile(layer), layer));
  return tarOf([fileOf('manifest.json', index), fileAt(`${hexOf(config)}.json`, config), ...files]);
}

function manifestOf(config: Blob, layers: readonly Blob[]): Blob {
  return jsonBlob('application/vnd.oci.image.manifest.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptorOf(config),
    layers: layers.map(descriptorOf),
  });
}

function fileAt(path: string, { content }: Blob): TarEntry {
  return { type: 'file', path, content };
}

function hexOf({ digest }: Blob): string {
  return digest.slice('sha256:'.length);
}

interface Blob {
  readonly mediaType: string;
  readonly digest: string;
  readonly content: Buffer;
}

const EPOCH = '1970-01-01T00:00:00Z';

function blobOf(mediaType: string, content: Buffer): Blob {
  return { mediaType, content, digest: `sha256:${createHash('sha256').update(content).digest('hex')}` };
}

function jsonBlob(mediaType: string, value: unknown): Blob {
  return blobOf(mediaType, Buffer.from(JSON.stringify(value)));
}

function descriptorOf(blob: Blob): { mediaType: string; digest: string; size: number } {
  return { mediaType: blob.mediaType, digest: blob.digest, size: blob.content.length };
}

function fileOf(path: string, value: unknown): TarEntry {
  return { type: 'file', path, content: Buffer.from(JSON.stringify(value)) };
}

function uniqueByDigest(blobs: readonly Blob[]): Blob[] {
  return [...new Map(blobs.map((blob) => [blob.digest, blob])).values()];
}

function tagOf(name: string): string {
  const tag = name.slice(name.lastIndexOf('/') + 1).split(':')[1];
  if (tag === undefined) throw new Error(`an image's name needs a tag, as in ${name}:0.1.0`);
  return tag;
}
