/** Explains the listener volumes of a pod: from its claims to the files that it mounts (pure). */
import { isDeepStrictEqual } from 'node:util';
import { entryDigest } from '../../api/listeners/entry-digest.ts';
import type { PodListener } from '../../api/listeners/index.ts';
import { entryOf, mountStatusOf } from '../../api/listeners/mount-status.ts';
import { DRIVER_NAME, podListenersName } from '../../api/listeners/names.ts';
import { pinnedNodesOf, targetOf } from '../../exposure/cluster/volumes.ts';
import { reachableText } from '../../exposure/listeners/listener-status.ts';
import type { PersistentVolume } from '../../kube/objects.ts';
import { explainChain, type Check, type CheckResult } from '../chain.ts';
import type { Explanation, Step } from '../step.ts';
import { claimChecks } from './claim-checks.ts';
import type { ClaimFacts, PodFacts } from './exposure-facts.ts';
import { latestWarning } from './load-balancer-step.ts';
import { conditionOf, hasMounted } from '../connection/pod-conditions.ts';
import { isCurrentlyServed } from './served.ts';
import { valueOf } from '../connection/site-facts.ts';
import { Steps } from './steps.ts';

export function explainPod(facts: PodFacts): Explanation {
  const { name } = facts.pod.metadata;
  const object = `Pod/${name}`;
  const steps = new Steps(object);
  const now = new Date(facts.now);
  if (facts.claims.length === 0) {
    return explainChain(object, [steps.check('pod.volumes', () => steps.pass('pod.volumes', 'it mounts no listener volume'))], now);
  }
  return explainChain(object, podChecks(facts, steps), now);
}

function podChecks(facts: PodFacts, steps: Steps): readonly Check[] {
  const { claims } = facts;
  // A claim is bound only for a pod that has a node, so a misspelt annotation is the cause of a pod that is not scheduled.
  const [annotations, later] = [0, 1].map((part) =>
    claims.flatMap((claim) =>
      claimChecks(claim).filter(({ id }) => (id === 'claim.annotation' || id === 'claim.storage-class') === (part === 0)),
    ),
  );
  return [
    steps.controller(facts, hasMounted(facts.pod) && claims.some(isCurrentlyServed)),
    ...(annotations ?? []),
    steps.check('pod.node', () => nodeStep(facts, steps)),
    steps.check('pod.driver', () => driverStep(facts, steps)),
    ...(later ?? []),
    steps.check('pod.request', () => requestStep(facts, steps)),
    ...claims.map((claim) => steps.check('pod.mount', () => mountStep(facts, claim, steps))),
    steps.check('pod.mounted', () => mountedStep(facts, steps)),
    ...claims.map((claim) => steps.check('pod.files', () => filesStep(facts, claim, steps))),
  ];
}

function nodeStep({ pod, claims }: PodFacts, steps: Steps): Step {
  const id = 'pod.node';
  const { nodeName } = pod.spec ?? {};
  const pins = claims.flatMap(({ name, volume }) => {
    const nodes = pinnedNodesOf(valueOf(volume) ?? NO_VOLUME);
    return nodes.length === 0 ? [] : [{ name, nodes }];
  });
  if (nodeName === undefined) {
    const scheduled = conditionOf(pod, 'PodScheduled');
    if (scheduled?.status !== 'False') return steps.wait(id, 'The pod has no node yet.');
    const unbound = claims.some(({ claim }) => valueOf(claim)?.status?.phase !== 'Bound');
    const advice = unbound ? 'See also the events of its claims: kubectl describe pvc' : 'Change the pod, or make room on a node.';
    const says = [...pins.map(pinText), `The pod has no node: ${scheduled.message ?? ''}`].join('. ');
    return steps.fail(id, says, { do: pins.length === 0 ? advice : PINNED_ADVICE });
  }
  const elsewhere = pins.filter(({ nodes }) => !nodes.includes(nodeName)).map(pinText);
  if (elsewhere.length === 0) return steps.pass(id, nodeName);
  return steps.fail(id, `The pod is on node ${nodeName}, but ${elsewhere.join(' and ')}.`, {
    do: 'Delete the pod, so that it is scheduled again.',
  });
}

const pinText = ({ name, nodes }: { readonly name: string; readonly nodes: readonly string[] }): string =>
  `${name} is pinned to ${nodes.join(', ')}`;
const PINNED_ADVICE = 'Make that node schedulable again (kubectl uncordon), or delete the claim and the pod to get another address.';
const NO_VOLUME: PersistentVolume = { metadata: {} };

function driverStep({ pod, csiNode }: PodFacts, steps: Steps): CheckResult {
  const id = 'pod.driver';
  const { nodeName } = pod.spec ?? {};
  if (nodeName === undefined) return [];
  return steps.of(id, csiNode, (found) => {
    if (found?.spec?.drivers?.some(({ name }) => name === DRIVER_NAME) === true) return steps.pass(id, 'registered');
    return steps.fail(id, `The driver ${DRIVER_NAME} is not registered on node ${nodeName}.`, {
      do: `Look at its pod there: kubectl get pods -A -o wide -l app.kubernetes.io/component=node --field-selector spec.nodeName=${nodeName}`,
    });
  });
}

function requestStep({ pod, podListeners, podEvents }: PodFacts, steps: Steps): CheckResult {
  const id = 'pod.request';
  const name = podListenersName(pod.metadata.uid ?? '');
  if (pod.spec?.nodeName === undefined) return [];
  return steps.of(id, podListeners, (found) => {
    if (found !== undefined) return steps.pass(id, name);
    const failed = failedMount(podEvents);
    if (failed !== undefined) return steps.fail(id, failed.message, { code: failed.reason, since: failed.at, do: RETRY_ADVICE });
    return steps.wait(id, `The driver has not requested the volumes yet: PodListeners ${name} does not exist.`);
  });
}

function mountStep(facts: PodFacts, claim: ClaimFacts, steps: Steps): CheckResult {
  const id = 'pod.mount';
  const object = valueOf(facts.podListeners);
  const volume = valueOf(claim.volume);
  const handle = volume?.spec?.csi?.volumeHandle;
  if (object === undefined || volume === undefined || handle === undefined) return [];
  const waiting = mountStatusOf(object, handle);
  if (waiting !== undefined) return steps.problem(id, waiting);
  const entry = entryOf(object, handle);
  if (entry === undefined) return steps.wait(id, `${claim.name} waits for its address.`, { code: 'listener-pending' });
  const addresses = reachableText(entry);
  if (isCurrent(entry, volume, claim)) return steps.pass(id, `${claim.name} at ${addresses}`);
  return steps.wait(id, `${claim.name} has ${addresses}, and its Listener has other addresses now. The controller updates it.`);
}

/** The pod's own node gives its addresses if the Listener has node ports; those are not compared. */
function isCurrent(entry: PodListener, volume: PersistentVolume, { listeners }: ClaimFacts): boolean {
  const target = targetOf(volume);
  const listener = valueOf(listeners)?.find(({ metadata }) => metadata.name === target?.name);
  return (
    listener === undefined ||
    entry.scope === 'Node' ||
    isDeepStrictEqual(listener.status?.ingressAddresses ?? [], entry.ingressAddresses ?? [])
  );
}

function mountedStep({ pod, podEvents }: PodFacts, steps: Steps): CheckResult {
  const id = 'pod.mounted';
  if (pod.spec?.nodeName === undefined) return [];
  if (hasMounted(pod)) return steps.pass(id, 'mounted');
  const failed = failedMount(podEvents);
  if (failed !== undefined) return steps.fail(id, failed.message, { code: failed.reason, since: failed.at, do: RETRY_ADVICE });
  return steps.wait(id, 'The kubelet has not mounted the volumes yet.');
}

/** The files in the pod have the addresses that the controller assigned. */
function filesStep({ pod, podListeners, driverVolumes }: PodFacts, { name, volume }: ClaimFacts, steps: Steps): CheckResult {
  const id = 'pod.files';
  const handle = valueOf(volume)?.spec?.csi?.volumeHandle;
  const object = valueOf(podListeners);
  const entry = object === undefined || handle === undefined ? undefined : entryOf(object, handle);
  if (driverVolumes === undefined || entry === undefined) return [];
  return steps.of(id, driverVolumes, (all) => {
    const own = all.find((each) => each.pod === pod.metadata.uid && each.volume === handle);
    if (own === undefined) return steps.wait(id, `The node driver has not mounted ${name} for this pod.`);
    if (own.isStale) return steps.fail(id, `The files of ${name} could not be updated.`, { do: DRIVER_LOG });
    if (own.hash === entryDigest(entry)) return steps.pass(id, `${name} is current since ${own.writtenAt ?? 'the mount'}`);
    return steps.wait(
      id,
      `The files of ${name} have earlier addresses, written at ${own.writtenAt ?? 'an unknown time'}. The driver updates them.`,
    );
  });
}

const DRIVER_LOG = "See the log of the node driver on the pod's node: kubectl logs -l app.kubernetes.io/component=node -n NAMESPACE";

/** The event stays while the kubelet pauses, also if its cause is gone. */
const RETRY_ADVICE = 'The kubelet tries again after pauses of up to two minutes. If the cause is gone, delete the pod to skip the pause.';

function failedMount(events: PodFacts['podEvents']): ReturnType<typeof latestWarning> {
  return latestWarning((valueOf(events) ?? []).filter(({ reason }) => reason === 'FailedMount'));
}
