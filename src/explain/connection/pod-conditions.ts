/** Reads conditions of pods, nodes and Listeners for explanations (pure). */
import type { KubeObject, Pod } from '../../kube/objects.ts';

interface SomeCondition {
  readonly type: string;
  readonly status: string;
  readonly message?: string;
}

interface WithConditions<C extends SomeCondition> extends KubeObject {
  readonly status?: { readonly conditions?: readonly C[] } | null;
}

export function conditionOf<C extends SomeCondition>(object: WithConditions<C>, type: string): C | undefined {
  return object.status?.conditions?.find((condition) => condition.type === type);
}

/** Whether the kubelet has mounted all volumes of the pod: it creates the pod's sandbox only then. */
export function hasMounted(pod: Pod): boolean {
  return pod.status?.phase !== 'Pending' || conditionOf(pod, 'PodReadyToStartContainers')?.status === 'True';
}

/** Maximum number of pods in a message. */
const MOST_PODS = 3;

/** Why pods are not ready: `web-0: CrashLoopBackOff, …; web-1: …`. */
export function unreadyText(pods: readonly Pod[]): string {
  const shown = pods.slice(0, MOST_PODS).map((pod) => `${pod.metadata.name}: ${causeOf(pod)}`);
  const left = pods.length - shown.length;
  return `${shown.join('; ')}${left > 0 ? ` and ${left} more` : ''}`;
}

/** The most direct cause: a container that waits, the scheduler, or the condition Ready. */
function causeOf(pod: Pod): string {
  const waiting = (pod.status?.containerStatuses ?? []).find(({ state }) => state?.waiting !== undefined);
  const { reason, message } = waiting?.state?.waiting ?? {};
  if (reason !== undefined && reason !== 'ContainerCreating' && reason !== 'PodInitializing')
    return message === undefined ? reason : `${reason}, ${message}`;
  const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => conditionOf(pod, type));
  const unmet = conditions.find((condition) => condition !== undefined && condition.status !== 'True');
  return unmet?.message ?? `phase ${pod.status?.phase ?? 'Pending'}`;
}

/** Whether all pods may still become ready: none has failed or has existed longer than pods usually need. */
export function areStarting(pods: readonly Pod[], now: number): boolean {
  return pods.every(({ metadata, status }) => {
    const hasFailed = (status?.containerStatuses ?? []).some(({ lastState }) => lastState?.terminated !== undefined);
    return !hasFailed && now - Date.parse(metadata.creationTimestamp ?? '') < USUAL_START;
  });
}

/** Milliseconds that a pod usually needs at most to become ready. */
const USUAL_START = 20_000;
