import { EarshotError } from '../../../errors/earshot-error.ts';
import type { KubeClient } from '../../../kube/contract.ts';
import type { KubeObject, StringMap } from '../../../kube/objects.ts';
import { deployments, resource, services, type Resource } from '../../../kube/resource.ts';
import { isRecord } from '../../../text/is-record.ts';
import { printable, quoted } from '../../../text/printable.ts';

const daemonSets = resource('apps/v1', 'DaemonSet', 'daemonsets');
const statefulSets = resource('apps/v1', 'StatefulSet', 'statefulsets');
const replicaSets = resource('apps/v1', 'ReplicaSet', 'replicasets');

/** Workload kinds by the names that kubectl accepts. */
const WORKLOADS: readonly (readonly [words: readonly string[], of: Resource])[] = [
  [['deployment', 'deployments', 'deploy'], deployments],
  [['statefulset', 'statefulsets', 'sts'], statefulSets],
  [['daemonset', 'daemonsets', 'ds'], daemonSets],
  [['replicaset', 'replicasets', 'rs'], replicaSets],
  [['service', 'services', 'svc'], services],
];

/** @param workload for example `deployment/backend` @throws EarshotError */
export async function selectorOf(client: KubeClient, namespace: string, workload: string): Promise<string> {
  const [word = '', name = '', ...more] = workload.split('/');
  const of = WORKLOADS.find(([words]) => words.includes(word.toLowerCase()))?.[1];
  if (of === undefined || name === '' || more.length > 0) {
    const kinds = WORKLOADS.map(([[kind = '']]) => kind).join(', ');
    throw new EarshotError('usage', `${quoted(workload)} is not a workload: give one such as deployment/backend; kinds are ${kinds}.`);
  }
  const found = await client.find(of, { namespace, name });
  if (found === undefined)
    throw new EarshotError('not-found', `${of.kind} "${printable(name)}" does not exist in the namespace ${namespace}.`);
  const text = selectorText(found);
  if (text === '') throw new EarshotError('failed', `${of.kind} "${printable(name)}" selects no pods: give their labels with --selector.`);
  return text;
}

/** The selector of a Service is a map. Other selectors have labels and expressions. */
function selectorText(object: KubeObject): string {
  const spec = recordAt(object, 'spec');
  const selector = recordAt(spec, 'selector');
  const isMap = !('matchLabels' in selector) && !('matchExpressions' in selector);
  const labels = Object.entries((isMap ? selector : recordAt(selector, 'matchLabels')) as StringMap).map(
    ([name, value]) => `${name}=${value}`,
  );
  const expressions = 'matchExpressions' in selector && Array.isArray(selector['matchExpressions']) ? selector['matchExpressions'] : [];
  return [...labels, ...expressions.filter(isRecord).map(expressionText)].join(',');
}

function expressionText({ key, operator, values }: Readonly<Record<string, unknown>>): string {
  const list = Array.isArray(values) ? `(${values.join(',')})` : '()';
  if (operator === 'Exists') return String(key);
  if (operator === 'DoesNotExist') return `!${String(key)}`;
  return `${String(key)} ${operator === 'NotIn' ? 'notin' : 'in'} ${list}`;
}

function recordAt(value: object, field: string): Readonly<Record<string, unknown>> {
  const found: unknown = new Map<string, unknown>(Object.entries(value)).get(field);
  return isRecord(found) ? found : {};
}
