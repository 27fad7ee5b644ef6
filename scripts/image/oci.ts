import { createHash } from 'node:crypto';
import { tarOf, type TarEntry } from './tar.ts';

/** What a container of the image runs, and as whom. */
export interface ImageConfig {
  readonly architecture: 'amd64' | 'arm64';
  readonly entrypoint: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workingDirectory: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface OciArchive {
  readonly bytes: Buffer;
  /** `sha256:…` of the manifest: what a registry would call the image. */
  readonly digest: string;
}

/**
 * An OCI image layout in one tar (`oci-archive`), as containerd, skopeo, podman and Docker from 25 on import it.
 * Layers are not compressed: a registry client does that when it pushes, and the digest then depends on no
 * compressor's version. Nothing in it depends on the clock.
 *
 * `name` is the full reference, such as `registry.example.com/earshot:0.1.0`.
 *
 * Source: OCI image-spec v1.1 (image-layout.md, manifest.md, config.md).
 */
export function ociArchive(name: string, layers: readonly (readonly TarEntry[])[], config: ImageConfig): OciArchive {
  const layerBlobs = layers.map((layer) => blobOf('application/vnd.oci.image.layer.v1.tar', tarOf(layer)));
  const configBlob = jsonBlob('application/vnd.oci.image.config.v1+json', {
    created: EPOCH,
    architecture: config.architecture,
    os: 'linux',
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
  const manifest = jsonBlob('application/vnd.oci.image.manifest.v1+json', {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.manifest.v1+json',
    config: descriptorOf(configBlob),
    layers: layerBlobs.map(descriptorOf),
  });
  const index = {
    schemaVersion: 2,
    mediaType: 'application/vnd.oci.image.index.v1+json',
    manifests: [
      {
        ...descriptorOf(manifest),
        platform: { architecture: config.architecture, os: 'linux' },
        // The first is containerd's, which wants the whole name; the second the specification's, a tag.
        annotations: { 'io.containerd.image.name': name, 'org.opencontainers.image.ref.name': tagOf(name) },
      },
    ],
  };
  const bytes = tarOf([
    fileOf('oci-layout', { imageLayoutVersion: '1.0.0' }),
    fileOf('index.json', index),
    ...uniqueByDigest([manifest, configBlob, ...layerBlobs]).map((blob): TarEntry => ({
      type: 'file',
      path: `blobs/sha256/${blob.digest.slice('sha256:'.length)}`,
      content: blob.content,
    })),
  ]);
  return { bytes, digest: manifest.digest };
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
