/** Workloads whose next pod the API server refuses, as a quota or a policy does (pure). */
import type { Pod } from '../../kube/objects.ts';
import { printable } from '../../text/printable.ts';
import type { Step } from '../step.ts';

export interface RefusedWorkload {
  readonly kind: 'StatefulSet' | 'Deployment';
  readonly name: string;
  /** Words of the API server. */
  readonly message: string;
  /** RFC 3339. */
  readonly since: string;
  /** Names of Listeners that its claim templates name. */
  readonly listeners: readonly string[];
}

const MOST_NAME = 253;
const MOST_CHARACTERS = 1_024;
const ADVICE = 'Raise the quota, or comply with the policy or webhook, that the message names.';

/** The workload is the object at fault, so that a check reports it once for all its Listeners. */
export function refusedStep(id: string, state: 'fail' | 'warn', { kind, name, message, since }: RefusedWorkload): Step {
  const shown = printable(name, MOST_NAME);
  const says = printable(`${kind} ${shown} cannot create its next pod: ${message}`, MOST_CHARACTERS);
  return { id, state, object: `${kind}/${shown}`, says, do: ADVICE, code: 'FailedCreate', since };
}

/** Whether the workload created the pod, or its ReplicaSet did. */
export function ownsPod({ kind, name }: RefusedWorkload, { metadata: { ownerReferences = [], labels = {} } }: Pod): boolean {
  const owner = ownerReferences.find(({ controller }) => controller === true);
  if (kind === 'StatefulSet') return owner?.kind === kind && owner.name === name;
  return owner?.kind === 'ReplicaSet' && owner.name === `${name}-${labels['pod-template-hash'] ?? ''}`;
}
