/** Lists of exposed objects for the console, from facts (pure). Texts of the cluster are bounded and made safe to display. */
import { structural } from '../api/crd.ts';
import type { Listener, ListenerClass, PodListener, PodListeners } from '../api/listeners/index.ts';
import { listenerClassSpec } from '../api/listeners/listener-class.ts';
import { entryOf, mountStatusOf } from '../api/listeners/mount-status.ts';
import { unreadableText } from '../exposure/cluster/readable.ts';
import { pinnedNodesOf, targetOf } from '../exposure/cluster/volumes.ts';
import { valueOf } from '../explain/connection/site-facts.ts';
import { explainListener } from '../explain/exposure/explain-listener.ts';
import { explainPod } from '../explain/exposure/explain-pod.ts';
import type { ClaimFacts, ListenerFacts, NamespaceFacts, PodFacts } from '../explain/exposure/exposure-facts.ts';
import { conditionOf } from '../explain/connection/pod-conditions.ts';
import { commonCauses } from '../explain/report.ts';
import type { Explanation, Step } from '../explain/step.ts';
import { limitTable } from '../limits/table.ts';
import { printable } from '../text/printable.ts';
import { withoutUndefined } from '../text/untrusted-fields.ts';
import {
  exposedKinds,
  type ClassView,
  type ExplainedView,
  type ExposedListenerView,
  type ExposedPodView,
  type ExposureCounts,
  type Missing,
  type MountView,
  type ProblemView,
} from './contract.ts';
import { listSome } from '../text/list-some.ts';

/** Exposed objects of a namespace, at one time. */
export interface ExposureView {
  readonly facts: NamespaceFacts;
  readonly classes: readonly ClassView[];
  readonly listeners: readonly ExposedListenerView[];
  readonly pods: readonly ExposedPodView[];
  readonly problems: readonly ProblemView[];
  readonly partial: readonly Missing[];
}

const MOST_NAME = 253;
const MOST_MESSAGE = 1_024;
/** Addresses of an object in a list. */
const MOST_LISTED = 8;

export function viewExposure(facts: NamespaceFacts): ExposureView {
  const listeners = (valueOf(facts.listeners) ?? []).map((each) => ({ facts: each, explanation: explainListener(each) }));
  const pods = (valueOf(facts.pods) ?? []).map((each) => ({ facts: each, explanation: explainPod(each) }));
  const objects = [...listeners, ...pods].map(({ explanation }) => explanation);
  return {
    facts,
    classes: classViews(facts),
    listeners: listeners.map((each) => listenerView(each.facts, each.explanation)),
    pods: pods.map((each) => podView(each.facts, each.explanation)),
    problems: problemsOf(objects),
    partial: partialOf(facts),
  };
}

/** The view after a failed read: the lists as before, and the reason why they are old. */
export function staleExposure(before: ExposureView | undefined, why: string): ExposureView | undefined {
  const reason = missing(`The lists are old: ${why}.`);
  if (before === undefined || before.partial[0]?.why === reason.why) return before;
  return { ...before, partial: [reason, ...partialOf(before.facts)] };
}

/** Why a list that was known cannot be read now. Its objects may still exist. */
export function lostList(before: ExposureView | undefined, facts: NamespaceFacts): string | undefined {
  if (before === undefined) return undefined;
  for (const list of ['listeners', 'pods'] as const) {
    const source = facts[list];
    if ('unknown' in source && 'value' in before.facts[list]) return source.unknown;
  }
  return undefined;
}

export function countExposure({ listeners, pods }: ExposureView): ExposureCounts {
  return {
    listeners: listeners.length,
    listenersNotReady: listeners.filter(({ ready }) => !ready).length,
    pods: pods.length,
    podsWaiting: pods.filter(({ verdict }) => verdict === 'wait' || verdict === 'fail').length,
  };
}

function classViews({ classes, listeners }: NamespaceFacts): readonly ClassView[] {
  const using = Map.groupBy(valueOf(listeners) ?? [], ({ listener }) => listener.spec.className);
  return (valueOf(classes) ?? []).slice(0, limitTable.exposedObjects.value).map((listenerClass) => {
    const { metadata, spec, unreadable } = listenerClass;
    const { name = '' } = metadata;
    const users = using.get(name) ?? [];
    return {
      name: shownName(name),
      serviceType: shownName(spec.serviceType),
      policy: policyOf(listenerClass),
      listeners: users.length,
      notReady: users.filter(({ listener }) => !isReady(listener)).length,
      message: unreadable === undefined ? '' : printable(unreadableText(`ListenerClass ${name}`, unreadable), MOST_MESSAGE),
    };
  });
}

const classShape = structural(listenerClassSpec).properties ?? {};
/** Fields that are not part of a class's policy, or too long for a list. */
const UNLISTED: ReadonlySet<string> = new Set(['serviceType', 'openshiftRoute']);

/** Fields that differ from the defaults of the schema. Objects are only named. */
function policyOf({ spec }: ListenerClass): readonly string[] {
  const values = new Map<string, unknown>(Object.entries(spec));
  return Object.entries(classShape).flatMap(([name, { default: usual }]) => {
    const value = values.get(name);
    if (UNLISTED.has(name) || value === undefined || value === null || value === usual) return [];
    if (typeof value !== 'object') return [`${name}: ${printable(String(value), MOST_NAME)}`];
    return Object.keys(value).length === 0 ? [] : [name];
  });
}

/** The rule of a class's own explanation. */
function isReady(listener: Listener): boolean {
  return conditionOf(listener, 'Ready')?.status === 'True';
}

export function listenerView({ listener, service, classes, pods }: ListenerFacts, explanation: Explanation): ExposedListenerView {
  const [accepted, ready] = [conditionOf(listener, 'Accepted'), conditionOf(listener, 'Ready')];
  const shown = accepted?.status === 'False' ? accepted : ready;
  const { className } = listener.spec;
  const ingress = listener.status?.ingressAddresses ?? [];
  const listenerClass = valueOf(classes)?.find(({ metadata }) => metadata.name === className);
  const serviceType = valueOf(service)?.spec?.type ?? listenerClass?.spec.serviceType;
  const selected = valueOf(pods) ?? [];
  return {
    ...explainedView(listener.metadata, explanation, shown?.message ?? ''),
    className: shownName(className ?? ''),
    ready: isReady(listener),
    reason: shownName(shown?.reason ?? 'ListenerPending'),
    addresses: ingress.slice(0, MOST_LISTED).map(({ address }) => shownName(address)),
    addressCount: ingress.length,
    ports: portsOf(ingress[0]),
    pods: selected.length,
    podsReady: selected.filter((pod) => conditionOf(pod, 'Ready')?.status === 'True').length,
    ...withoutUndefined({ serviceType: serviceType === undefined ? undefined : shownName(serviceType), since: shown?.lastTransitionTime }),
  };
}

type Ingress = NonNullable<PodListener['ingressAddresses']>[number];

/** `http 80`. The API server may return a map in another order than written. */
export function portsOf(ingress: Ingress | undefined): readonly string[] {
  return Object.entries(ingress?.ports ?? {})
    .slice(0, limitTable.consoleExposedParts.value)
    .map(([name, port]) => `${shownName(name)} ${port}`)
    .toSorted();
}

export function podView(facts: PodFacts, explanation: Explanation): ExposedPodView {
  const { pod, claims } = facts;
  return {
    ...explainedView(pod.metadata, explanation, ''),
    phase: shownName(pod.status?.phase ?? 'Pending'),
    ready: conditionOf(pod, 'Ready')?.status === 'True',
    mounts: claims.slice(0, limitTable.consoleExposedParts.value).map((claim) => mountView(facts, claim, explanation)),
    ...(pod.spec?.nodeName === undefined ? {} : { node: shownName(pod.spec.nodeName) }),
  };
}

export function mountView({ podListeners }: PodFacts, claim: ClaimFacts, { steps }: Explanation): MountView {
  const volume = valueOf(claim.volume);
  const target = volume === undefined ? undefined : targetOf(volume);
  const request = valueOf(podListeners);
  const handle = volume?.spec?.csi?.volumeHandle;
  const { entry, status } = request === undefined || handle === undefined ? NOTHING : answerOf(request, handle);
  const ofClaim = steps.find(({ object, state }) => object === `PersistentVolumeClaim/${claim.name}` && isUnmet(state));
  const waits = status?.message ?? ofClaim?.says;
  const ingress = entry?.ingressAddresses ?? [];
  return {
    claim: shownName(claim.name),
    addresses: ingress.slice(0, MOST_LISTED).map(({ address }) => shownName(address)),
    ports: portsOf(ingress[0]),
    pinnedTo: volume === undefined ? [] : pinnedNodesOf(volume).slice(0, MOST_LISTED).map(shownName),
    ...withoutUndefined({
      volume: volume?.metadata.name === undefined ? undefined : shownName(volume.metadata.name),
      listener: target === undefined ? undefined : shownName(target.name),
      scope: entry?.scope,
      waits: waits === undefined ? undefined : printable(waits, MOST_MESSAGE),
    }),
  };
}

interface Answer {
  readonly entry?: PodListener | undefined;
  readonly status?: ReturnType<typeof mountStatusOf>;
}

const NOTHING: Answer = {};

const answerOf = (request: PodListeners, handle: string): Answer => ({
  entry: entryOf(request, handle),
  status: mountStatusOf(request, handle),
});

const isUnmet = (state: Step['state']): boolean => state === 'fail' || state === 'wait';

/** @param otherwise message if no step needs attention */
function explainedView(
  { name = '', creationTimestamp }: Listener['metadata'],
  { verdict, cause, steps }: Explanation,
  otherwise: string,
): ExplainedView {
  const step = cause ?? steps.find(({ state }) => state === 'warn') ?? steps.find(({ state }) => state === 'unknown');
  return {
    name: shownName(name),
    verdict,
    message: printable(step?.says ?? otherwise, MOST_MESSAGE),
    ...withoutUndefined({ advice: step?.do, created: creationTimestamp }),
  };
}

export const shownName = (text: string): string => printable(text, MOST_NAME);

/** One problem for each cause, however many objects it affects. */
function problemsOf(objects: readonly Explanation[]): readonly ProblemView[] {
  const explained = new Set(objects.map(({ object }) => object));
  return commonCauses({ objects }).map(({ step, affected }) => {
    const { state, says, do: advice, code, since } = step;
    const [one = step.object] = affected;
    const isOwn = explained.has(step.object) || affected.length !== 1;
    const object = isOwn ? step.object : one;
    const others = affected.filter((each) => each !== object);
    return {
      ...namedObject(object),
      severity: state === 'fail' ? 'error' : 'pending',
      status: state === 'fail' ? 'Error' : 'Pending',
      message: `${says}${others.length === 0 ? '' : ` It affects ${listSome(others, MOST_LISTED)}.`}`,
      ...withoutUndefined({ advice, code, since }),
    };
  });
}

/** Listeners of both halves can have the same name, so these have their API group. */
function namedObject(object: string): Pick<ProblemView, 'object' | 'kind' | 'name'> {
  const slash = object.indexOf('/');
  const [found, name] = [object.slice(0, slash), shownName(object.slice(slash + 1))];
  const kind = found === 'Listener' ? exposedKinds.listeners : found;
  return { object: `${kind}/${name}`, kind, name };
}

/** Each reason why a fact is unknown, once. */
function partialOf(facts: NamespaceFacts): readonly Missing[] {
  const all: readonly object[] = [
    facts,
    ...(valueOf(facts.listeners) ?? []),
    ...(valueOf(facts.pods) ?? []).flatMap((pod) => [pod, ...pod.claims]),
  ];
  const reasons = all.flatMap((each) => Object.values(each).flatMap(unknownOf));
  return [...new Set([...reasons, ...facts.omitted])].slice(0, MOST_REASONS).map((why) => missing(`Not everything is shown: ${why}.`));
}

const MOST_REASONS = 20;

/** No router was asked. */
const missing = (sentence: string): Missing => ({ router: '', why: printable(sentence, MOST_MESSAGE) });

function unknownOf(source: unknown): readonly string[] {
  const isUnknown = typeof source === 'object' && source !== null && 'unknown' in source;
  return isUnknown && typeof source.unknown === 'string' ? [source.unknown] : [];
}
