/** Explains a Service that waits for its load balancer (pure). */
import type { Condition, Service } from '../../kube/objects.ts';
import { isRecord } from '../../text/is-record.ts';
import type { Step } from '../step.ts';
import type { EventFacts, ListenerFacts } from './exposure-facts.ts';
import { valueOf } from '../connection/site-facts.ts';
import type { Steps } from './steps.ts';

/** Milliseconds after which a pending load balancer is a failure: without a sign of a controller for it, and with one. */
const UNTOUCHED = 5_000;
const TOUCHED = 300_000;

/** Finalizer of Kubernetes' controller of load balancers. */
const CLEANUP = 'service.kubernetes.io/load-balancer-cleanup';

export function loadBalancerStep(facts: ListenerFacts, service: Service, pending: Condition, steps: Steps): Step {
  const { lastTransitionTime: since, message } = pending;
  const id = 'exposure.addresses';
  const code = 'load-balancer-pending';
  const waited = facts.now - Date.parse(since);
  const events = (valueOf(facts.serviceEvents) ?? []).filter(({ reporter }) => !isOwn(reporter));
  const warning = events.findLast(({ type }) => type === 'Warning');
  if (warning !== undefined)
    return steps.fail(id, `${message} ${warning.reporter} reports ${warning.reason}: ${warning.message}`, { code, since });
  const isTouched = events.length > 0 || hasSign(service);
  const { loadBalancerClass } = service.spec ?? {};
  const which = loadBalancerClass === undefined ? 'load balancers' : `the load balancer class ${loadBalancerClass}`;
  const says = isTouched ? message : `${message} Pending for ${durationOf(waited)}, and no controller has touched it.`;
  const advice = isTouched ? EVENTS : `Install a controller for ${which}, or use a ListenerClass of another type.`;
  if (waited < (isTouched ? TOUCHED : UNTOUCHED)) return steps.wait(id, says, { code, since });
  return steps.fail(id, says, { code, since, do: advice });
}

const EVENTS = 'See the events of the Service: kubectl describe service';

const isOwn = (reporter: string): boolean => reporter.startsWith('listeners.stackable.tech') || reporter.startsWith('earshot');

/** Whether another program than Earshot has written to the Service. */
function hasSign({ metadata }: Service): boolean {
  const managers = (metadata.managedFields ?? []).map((entry) => (isRecord(entry) ? entry['manager'] : undefined));
  return (
    metadata.finalizers?.includes(CLEANUP) === true ||
    managers.some((manager) => typeof manager === 'string' && !isOwn(manager) && !manager.startsWith('kubectl'))
  );
}

/** `7 min`, or `12 s`. */
export function durationOf(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}

/** The newest warning, if there is one. */
export function latestWarning(events: readonly EventFacts[] | undefined): EventFacts | undefined {
  return events?.findLast(({ type }) => type === 'Warning');
}
