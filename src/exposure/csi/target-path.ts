import { resolve } from 'node:path';
import { CsiError } from './errors.ts';
import { isSegment } from './tree.ts';
import { quoted } from '../../text/printable.ts';
import { isLabel } from '../../text/names.ts';

/** One volume of one pod in the kubelet's layout (kubelet, pkg/volume/csi/csi_mounter.go, getTargetPath). */
export interface Target {
  /** The volume's folder. */
  readonly path: string;
  /** Its parent folder, created by the kubelet, which also holds vol_data.json. */
  readonly parent: string;
  /** The folder in which the kubelet mounts parts of the volume by subPath (pkg/volume/util/subpath). */
  readonly subPaths: string;
  readonly podUid: string;
}

/** The last segment of every target path. */
export const MOUNT = 'mount';

export function targetOf(kubeletDir: string, podUid: string, volumeName: string): Target {
  const parent = resolve(kubeletDir, 'pods', podUid, 'volumes', 'kubernetes.io~csi', volumeName);
  const subPaths = resolve(kubeletDir, 'pods', podUid, 'volume-subpaths', volumeName);
  return { path: `${parent}/${MOUNT}`, parent, subPaths, podUid };
}

/** Accepts only the exact form, because this path is written and removed as root. Throws csi-target. */
export function parseTarget(kubeletDir: string, path: string): Target {
  const pods = resolve(kubeletDir, 'pods');
  const segments = path.startsWith(`${pods}/`) ? path.slice(pods.length + 1).split('/') : [];
  const [podUid = '', volumes, plugin, volumeName = '', mount, ...rest] = segments;
  const isExact = volumes === 'volumes' && plugin === 'kubernetes.io~csi' && mount === MOUNT && rest.length === 0;
  if (isExact && isLabel(podUid) && isSegment(volumeName)) return targetOf(kubeletDir, podUid, volumeName);
  throw new CsiError(
    'csi-target',
    `target_path ${quoted(path, 512)} is not ${pods}/POD_UID/volumes/kubernetes.io~csi/NAME/mount. ` +
      "Start the driver with the kubelet's --root-dir as --kubelet-dir, mounted into its container at the same path.",
  );
}
