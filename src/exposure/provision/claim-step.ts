/** What comes next for a claim: pure. */
import { DRIVER_NAME, TOPOLOGY_KEY } from '../../api/listeners/names.ts';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '../../kube/objects.ts';
import { runsDriver } from '../cluster/volumes.ts';
import { isBound, provisionerOf, selectedNodeOf, volumeNameFor } from '../cluster/claims.ts';

export type ClaimStep =
  | { readonly do: 'nothing' }
  /** `node`: the one that the scheduler selected; undefined where the class does not wait for one. */
  | { readonly do: 'provision'; readonly storageClass: StorageClass; readonly node: string | undefined }
  /** Write the volume's name into the claim. */
  | { readonly do: 'name'; readonly volume: PersistentVolume }
  /** And that it is bound. */
  | { readonly do: 'bind'; readonly volume: PersistentVolume };

const NOTHING: ClaimStep = { do: 'nothing' };
/**
 * `volume`: the one by the name that this claim's volume has, where it exists. `pods`: those that mount the claim and have
 * not started.
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
  // A claim of the driver's own class need not wait until kube-controller-manager has named the driver on it. Of one of another class
  // nothing but that annotation tells the API server's policy that it is ours to write (deploy/chart/templates/controller-policy.yaml).
  if (named === undefined ? claim.spec?.storageClassName !== DRIVER_NAME : named !== DRIVER_NAME) return NOTHING;
  if (storageClass.volumeBindingMode === 'WaitForFirstConsumer') {
    // The scheduler does not see a pod whose spec.nodeName is set when it is created, so it selects no node for its claims.
    const node = selectedNodeOf(claim) ?? pods.find(({ spec }) => spec?.nodeName !== undefined)?.spec?.nodeName;
    return node === undefined ? NOTHING : { do: 'provision', storageClass, node };
  }
  // A volume that exists is preferred; that there is none, kube-controller-manager says by this annotation.
  return named === DRIVER_NAME ? { do: 'provision', storageClass, node: undefined } : NOTHING;
}

/**
 * The phase is what makes it safe to bind. kube-controller-manager keeps claims and volumes in two stores that two workers fill, each at
 * the pace of its own writes. A claim that is bound to a volume which is not in its store yet, it takes for one that lost its volume
 * (`ClaimLost`, pv_controller.go, syncBoundClaim), and one that is Bound without the annotation it sets back to Pending. `Bound` in
 * the volume's status is that program's own writing (the API server lets nobody set a phase at creation), so the volume is in its store.
 *
 * A name that stands in the claim before is safe: it is waited for (syncUnboundClaim), and spares that program its own writes.
 */
function stepWith(claim: PersistentVolumeClaim, volume: PersistentVolume): ClaimStep {
  const { metadata, spec, status } = volume;
  if (metadata.deletionTimestamp !== undefined || claim.metadata.uid === undefined || spec?.claimRef?.uid !== claim.metadata.uid)
    return NOTHING;
  if (status?.phase === 'Bound') return { do: 'bind', volume };
  return claim.spec?.volumeName === metadata.name ? NOTHING : { do: 'name', volume };
}

/**
 * A node for a volume that is pinned although nobody waits for it (volumeBindingMode: Immediate). The replicas of a StatefulSet get one
 * after the other.
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

/** StorageClass.allowedTopologies: any one of the terms. */
function isAllowed(node: string, { allowedTopologies = [] }: StorageClass): boolean {
  if (allowedTopologies.length === 0) return true;
  return allowedTopologies.some(({ matchLabelExpressions = [] }) =>
    matchLabelExpressions.every(({ key, values }) => key !== TOPOLOGY_KEY || values.includes(node)),
  );
}
