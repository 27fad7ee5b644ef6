import { column, customResourceDefinition, type CustomResourceDefinition, type Definition } from '../crd.ts';
import { listenerClasses, listeners, podListeners } from './index.ts';
import { listenerClassSpec } from './listener-class.ts';
import { listenerSpec, listenerStatus } from './listener.ts';
import { podListenersSpec, podListenersStatus } from './pod-listeners.ts';

/** Builds the definitions that the controller applies from the schemas. deploy/crds/ holds the same as YAML. */
export function customResourceDefinitions(): CustomResourceDefinition[] {
  return definitions.map(customResourceDefinition);
}

/**
 * Keeps the definitions when a Helm release that installed them is removed: deleting a definition deletes every object of its
 * kind.
 */
const annotations = { 'helm.sh/resource-policy': 'keep' };
const categories = ['earshot'];
const READY = '.status.conditions[?(@.type=="Ready")]';
const age = column('Age', '.metadata.creationTimestamp', 'Time since it was created.', 'date');

const definitions: readonly Definition[] = [
  {
    resource: listenerClasses,
    singular: 'listenerclass',
    shortNames: ['lsnc'],
    categories,
    annotations,
    description: 'A policy that says how pods are exposed. Listeners name it; one Listener then works on every cluster that has the class.',
    spec: listenerClassSpec,
    columns: [
      column('Type', '.spec.serviceType', 'Type of the Services.'),
      column('Pinned', '.spec.pinnedNodePorts', 'Whether a volume keeps its pod on its node.', 'boolean'),
      column('Addresses', '.spec.preferredAddressType', 'Preferred kind of address.'),
      { ...column('Traffic', '.spec.serviceExternalTrafficPolicy', 'External traffic policy.'), priority: 1 },
      { ...column('NodeLoss', '.spec.nodeLossPolicy', 'Policy for the addresses of a deleted node.'), priority: 1 },
      age,
    ],
  },
  {
    resource: listeners,
    singular: 'listener',
    shortNames: ['lsn'],
    categories,
    annotations,
    description:
      'A set of pods to expose: those that mount a volume which names this Listener. The addresses at which clients reach ' +
      'them are written to its status and into the volume.',
    spec: listenerSpec,
    status: { schema: listenerStatus, nullable: true },
    columns: [
      column('Class', '.spec.className', 'The policy.'),
      column('Address', '.status.ingressAddresses[0].address', 'The preferred address.'),
      column('Ready', `${READY}.status`, 'Whether it has an address.'),
      column('Reason', `${READY}.reason`, 'Why, or why not.'),
      { ...column('Message', `${READY}.message`, 'Explanation and advice.'), priority: 1 },
      age,
    ],
  },
  {
    resource: podListeners,
    singular: 'podlisteners',
    shortNames: ['plsn'],
    categories,
    annotations,
    description:
      'The Listeners that one pod mounts, and the addresses that reach this pod. Written by the system, named `pod-` and ' +
      'the uid of the pod, and deleted with it. Others may read it; what they write is overwritten.',
    spec: podListenersSpec,
    status: { schema: podListenersStatus, nullable: false },
    columns: [
      column('Pod', '.metadata.ownerReferences[0].name', 'The pod.'),
      column('Node', '.spec.nodeName', 'The node on which the pod runs.'),
      column('Address', '.spec.listeners.*.ingressAddresses[0].address', 'An address that reaches the pod.'),
      age,
    ],
    selectableFields: ['.spec.nodeName'],
  },
];
