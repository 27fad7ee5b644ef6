import { customResourceDefinition, type CustomResourceDefinition, type Definition } from '../crd.ts';
import { listenerClasses, listeners, podListeners } from './index.ts';
import { listenerClassSpec } from './listener-class.ts';
import { listenerSpec, listenerStatus } from './listener.ts';
import { podListenersSpec, podListenersStatus } from './pod-listeners.ts';

/** The definitions that the controller applies, built from the schemas; deploy/crds/ holds the same as YAML. */
export function customResourceDefinitions(): CustomResourceDefinition[] {
  return definitions.map(customResourceDefinition);
}

/** Deleting a definition deletes every object of its kind, so a Helm release that once installed it leaves it. */
const annotations = { 'helm.sh/resource-policy': 'keep' };
const categories = ['earshot'];
const ready = '.status.conditions[?(@.type=="Ready")]';
const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp', description: 'Time since it was created.' } as const;

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
      { name: 'Type', type: 'string', jsonPath: '.spec.serviceType', description: 'Type of the Services.' },
      { name: 'Pinned', type: 'boolean', jsonPath: '.spec.pinnedNodePorts', description: 'Whether a volume keeps its pod on its node.' },
      { name: 'Addresses', type: 'string', jsonPath: '.spec.preferredAddressType', description: 'Preferred kind of address.' },
      {
        name: 'Traffic',
        type: 'string',
        jsonPath: '.spec.serviceExternalTrafficPolicy',
        description: 'External traffic policy.',
        priority: 1,
      },
      {
        name: 'NodeLoss',
        type: 'string',
        jsonPath: '.spec.nodeLossPolicy',
        description: "What becomes of a deleted node's address.",
        priority: 1,
      },
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
      { name: 'Class', type: 'string', jsonPath: '.spec.className', description: 'The policy.' },
      { name: 'Address', type: 'string', jsonPath: '.status.ingressAddresses[0].address', description: 'The preferred address.' },
      { name: 'Ready', type: 'string', jsonPath: `${ready}.status`, description: 'Whether it has an address.' },
      { name: 'Reason', type: 'string', jsonPath: `${ready}.reason`, description: 'Why, or why not.' },
      { name: 'Message', type: 'string', jsonPath: `${ready}.message`, description: 'What is the case and what to do.', priority: 1 },
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
      { name: 'Pod', type: 'string', jsonPath: '.metadata.ownerReferences[0].name', description: 'The pod.' },
      { name: 'Node', type: 'string', jsonPath: '.spec.nodeName', description: 'The node on which the pod runs.' },
      {
        name: 'Address',
        type: 'string',
        jsonPath: '.spec.listeners.*.ingressAddresses[0].address',
        description: 'An address that reaches the pod.',
      },
      age,
    ],
    selectableFields: ['.spec.nodeName'],
  },
];
