/** Decides the next step for a claim. Pure. */
import { DRIVER_NAME, TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '../../kube/objects.ts';
import { runsDriver } from '../cluster/volumes.ts';
import { isBound, provisionerOf, selectedNodeOf, volumeNameFor } from '../cluster/claims.ts';

export type ClaimStep =
  | { readonly do: 'nothing' }
  /** `node`: the scheduler's selection, or undefined if the class does not wait for one. */
  | { readonly do: 'provision'; readonly storageClass: StorageClass; readonly node: string | undefined }
  /** Write the volume's name into the claim. */
  | { readonly do: 'name'; readonly volume: PersistentVolume }
  /** Mark the claim as bound. */
  | { readonly do: 'bind'; readonly volume: PersistentVolume };

const NOTHING: ClaimStep = { do: 'nothing' };
/**
 * @param volume the volume with the name reserved for this claim, if it exists
 * @param pods pods that mount the claim and have not started
 */
export function nextStep(
  claim: PersistentVolumeClaim,
  {
    storageClass,
    volume,
    pods,
  }: { readonly storageClass: StorageClass | undefined; readonly volume: PersistentVolume | undefined; readonly pods: readonly Pod[] },
): ClaimStep {
  if (claim.metadata.deletionTimestamp !== undefined || isBound(claim)) return NOTHING;
  const { volumeName = '' } = claim.spec ?? {};
  if (volumeName !== '' && volumeName !== volumeNameFor(claim)) return NOTHING;
  if (volume !== undefined) return stepWith(claim, volume);
  if (storageClass?.provisioner !== DRIVER_NAME) return NOTHING;
  const named = provisionerOf(claim);
  // A claim of the driver's own class need not wait for kube-controller-manager's annotation. For a claim of another class, the
  // API server's policy allows our writes only because of that annotation (deploy/chart/templates/controller-policy.yaml).
  if (named === undefined ? claim.spec?.storageClassName !== DRIVER_NAME : named !== DRIVER_NAME) return NOTHING;
  if (storageClass.volumeBindingMode === 'WaitForFirstConsumer') {
    // The scheduler ignores a pod created with spec.nodeName, so it selects no node for its claims.
    const node = selectedNodeOf(claim) ?? pods.find(({ spec }) => spec?.nodeName !== undefined)?.spec?.nodeName;
    return node === undefined ? NOTHING : { do: 'provision', storageClass, node };
  }
  // An existing volume is preferred. With this annotation kube-controller-manager reports that none exists.
  return named === DRIVER_NAME ? { do: 'provision', storageClass, node: undefined } : NOTHING;
}

/**
 * The volume's phase makes binding safe. kube-controller-manager caches claims and volumes separately, and each worker lags
 * behind its own writes. It marks a claim bound to a volume missing in its cache as lost (`ClaimLost`, pv_controller.go,
 * syncBoundClaim). It resets a claim that is Bound without the annotation to Pending. Only that controller can write `Bound` to
 * the volume's status (no phase can be set at creation), so the volume is then in its cache.
 *
 * Writing the claim's volumeName earlier is safe: it is waited for (syncUnboundClaim), and saves that controller its own writes.
 */
function stepWith(claim: PersistentVolumeClaim, volume: PersistentVolume): ClaimStep {
  const { metadata, spec, status } = volume;
  if (metadata.deletionTimestamp !== undefined || claim.metadata.uid === undefined || spec?.claimRef?.uid !== claim.metadata.uid)
    return NOTHING;
  if (status?.phase === 'Bound') return { do: 'bind', volume };
  return claim.spec?.volumeName === metadata.name ? NOTHING : { do: 'name', volume };
}

/**
 * A node for a pinned volume that no pod waits for (volumeBindingMode: Immediate). Replicas of a StatefulSet are spread
 * round-robin.
 */
export function spreadNode(claimName: string, storageClass: StorageClass, nodes: Iterable<Node>): string | undefined {
  const candidates = [...nodes]
    .filter((node) => runsDriver(node) && isAllowed(node.metadata.name ?? '', storageClass))
    .map(({ metadata }) => metadata.name ?? '')
    .toSorted();
  if (candidates.length === 0) return undefined;
  const [, base = claimName, ordinal = '0'] = /^(.*)-(\d{1,9})$/.exec(claimName) ?? [];
  const hash = [...base].reduce((sum, letter) => (Math.imul(sum, 31) + (letter.codePointAt(0) ?? 0)) >>> 0, 7);
  return candidates[(hash + Number(ordinal)) % candidates.length];
}

/** StorageClass.allowedTopologies: one matching term is enough. */
function isAllowed(node: string, { allowedTopologies = [] }: StorageClass): boolean {
  if (allowedTopologies.length === 0) return true;
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => key !== TOPOLOGY_KEY || values.includes(node)),
  );
}
