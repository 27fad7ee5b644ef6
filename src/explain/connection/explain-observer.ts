/** Explains a NetworkObserver, in the order in which its console is created and starts (pure). */
import type { NetworkObserver } from '../../api/skupper/network-observer.ts';
import { codeOfReason } from '../../errors/condition-reason.ts';
import { isConditionCode } from '../../errors/problem.ts';
import type { KubeObject, Pod, Service } from '../../kube/objects.ts';
import { PASSWORD_KEY } from '../../site-controller/observer/observer-names.ts';
import { isOfHelmOperator, readObserverSpec, type ObserverSpec } from '../../site-controller/observer/observer-spec.ts';
import { printable } from '../../text/printable.ts';
import { explainChain } from '../chain.ts';
import type { Explanation, Step } from '../step.ts';
import { CLUSTER_CODES } from './code-groups.ts';
import { processStep, siteStep } from './head.ts';
import { adviceOn, type ObjectProblem } from './object-problem.ts';
import { areStarting, conditionOf, unreadyText } from './pod-conditions.ts';
import { rungChecks, type Rung } from './rungs.ts';
import { valueOf, type SiteFacts, type Source } from './site-facts.ts';

export interface ObserverFacts {
  readonly observer: NetworkObserver;
  /** Numbers of users and of lines without effect in the Secret with passwords. Undefined if the Secret does not exist. */
  readonly users: Source<UserCounts | undefined>;
  /** Secret with the certificate; undefined if it does not exist. */
  readonly tls: Source<KubeObject | undefined>;
  /** Pods of the console. */
  readonly pods: Source<readonly Pod[]>;
  readonly service: Source<Service | undefined>;
}

export interface UserCounts {
  readonly users: number;
  /** Lines whose scheme is not supported. */
  readonly unsupported: number;
}

export function explainObserver(site: SiteFacts, facts: ObserverFacts): Explanation {
  const { observer } = facts;
  const object = `NetworkObserver/${observer.metadata.name ?? ''}`;
  const spec = readObserverSpec(observer);
  return explainChain(object, rungChecks(object, observerRungs(site, facts, spec), problemOf(observer)), new Date(site.now));
}

function observerRungs(site: SiteFacts, facts: ObserverFacts, spec: ObserverSpec): readonly Rung[] {
  const read: readonly Rung[] = [
    { id: 'network-observer.process', codes: [], passes: 'runs', refine: (step) => processStep(step, site) },
    {
      id: 'network-observer.spec',
      codes: ['bad-argument', 'too-many', 'name-taken'],
      passes: 'read',
      refine: (step) => specStep(step, facts),
    },
  ];
  // The operator creates other objects.
  if (isOfHelmOperator(facts.observer)) return read;
  return [
    ...read,
    { id: 'network-observer.site', codes: ['no-site'], passes: 'exists', refine: (step) => siteStep(step, site) },
    { id: 'network-observer.users', codes: ['secret-awaited'], passes: 'exist', refine: (step) => usersStep(step, facts, spec) },
    { id: 'network-observer.certificate', codes: [], passes: 'exists', refine: (step) => certificateStep(step, facts, spec) },
    { id: 'network-observer.objects', codes: CLUSTER_CODES, condition: 'Deployed', passes: 'created' },
    { id: 'network-observer.pod', codes: ['processing'], passes: 'ready', refine: (step) => podStep(step, facts, site, spec) },
    { id: 'network-observer.service', codes: [], passes: 'exists', refine: (step) => serviceStep(step, facts, spec) },
    { id: 'network-observer.fields', codes: [], passes: 'all have an effect', refine: (step) => fieldsStep(step, facts) },
  ];
}

/** The problem of the condition `Deployed`; undefined if the console answers or the status is not written yet. */
function problemOf(observer: NetworkObserver): ObjectProblem | undefined {
  const deployed = conditionOf(observer, 'Deployed');
  if (deployed === undefined || deployed.status === 'True') return undefined;
  const code = codeOfReason(deployed.reason);
  return {
    condition: 'Deployed',
    message: printable(deployed.message),
    since: deployed.lastTransitionTime,
    ...(code !== undefined && isConditionCode(code) ? { code } : {}),
  };
}

function specStep(step: Step, { observer }: ObserverFacts): Step {
  const { id, object } = step;
  if (isOfHelmOperator(observer)) {
    const says = `an operator of Helm manages it: its finalizers are ${(observer.metadata.finalizers ?? []).join(', ')}`;
    return { id, object, state: 'unknown', says: printable(says) };
  }
  const { conditions = [] } = observer.status ?? {};
  const isCurrent = conditions.some(({ observedGeneration }) => observedGeneration === observer.metadata.generation);
  return step.state === 'pass' && !isCurrent
    ? { id, object, ...adviceOn('processing'), says: 'the controller of sites has not processed it yet' }
    : step;
}

function usersStep(step: Step, { users }: ObserverFacts, { users: { secret, isCreated } }: ObserverSpec): Step {
  if ('unknown' in users) return step;
  const { id, object } = step;
  const found = users.value;
  if (found === undefined) {
    const says = `the Secret ${secret} does not exist`;
    if (isCreated) return step.state === 'pass' ? { id, object, ...adviceOn('secret-awaited'), says: `${says} yet` } : step;
    // The status says so too, and since when, once the controller has seen it.
    const reported = step.code === undefined ? { id, object, says } : step;
    return { ...reported, state: 'fail', do: `Create the Secret ${secret} with users, or set auth.basic.create to true.` };
  }
  const without = `lines without effect: ${found.unsupported}, since passwords have the scheme {PLAIN}, {SHA} or {SSHA}`;
  const suffix = found.unsupported === 0 ? '' : `; ${without}`;
  if (found.users > 0) return { id, object, state: suffix === '' ? 'pass' : 'warn', says: `${found.users} in Secret ${secret}${suffix}` };
  return {
    id,
    object,
    state: 'fail',
    says: `the Secret ${secret} has no user who can sign in${suffix}`,
    do: `Write lines USER:{PLAIN}PASSWORD into its key ${PASSWORD_KEY}.`,
  };
}

function certificateStep(step: Step, { tls }: ObserverFacts, { tls: { secret, issuer } }: ObserverSpec): Step {
  const { id, object } = step;
  if ('unknown' in tls) return { id, object, state: 'unknown', says: tls.unknown };
  if (tls.value !== undefined) return { ...step, says: `Secret ${secret}` };
  if (issuer !== 'user') return { id, object, ...adviceOn('secret-awaited'), says: `the Secret ${secret} does not exist yet` };
  return {
    id,
    object,
    state: 'fail',
    says: `the Secret ${secret} does not exist`,
    do: 'Create it with tls.crt and tls.key, or set tls.skupperIssued to true and remove tls.secretName.',
  };
}

function podStep(step: Step, { pods }: ObserverFacts, { now }: SiteFacts, { name }: ObserverSpec): Step {
  if (step.state === 'pass') return step;
  const unready = (valueOf(pods) ?? []).filter((pod) => conditionOf(pod, 'Ready')?.status !== 'True');
  if (unready.length === 0) return step;
  const { id, object } = step;
  const says = printable(unreadyText(unready));
  if (areStarting(unready, now)) return { id, object, ...adviceOn('processing'), says };
  return { id, object, state: 'fail', says, do: `See \`kubectl describe pod\` and \`kubectl logs deployment/${name}\`.` };
}

function serviceStep(step: Step, { service }: ObserverFacts, { name, service: { port } }: ObserverSpec): Step {
  const { id, object } = step;
  if ('unknown' in service) return { id, object, state: 'unknown', says: service.unknown };
  if (service.value !== undefined) return { ...step, says: `https://${name}:${port}` };
  return { id, object, ...adviceOn('processing'), says: `the Service ${name} does not exist yet` };
}

/** Fields without effect are a warning: the console works without them. */
function fieldsStep(step: Step, { observer }: ObserverFacts): Step {
  const supported = conditionOf(observer, 'SpecSupported');
  if (supported?.status !== 'False') return step;
  return { id: step.id, object: step.object, state: 'warn', says: printable(supported.message) };
}
