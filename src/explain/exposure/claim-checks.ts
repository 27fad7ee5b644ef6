/** Checks of a PersistentVolumeClaim for a listener volume: from its annotation to the bound volume (pure). */
import { DRIVER_NAME, LISTENER_CLASS_ANNOTATION } from '../../api/listeners/names.ts';
import type { Listener, ListenerClass } from '../../api/listeners/index.ts';
import { storageClassOf } from '../../exposure/cluster/claims.ts';
import { targetOf } from '../../exposure/cluster/volumes.ts';
import { requestOf, type Policy } from '../../exposure/provision/volume-request.ts';
import type { PersistentVolumeClaim } from '../../kube/objects.ts';
import { conditionReason } from '../../errors/condition-reason.ts';
import { shownValue } from '../../text/printable.ts';
import type { Check, CheckResult } from '../chain.ts';
import type { Step } from '../step.ts';
import type { ClaimFacts } from './exposure-facts.ts';
import { latestWarning } from './load-balancer-step.ts';
import { conditionOf } from '../connection/pod-conditions.ts';
import { valueOf } from '../connection/site-facts.ts';
import { Steps } from './steps.ts';

/** Steps of one claim. Their object is the claim, also in the explanation of a pod. */
export function claimChecks(facts: ClaimFacts): readonly Check[] {
  const steps = new Steps(`PersistentVolumeClaim/${facts.name}`);
  const withClaim = (id: string, run: (claim: PersistentVolumeClaim) => CheckResult): Check =>
    steps.check(id, () =>
      steps.of(id, facts.claim, (claim) =>
        claim === undefined
          ? steps.problem(id, { reason: 'ClaimNotFound', message: `PersistentVolumeClaim ${facts.name} does not exist.` })
          : run(claim),
      ),
    );
  return [
    withClaim('claim.annotation', (claim) => annotationStep(facts, claim, steps)),
    withClaim('claim.storage-class', (claim) => storageClassStep(facts, claim, steps)),
    withClaim('claim.bound', (claim) => boundStep(facts, claim, steps)),
    steps.check('claim.listener', () => listenerStep(facts, steps)),
  ];
}

/** The rule by which the controller creates volumes, as far as classes and Listeners can be read. */
function annotationStep(facts: ClaimFacts, claim: PersistentVolumeClaim, steps: Steps): Step {
  const id = 'claim.annotation';
  const request = requestOf(claim, policyOf(facts, claim));
  if (!request.ok) {
    const className = claim.metadata.annotations?.[LISTENER_CLASS_ANNOTATION];
    const reported = { reason: conditionReasonOf(request.code), message: request.message };
    return className === undefined ? steps.problem(id, reported) : steps.problemOfClass(id, reported, className);
  }
  const { annotation, name } = request.selection;
  return steps.pass(id, `${annotation.slice(annotation.indexOf('/') + 1)} ${shownValue(name)}`);
}

/** CSI codes are answers to the kubelet, and have no reason of a condition. */
function conditionReasonOf(code: 'csi-claim' | 'class-not-found' | 'listener-not-found' | 'no-class'): string {
  return code === 'csi-claim' ? code : conditionReason(code);
}

/** Assumes that objects exist that the user may not read. */
function policyOf({ classes, listeners }: ClaimFacts, { metadata: { namespace } }: PersistentVolumeClaim): Policy {
  const readable = valueOf(classes);
  const assumedClass = (name: string): ListenerClass => ({ metadata: { name }, spec: { serviceType: 'ClusterIP' } });
  const all = valueOf(listeners);
  return {
    classes: {
      get: (name) => (readable === undefined ? assumedClass(name) : readable.find(({ metadata }) => metadata.name === name)),
      values: () => (readable ?? []).values(),
    },
    listeners: {
      get: (key): Listener | undefined =>
        all === undefined
          ? { metadata: { name: key }, spec: { className: readable?.[0]?.metadata.name ?? 'assumed' } }
          : all.find(({ metadata }) => `${namespace}/${metadata.name}` === key),
    },
  };
}

function storageClassStep(facts: ClaimFacts, claim: PersistentVolumeClaim, steps: Steps): CheckResult {
  const id = 'claim.storage-class';
  const name = storageClassOf(claim);
  const remedy = `Set spec.storageClassName: ${DRIVER_NAME} in a new claim.`;
  if (name === '') return steps.fail(id, 'The claim has no storage class.', { do: remedy });
  return steps.of(id, facts.storageClass, (found) => {
    if (found === undefined) {
      const advice = name === DRIVER_NAME ? 'Install the chart with exposure.enabled.' : remedy;
      return steps.fail(id, `StorageClass ${shownValue(name)} does not exist.`, { do: advice });
    }
    if (found.provisioner === DRIVER_NAME) return steps.pass(id, name);
    return steps.fail(id, `StorageClass ${shownValue(name)} is provisioned by ${shownValue(found.provisioner)}, not by ${DRIVER_NAME}.`, {
      do: remedy,
    });
  });
}

function boundStep(facts: ClaimFacts, claim: PersistentVolumeClaim, steps: Steps): Step {
  const id = 'claim.bound';
  if (claim.status?.phase === 'Bound') return steps.pass(id, `bound to ${claim.spec?.volumeName ?? ''}`);
  if (claim.status?.phase === 'Lost')
    return steps.problem(id, {
      reason: 'VolumeNotFound',
      message: `PersistentVolume ${claim.spec?.volumeName ?? ''} of the claim was deleted.`,
    });
  const warning = latestWarning(valueOf(facts.claimEvents));
  if (warning !== undefined) return steps.problem(id, { ...warning, since: warning.at });
  if ('unknown' in facts.claimEvents) return steps.unknown(id, `The claim is not bound, and ${facts.claimEvents.unknown}`);
  return steps.wait(id, 'The claim is not bound yet. It is bound once a pod that mounts it is on a node.');
}

/** The Listener whose addresses the volume gets. Its own explanation says more. */
function listenerStep(facts: ClaimFacts, steps: Steps): CheckResult {
  const id = 'claim.listener';
  const volume = valueOf(facts.volume);
  const target = volume === undefined ? undefined : targetOf(volume);
  if ('unknown' in facts.volume) return steps.unknown(id, facts.volume.unknown);
  if (target === undefined) return [];
  return steps.of(id, facts.listeners, (listeners) => {
    const found = listeners.find(({ metadata }) => metadata.name === target.name);
    if (found === undefined) {
      const message = `Listener ${target.namespace}/${target.name} does not exist.`;
      return steps.problem(id, { reason: target.kind === 'named' ? 'ListenerNotFound' : 'ListenerPending', message });
    }
    const ready = conditionOf(found, 'Ready');
    // With node ports a pod gets the address of its node before the Listener has one.
    if (ready?.status !== 'False' || ready.reason === 'NoNodes' || ready.reason === 'PodsNotReady')
      return steps.pass(id, `Listener ${target.name}`);
    // The Listener is the object at fault, so that a check reports its fault once for all pods.
    // The controller says why a Listener is not accepted in the other condition.
    const reported = (ready.reason === 'NotAccepted' ? conditionOf(found, 'Accepted') : undefined) ?? ready;
    const step = { ...steps.problem(id, { ...reported, since: reported.lastTransitionTime }), object: `Listener/${target.name}` };
    return step.state === 'fail' ? { ...step, do: `earshot explain listeners.listeners.stackable.tech ${target.name}` } : step;
  });
}
