/** The content of Earshot's container image. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { VERSION } from '../../src/version.ts';
import type { Bundle } from '../bundle.ts';
import { pinnedNode, type Architecture } from '../dist/pinned-node.ts';
import { NODE_ENVIRONMENT, NODE_FLAGS } from './node-flags.ts';
import { imageArchive, type ArchiveFormat, type ImageArchive, type ImageConfig, type ImageContent } from './archive.ts';
import { fetchedProgramFiles } from './fetched-libraries.ts';
import { baseFiles, NON_ROOT, programFiles, text } from './rootfs.ts';
import type { TarEntry } from './tar.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' } as const;

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
}

export interface EarshotImage {
  readonly archive: ImageArchive;
  /** Packages that the shared libraries come from. */
  readonly debian: readonly DebianPackage[];
}

/** The image for this machine's processor: its shared libraries are those of the machine. */
export async function earshotImage(reference: string, bundle: Bundle, format: ArchiveFormat = 'oci-archive'): Promise<EarshotImage> {
  const { layers, config, debian } = await earshotContent(bundle, thisArchitecture());
  return { archive: imageArchive(reference, layers, config, format), debian };
}

export interface EarshotContent extends ImageContent {
  readonly debian: readonly DebianPackage[];
}

/** The image for one processor. Shared libraries for another one than this machine's come from the repositories of the machine's Debian. */
export async function earshotContent({ code, notices }: Bundle, architecture: Architecture): Promise<EarshotContent> {
  const folder = await pinnedNode(architecture);
  const [node, at] = [path.join(folder, 'bin/node'), 'usr/local/bin/node'];
  const runtime: TarEntry[] = [
    ...baseFiles(),
    ...(architecture === process.arch ? await programFiles(node, at) : await fetchedProgramFiles(node, at, ARCHITECTURES[architecture])),
    { type: 'file', path: 'usr/share/doc/node/LICENSE', content: await readFile(path.join(folder, 'LICENSE')) },
  ];
  // What changes with every build lies in a layer of its own, so that an upgrade moves a few hundred kilobytes.
  const program: TarEntry[] = [
    { type: 'file', path: 'app/earshot.mjs', content: code },
    { type: 'file', path: 'usr/share/doc/earshot/LICENSE', content: await readFile(path.join(ROOT, 'LICENSE')) },
    text('usr/share/doc/earshot/THIRD-PARTY-LICENSES', notices),
  ];
  const config: ImageConfig = {
    ...imageConfig(['/usr/local/bin/node', ...NODE_FLAGS, '/app/earshot.mjs'], architecture),
    environment: { NODE_ENV: 'production', ...NODE_ENVIRONMENT },
    labels: {
      'org.opencontainers.image.title': 'earshot',
      'org.opencontainers.image.description': 'Services across sites (skupper.io), and known addresses for pods (listeners.stackable.tech)',
      'org.opencontainers.image.version': VERSION,
      'org.opencontainers.image.licenses': 'Apache-2.0',
    },
  };
  return { layers: [runtime, program], config, debian: runtime.flatMap(debianPackageIn) };
}

export function imageConfig(entrypoint: readonly string[], architecture: Architecture = thisArchitecture()): ImageConfig {
  return {
    architecture: ARCHITECTURES[architecture],
    entrypoint,
    environment: {},
    user: `${NON_ROOT}:${NON_ROOT}`,
    workingDirectory: '/',
    labels: {},
  };
}

function thisArchitecture(): Architecture {
  const { arch } = process;
  if (arch === 'x64' || arch === 'arm64') return arch;
  throw new Error(`the image is not built for ${arch}: build it on x64 or arm64`);
}

/** The status file of a Debian package, which `programFiles` adds. */
function debianPackageIn(entry: TarEntry): readonly DebianPackage[] {
  if (entry.type !== 'file' || !entry.path.startsWith('var/lib/dpkg/status.d/')) return [];
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(entry.content.toString('utf8'))?.[1] ?? '';
  return [{ name: field('Package'), version: field('Version'), architecture: field('Architecture') }];
}
