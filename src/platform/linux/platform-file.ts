/** `internal/platform.yaml`: how the routers of a namespace are run. Scripts read its field `platform`. */
import { join } from 'node:path';
import { makeDirectory, readText, removeFile, writeDurably } from '../../files/durable.ts';
import { isRecord } from '../../text/is-record.ts';
import { writeYaml } from '../../text/write-yaml.ts';
import { parseYaml } from '../../text/yaml.ts';
import type { NamespaceLayout } from './layout.ts';

const LIMIT = { bytes: 65_536 };

export interface PlatformFile {
  readonly platform: 'linux' | 'podman' | 'docker';
  /** Image of the routers' containers. */
  readonly image?: string;
  /** Seconds that open connections have at a stop. */
  readonly drainSeconds?: number;
}

/** @returns undefined if the file does not exist or names no platform of a machine */
export async function readPlatformFile(layout: NamespaceLayout): Promise<PlatformFile | undefined> {
  const text = await readText(pathOf(layout), LIMIT);
  const value = text === undefined ? undefined : valueOf(text);
  if (!isRecord(value)) return undefined;
  const { platform, image, drainSeconds } = value;
  if (platform !== 'linux' && platform !== 'podman' && platform !== 'docker') return undefined;
  return {
    platform,
    ...(typeof image === 'string' && image !== '' ? { image } : {}),
    ...(Number.isSafeInteger(drainSeconds) && Number(drainSeconds) >= 0 ? { drainSeconds: Number(drainSeconds) } : {}),
  };
}

function valueOf(text: string): unknown {
  try {
    return parseYaml(text)[0];
  } catch {
    return undefined;
  }
}

export async function writePlatformFile(layout: NamespaceLayout, file: PlatformFile): Promise<void> {
  await makeDirectory(layout.internal.root, 0o700);
  await writeDurably(pathOf(layout), writeYaml(file), 0o644);
}

/** Notes that routers run on the machine itself. An existing file stays, even a damaged one: it may have the image of a container. */
export async function ensurePlatformFile(layout: NamespaceLayout): Promise<void> {
  if ((await readText(pathOf(layout), LIMIT)) === undefined) await writePlatformFile(layout, { platform: 'linux' });
}

/** No-op if absent. */
export async function removePlatformFile(layout: NamespaceLayout): Promise<void> {
  await removeFile(pathOf(layout));
}

function pathOf({ internal }: NamespaceLayout): string {
  return join(internal.root, 'platform.yaml');
}
