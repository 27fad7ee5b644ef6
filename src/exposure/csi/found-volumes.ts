import { join } from 'node:path';
import { DRIVER_NAME } from '../../api/listeners/names.ts';
import { namesIn } from '../../files/durable.ts';
import { hasCode } from '../../files/errno.ts';
import { Directory } from './directory.ts';
import type { Volume } from './volume-entry.ts';
import { targetOf } from './target-path.ts';
import { isRecord } from '../../text/is-record.ts';
import { DEFAULT_ADDRESS, isSegment } from './tree.ts';
import { isLabel } from '../../text/names.ts';

/** The kubelet's file next to each CSI volume (kubelet, pkg/volume/csi/csi_plugin.go, volDataFileName). */
const VOLUME_DATA = 'vol_data.json';
/** Maximum size of that file; it usually has about 500 bytes. */
const MAX_VOLUME_DATA_BYTES = 65_536;

/**
 * Finds this driver's volumes on the node from the files of the kubelet. So the driver needs no state of its own and adopts the
 * volumes of an earlier process. Volumes that were never fully written are left out, because the kubelet publishes them again.
 */
export async function findVolumes(kubeletDir: string): Promise<readonly Volume[]> {
  const pods = join(kubeletDir, 'pods');
  const volumes: Volume[] = [];
  for (const podUid of await namesIn(pods)) {
    if (!isLabel(podUid)) continue;
    for (const name of await namesIn(join(pods, podUid, 'volumes', 'kubernetes.io~csi'))) {
      const volume = isSegment(name) ? await findVolume(kubeletDir, podUid, name) : undefined;
      if (volume !== undefined) volumes.push(volume);
    }
  }
  return volumes;
}

async function findVolume(kubeletDir: string, podUid: string, name: string): Promise<Volume | undefined> {
  const target = targetOf(kubeletDir, podUid, name);
  try {
    await using parent = await Directory.open(target.parent);
    const handle = handleOf(await parent.readFile(VOLUME_DATA, MAX_VOLUME_DATA_BYTES));
    if (handle === undefined) return undefined;
    await using folder = await Directory.open(target.path);
    return (await folder.kindOf(DEFAULT_ADDRESS)) === 'link' ? { handle, target } : undefined;
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES')) return undefined;
    throw error;
  }
}

/** The volume handle if the volume belongs to this driver. */
export function handleOf(volumeData: string | undefined): string | undefined {
  try {
    const data: unknown = JSON.parse(volumeData ?? '');
    if (!isRecord(data) || data['driverName'] !== DRIVER_NAME) return undefined;
    const handle = data['volumeHandle'];
    return typeof handle === 'string' && handle !== '' ? handle : undefined;
  } catch {
    return undefined;
  }
}
