/** Explains a Listener of listeners.stackable.tech: from the controller to the addresses and the pods behind them (pure). */
import { nodeAddresses, preferenceOf, preferredKind } from '../../exposure/listeners/addresses.ts';
import { familiesOf, reachableText } from '../../exposure/listeners/listener-status.ts';
import { planService } from '../../exposure/listeners/service-plan.ts';
import { obstacleOf } from '../../exposure/listeners/standing-service.ts';
import { keyOf } from '../../kube/key.ts';
import type { Condition, Node, Pod, Service } from '../../kube/objects.ts';
import { explainChain, type Check, type CheckResult } from '../chain.ts';
import type { Explanation, Step } from '../step.ts';
import type { ListenerFacts, ProbeResult } from './exposure-facts.ts';
import { loadBalancerStep } from './load-balancer-step.ts';
import { areStarting, conditionOf, hasMounted, unreadyText } from '../connection/pod-conditions.ts';
import { valueOf } from '../connection/site-facts.ts';
import { ownsPod, refusedStep } from './refused-workload.ts';
import { Steps } from './steps.ts';

export function explainListener(facts: ListenerFacts): Explanation {
  const { listener } = facts;
  const object = `Listener/${listener.metadata.name}`;
  return explainChain(object, listenerChecks(facts, new Steps(object)), new Date(facts.now));
}

function listenerChecks(facts: ListenerFacts, steps: Steps): readonly Check[] {
  const isCurrent = isProcessed(facts);
  return [
    steps.controller(facts, isCurrent),
    steps.check('exposure.processed', () =>
      isCurrent
        ? steps.pass('exposure.processed', 'this generation')
        : steps.wait('exposure.processed', 'The controller has not processed the last change yet.', { code: 'listener-pending' }),
    ),
    steps.check('exposure.class', () => classStep(facts, steps)),
    steps.check('exposure.service', () => serviceStep(facts, steps)),
    steps.check('exposure.pods', () => podsStep(facts, steps)),
    steps.check('exposure.endpoints', () => endpointsStep(facts, steps)),
    steps.check('exposure.addresses', () => addressesStep(facts, steps)),
    steps.check('exposure.local-traffic', () => localTrafficStep(facts, steps)),
    ...(facts.probes === undefined ? [] : [steps.check('exposure.probe', () => probeStep(facts.probes ?? [], steps))]),
  ];
}

function isProcessed({ listener: { metadata, status } }: ListenerFacts): boolean {
  return status?.observedGeneration !== undefined && status.observedGeneration === metadata.generation;
}

/** The condition, if it is about the present generation. */
function currentCondition(facts: ListenerFacts, type: string): Condition | undefined {
  return isProcessed(facts) ? conditionOf(facts.listener, type) : undefined;
}

/** The rule of the controller itself, if the classes can be read; else what it wrote into the status. */
function classStep(facts: ListenerFacts, steps: Steps): Step {
  const id = 'exposure.class';
  const { listener, classes } = facts;
  const { className } = listener.spec;
  if ('value' in classes) {
    const names = classes.value.map(({ metadata }) => metadata.name ?? '');
    const found = classes.value.find(({ metadata }) => metadata.name === className);
    const { refused } = planService(listener, found, names);
    if (refused !== undefined) return steps.problemOfClass(id, refused, className ?? '');
  }
  const accepted = currentCondition(facts, 'Accepted');
  if (accepted?.status === 'False' && accepted.reason !== 'ServiceRejected')
    return steps.problemOfClass(id, { ...accepted, since: accepted.lastTransitionTime }, className ?? '');
  if (accepted === undefined && 'unknown' in classes) return steps.unknown(id, classes.unknown);
  if (accepted?.reason === 'AcceptedWithNotes') return steps.warn(id, accepted.message);
  return steps.pass(id, `${className ?? ''} accepted`);
}

function serviceStep(facts: ListenerFacts, steps: Steps): CheckResult {
  const id = 'exposure.service';
  const accepted = currentCondition(facts, 'Accepted');
  if (accepted?.status === 'False') return steps.problem(id, { ...accepted, since: accepted.lastTransitionTime });
  return steps.of(id, facts.service, (service) => {
    if (service === undefined) return steps.wait(id, 'The Service is not there yet.', { code: 'no-service' });
    const obstacle = obstacleOf(service, facts.listener);
    if (obstacle !== undefined) return steps.problem(id, obstacle);
    return steps.pass(id, `${service.spec?.type ?? 'ClusterIP'}, owned by this Listener`);
  });
}

/** A Listener without pods can have an address, and clients reach nothing there. */
function podsStep(facts: ListenerFacts, steps: Steps): CheckResult {
  const id = 'exposure.pods';
  return steps.of(id, facts.pods, (pods) => {
    const refused = refusedSteps(facts, pods, steps);
    if (pods.length > 0) return [steps.pass(id, `${pods.length} selected`), ...refused];
    if (refused.some(({ state }) => state === 'fail')) return refused;
    const ready = currentCondition(facts, 'Ready');
    if (ready?.reason === 'NoNodes') return steps.problem(id, { ...ready, since: ready.lastTransitionTime });
    return steps.warn(id, 'No pod mounts this Listener yet, so clients get no answer at its addresses.', 'Start a pod that mounts it.');
  });
}

/** Workloads of the Listener that cannot create their next pod. Pods that exist still serve. */
function refusedSteps({ listener, workloads = { value: [] } }: ListenerFacts, pods: readonly Pod[], steps: Steps): readonly Step[] {
  const id = 'exposure.workloads';
  if ('unknown' in workloads) return [steps.unknown(id, workloads.unknown)];
  const own = workloads.value.filter(
    (workload) => workload.listeners.includes(listener.metadata.name ?? '') || pods.some((pod) => ownsPod(workload, pod)),
  );
  return own.map((workload) => refusedStep(id, pods.length === 0 ? 'fail' : 'warn', workload));
}

function endpointsStep(facts: ListenerFacts, steps: Steps): CheckResult {
  const id = 'exposure.endpoints';
  const pods = valueOf(facts.pods);
  const slices = valueOf(facts.endpoints);
  if (pods === undefined && slices === undefined && 'unknown' in facts.endpoints) return steps.unknown(id, facts.endpoints.unknown);
  const endpoints = (slices ?? []).flatMap((slice) => slice.endpoints ?? []);
  const served = endpoints.filter(({ conditions }) => conditions?.ready !== false);
  if (pods === undefined) {
    if (served.length > 0) return steps.pass(id, `${served.length} ready`);
    return steps.fail(id, `${endpoints.length} endpoints, none ready.`, { code: 'pods-not-ready' });
  }
  if (pods.length === 0) return [];
  const unready = pods.filter((pod) => conditionOf(pod, 'Ready')?.status !== 'True');
  const ready = pods.length - unready.length;
  if (ready > 0 && slices !== undefined && served.length === 0)
    return steps.wait(id, `${ready} of ${pods.length} pods ready, and Kubernetes has not added them to the Service yet.`);
  if (unready.length === 0) return steps.pass(id, `${ready} of ${pods.length} pods ready`);
  const says = `${pods.length} ${pods.length === 1 ? 'pod' : 'pods'}, ${ready} ready: ${unreadyText(unready)}`;
  if (ready > 0) return steps.warn(id, says);
  if (waitForAddress(unready, facts)) return [];
  return areStarting(unready, facts.now)
    ? steps.wait(id, says, { code: 'pods-not-ready' })
    : steps.fail(id, says, { code: 'pods-not-ready', do: 'See `kubectl describe pod`: events, readiness probes and logs.' });
}

/** Pods on a node start only when the Listener has an address: the step of addresses has the cause. */
function waitForAddress(pods: readonly Pod[], facts: ListenerFacts): boolean {
  const ready = currentCondition(facts, 'Ready');
  const lacksAddress = ready?.status === 'False' && ready.reason !== 'PodsNotReady';
  return lacksAddress && pods.every((pod) => pod.spec?.nodeName !== undefined && !hasMounted(pod));
}

function addressesStep(facts: ListenerFacts, steps: Steps): CheckResult {
  const id = 'exposure.addresses';
  const service = valueOf(facts.service);
  const ready = currentCondition(facts, 'Ready');
  const nodes = service?.spec?.type === 'NodePort' ? nodeSteps(facts, service, steps) : [];
  if (ready?.status === 'False') {
    if (ready.reason === 'LoadBalancerPending' && service !== undefined) return loadBalancerStep(facts, service, ready, steps);
    return [...nodes, steps.problem(id, { ...ready, since: ready.lastTransitionTime })];
  }
  if (ready === undefined) return nodes;
  const says = reachableText(facts.listener.status ?? {});
  return [...nodes, ready.reason === 'SomeNodesMissing' ? steps.warn(id, ready.message) : steps.pass(id, says)];
}

/** Node ports respond at nodes that are Ready and have an address of the Service's families. */
function nodeSteps(facts: ListenerFacts, service: Service, steps: Steps): readonly Step[] {
  const id = 'exposure.nodes';
  if (facts.nodes === undefined) return [];
  if ('unknown' in facts.nodes) return [steps.unknown(id, facts.nodes.unknown)];
  const listenerClass = valueOf(facts.classes)?.find(({ metadata }) => metadata.name === facts.listener.spec.className);
  const preferred = preferredKind(preferenceOf(facts.listener, listenerClass), 'NodePort');
  const nodes = facts.nodes.value;
  const faults = nodes.flatMap((node) => nodeFault(node, nodeAddresses(node, preferred, familiesOf(service)).length) ?? []);
  if (faults.length === 0) return [];
  return faults.length < nodes.length ? [steps.warn(id, faults.join(' '))] : [steps.fail(id, faults.join(' '), { code: 'node-missing' })];
}

function nodeFault(node: Node, addresses: number): string | undefined {
  const { name } = node.metadata;
  const ready = conditionOf(node, 'Ready');
  if (ready !== undefined && ready.status !== 'True') return `Node ${name} is not Ready: ${ready.message ?? ''}`;
  return addresses === 0 ? `Node ${name} lists no address of the Service's families.` : undefined;
}

/** With the policy Local, a node without a ready pod drops what arrives at its node port. */
function localTrafficStep(facts: ListenerFacts, steps: Steps): readonly Step[] {
  const service = valueOf(facts.service);
  const slices = valueOf(facts.endpoints);
  const nodes = facts.nodes && valueOf(facts.nodes);
  if (service?.spec?.externalTrafficPolicy !== 'Local' || service.spec.type !== 'NodePort') return [];
  if (slices === undefined || nodes === undefined) return [];
  const ready = new Set(
    slices.flatMap((slice) =>
      (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false).map(({ nodeName }) => nodeName),
    ),
  );
  const announced = new Set((facts.listener.status?.ingressAddresses ?? []).map(({ address }) => address));
  const idle = nodes.filter(
    (node) => !ready.has(node.metadata.name) && (node.status?.addresses ?? []).some(({ address }) => announced.has(address)),
  );
  const id = 'exposure.local-traffic';
  if (idle.length === 0) return [steps.pass(id, 'each announced node has a ready pod')];
  const names = idle.map(({ metadata }) => metadata.name).join(', ');
  return [
    steps.warn(
      id,
      `Node ${names} is announced without a ready pod, and externalTrafficPolicy Local drops what arrives there.`,
      'Start a pod there, or use a class with serviceExternalTrafficPolicy: Cluster.',
    ),
  ];
}

function probeStep(probes: readonly ProbeResult[], steps: Steps): readonly Step[] {
  const id = 'exposure.probe';
  if (probes.length === 0) return [steps.unknown(id, 'no address to connect to')];
  return probes.map(({ address, port, result, milliseconds }) => {
    const at = `${address}, port ${port}`;
    const ms = Math.round(milliseconds);
    if (result === 'open') return { ...steps.pass(id, `${at} accepts connections`), ms };
    const elsewhere = 'Clients elsewhere may see another result.';
    if (result === 'refused')
      return { ...steps.fail(id, `${at} refuses connections: nothing is listening. ${elsewhere}`, { code: 'refused', do: LISTEN }), ms };
    if (result === 'silent')
      return {
        ...steps.fail(id, `${at} does not answer. ${elsewhere}`, { code: 'timeout', do: 'Check firewalls between here and that address.' }),
        ms,
      };
    return { ...steps.fail(id, `${at} is unreachable from here. ${elsewhere}`, { code: 'unreachable' }), ms };
  });
}

const LISTEN = "Check that a container listens on the Listener's port, at all addresses and not only at 127.0.0.1.";

/** What a head line says about the Listener besides its name. */
export function listenerTitle({ listener }: ListenerFacts): string {
  return `class ${listener.spec.className ?? '(none)'}, ${keyOf(listener)}`;
}
