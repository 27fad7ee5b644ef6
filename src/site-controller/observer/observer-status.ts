/** Statuses of NetworkObservers, with the conditions of Skupper's operator (pure). */
import { mergeConditions, type ConditionNow } from '../../api/condition.ts';
import type { NetworkObserverStatus } from '../../api/skupper/network-observer.ts';
import { conditionReason } from '../../errors/condition-reason.ts';
import { deployments, secrets } from '../../kube/resource.ts';
import { problemText, type ResourceProblem } from '../../site/problem.ts';
import { keyOf, type ResourceKey } from '../../site/resources.ts';
import { printable } from '../../text/printable.ts';
import type { NamespaceView } from '../namespace-view.ts';
import { ignoredText } from './observer-problems.ts';
import { readObserverSpec, type ObserverSpec } from './observer-spec.ts';
import type { ListedObserver } from './observers.ts';

type Finding = Pick<ConditionNow, 'status' | 'reason' | 'message'>;

/** Reasons of conditions that are True. Scripts wait for the first two, which Skupper's operator writes. */
const reasons = { initialized: 'Initialized', deployed: 'InstallSuccessful', supported: 'Supported' } as const;

/** @param problems those of all resources @param now RFC 3339 time, to the second */
export function observerStatus(
  view: NamespaceView,
  observer: ListedObserver,
  problems: readonly ResourceProblem[],
  now: string,
): NetworkObserverStatus {
  const spec = readObserverSpec(observer);
  const key: ResourceKey = keyOf(observer);
  const own = problems.filter(({ resource }) => resource === key);
  const initialized = { status: 'True', reason: reasons.initialized, message: 'The object is reconciled.' } as const;
  const findings = { Initialized: initialized, Deployed: deployedOf(view, spec, own), SpecSupported: supportedOf(spec) };
  const next = Object.entries(findings).map(([type, finding]): ConditionNow => ({ type, ...finding }));
  const { generation } = observer.metadata;
  return {
    conditions: mergeConditions(observer.status?.conditions ?? [], next, { now, generation }),
    ...(view.find(deployments, spec.name) === undefined ? {} : { deployedRelease: { name: spec.name } }),
  };
}

function deployedOf(view: NamespaceView, spec: ObserverSpec, problems: readonly ResourceProblem[]): Finding {
  const error = problems.find(({ severity }) => severity === 'error');
  if (error !== undefined) return { status: 'False', reason: conditionReason(error.code), message: problems.map(problemText).join(' ') };
  if (view.site === undefined)
    return { status: 'False', reason: conditionReason('no-site'), message: 'This namespace has no Site. Create one.' };
  if (view.find(secrets, spec.users.secret) === undefined) {
    const message = `The Secret ${spec.users.secret} with users and passwords does not exist. Create it, or set auth.basic.create to true.`;
    return { status: 'False', reason: conditionReason('secret-awaited'), message };
  }
  const { availableReplicas = 0, conditions = [] } = view.find(deployments, spec.name)?.status ?? {};
  const refusal = conditions.find(({ type, status }) => type === 'ReplicaFailure' && status === 'True')?.message;
  if (refusal !== undefined)
    return {
      status: 'False',
      reason: conditionReason('object-refused'),
      message: `The pod of the console cannot be created: ${printable(refusal, 700)}`,
    };
  if (availableReplicas === 0) {
    const message = `The pod of the console is not ready. Until then, \`kubectl describe pod\` and \`kubectl logs deployment/${spec.name}\` show why.`;
    return { status: 'False', reason: conditionReason('processing'), message };
  }
  const address = `https://${spec.name}.${view.namespace}.svc:${spec.service.port}`;
  const warnings = problems.map(problemText).join(' ');
  return {
    status: 'True',
    reason: reasons.deployed,
    message: `The console answers at ${address}. The Secret ${spec.users.secret} has its users and passwords. ${warnings}`.trim(),
  };
}

function supportedOf({ ignored }: ObserverSpec): Finding {
  const message = ignoredText(ignored);
  if (message === undefined) return { status: 'True', reason: reasons.supported, message: 'Every field of the spec has an effect.' };
  return { status: 'False', reason: conditionReason('not-on-platform'), message };
}
