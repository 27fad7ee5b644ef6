import { CLAIM_NAMESPACE_PARAMETER, CLAIM_NAME_PARAMETER, TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import type { Listener, ListenerClass } from '../../api/listeners/index.ts';
import type { Cache, KubeClient } from '../../kube/contract.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../kube/resource.ts';
import type { PersistentVolumeClaim } from '../../kube/objects.ts';
import { BLOCK, isPinned, requestOf } from '../provision/volume-request.ts';
import { CsiError } from './errors.ts';
import type { ControllerDefinition, CreateVolumeRequest, TopologyRequirement, VolumeCapability } from './generated/csi.ts';
import type { Implementation } from './grpc-server.ts';
import { parseHandle } from './publish-request.ts';
import { VolumeSizes } from './volume-sizes.ts';
import { isResourceName } from '../../text/names.ts';

/** ControllerServiceCapability.RPC.Type. */
const CREATE_DELETE_VOLUME = 1;

export interface ControllerServiceOptions {
  readonly client: Pick<KubeClient, 'find'>;
  readonly classes: Cache<ListenerClass>;
  readonly listeners: Cache<Listener>;
}

/**
 * The Controller service for external-provisioner (CSI specification, "Controller Service RPC"). A volume consists only of its
 * PersistentVolume: the Listener or class that it names and, if the address depends on it, its node. So nothing is created or
 * deleted here. Listeners are created when a volume is mounted.
 */
export function createControllerService(options: ControllerServiceOptions): Implementation<ControllerDefinition> {
  const sizes = new VolumeSizes();
  return {
    async createVolume(request, { signal }) {
      const name = parseHandle(request.name, 'name');
      checkCapabilities(request.volumeCapabilities);
      const capacityBytes = sizes.sizeFor(name, request.capacityRange);
      const asked = requestOf(await findClaim(request, options.client, signal), options);
      // After these errors external-provisioner retries forever with growing delays, so missing objects may be created later.
      if (!asked.ok) throw new CsiError(asked.code, asked.message);
      const { selection, listenerClass } = asked;
      const node = isPinned(listenerClass) ? pinnedNode(request.accessibilityRequirements) : undefined;
      const accessibleTopology = node === undefined ? [] : [{ segments: new Map([[TOPOLOGY_KEY, node]]) }];
      sizes.remember(name, capacityBytes);
      const volumeContext = new Map([[selection.annotation, selection.name]]);
      return { volume: { capacityBytes, volumeId: name, volumeContext, accessibleTopology } };
    },

    async deleteVolume({ volumeId }) {
      if (volumeId === '') throw new CsiError('csi-request', 'volume_id is missing.');
      sizes.forget(volumeId);
      return {};
    },

    async validateVolumeCapabilities({ volumeId, volumeCapabilities }, { signal }) {
      const name = parseHandle(volumeId);
      if (volumeCapabilities.length === 0) throw new CsiError('csi-request', 'volume_capabilities are missing.');
      const isKnown = sizes.has(name) || (await exists(name, options.client, signal));
      if (!isKnown) throw new CsiError('volume-not-found', `Volume ${JSON.stringify(name)} does not exist.`);
      const isSupported = !volumeCapabilities.some(isBlock);
      return isSupported ? { confirmed: { volumeCapabilities }, message: '' } : { confirmed: undefined, message: BLOCK };
    },

    controllerGetCapabilities: async () => ({ capabilities: [{ rpc: { type: CREATE_DELETE_VOLUME } }] }),
  };
}

/** The provisioner names the PersistentVolume after the requested volume name. */
async function exists(name: string, client: Pick<KubeClient, 'find'>, signal: AbortSignal): Promise<boolean> {
  return isResourceName(name) && (await client.find(persistentVolumes, { name }, { signal })) !== undefined;
}

/** Any access mode is accepted: pods only read, and each has its own copy of the files. */
function checkCapabilities(capabilities: readonly VolumeCapability[]): void {
  if (capabilities.length === 0) throw new CsiError('csi-request', 'volume_capabilities are missing.');
  if (capabilities.some(isBlock)) throw new CsiError('csi-unsupported', BLOCK);
}

function isBlock(capability: VolumeCapability): boolean {
  return capability.accessType?.$case === 'block';
}

/** The request contains the claim's name, but not its annotations. */
async function findClaim(
  { parameters }: CreateVolumeRequest,
  client: Pick<KubeClient, 'find'>,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim> {
  const name = parameters.get(CLAIM_NAME_PARAMETER) ?? '';
  const namespace = parameters.get(CLAIM_NAMESPACE_PARAMETER) ?? '';
  if (name === '' || namespace === '') {
    throw new CsiError(
      'csi-request',
      `The request does not name the claim of the volume (${CLAIM_NAMESPACE_PARAMETER}, ${CLAIM_NAME_PARAMETER}): ` +
        'run external-provisioner with --extra-create-metadata.',
    );
  }
  if (!isResourceName(name) || !isResourceName(namespace)) throw new CsiError('csi-request', 'The name of the claim is invalid.');
  const claim = await client.find(persistentVolumeClaims, { namespace, name }, { signal });
  if (claim === undefined) throw new CsiError('claim-not-found', `PersistentVolumeClaim ${namespace}/${name} does not exist.`);
  return claim;
}

/**
 * The node of a pinned volume: the provisioner's first preference, which is the scheduler's choice for the pod
 * (external-provisioner, docs on strict topology). A Listener of several claims has one node and address for each of them. Throws
 * csi-installation.
 */
function pinnedNode(requirement: TopologyRequirement | undefined): string {
  const candidates = [...(requirement?.preferred ?? []), ...(requirement?.requisite ?? [])];
  const node = candidates.map(({ segments }) => segments.get(TOPOLOGY_KEY)).find((value) => value !== undefined && value !== '');
  if (node !== undefined) return node;
  throw new CsiError(
    'csi-installation',
    `The ListenerClass has pinnedNodePorts, but the request names no node (topology ${TOPOLOGY_KEY}): run external-provisioner ` +
      'with --feature-gates=Topology=true, and the node driver on every node.',
  );
}
