import { choice, mapOf, object, optional, text } from '../schema.ts';
import { ingressAddresses } from './address.ts';

export const podListener = object(
  {
    scope: choice(['Node', 'Cluster'], {
      description: '`Node`: these addresses reach only pods on one node. `Cluster`: they reach the pods wherever they run.',
    }),
    ingressAddresses: ingressAddresses("The addresses that reach this pod, the preferred one first; the same as in the volume's files."),
    volumeHandle: optional(text({ description: '`spec.csi.volumeHandle` of the PersistentVolume that is mounted.' })),
    listenerUid: optional(text({ description: '`metadata.uid` of the Listener that the addresses are of.' })),
  },
  { description: 'One Listener, as the pod sees it.' },
);

const mount = object({}, { description: 'A volume that is to be mounted.' });

const mountStatus = object(
  {
    reason: text({ description: 'One word, for programs: what the mount waits for.' }),
    message: text({ description: 'For people: what it waits for, and what to do about it.' }),
  },
  { description: 'A mount that waits.' },
);

export const podListenersSpec = object(
  {
    listeners: mapOf(podListener, {
      description: "The Listeners that the pod mounts, by the name of the volume in the pod's spec.",
      default: {},
    }),
    nodeName: optional(text({ description: 'The node on which the pod runs.' })),
    mounts: optional(mapOf(mount, { description: 'The volumes that the node is asked to mount into the pod, by volume handle.' })),
  },
  {
    description: 'What the pod mounts.',
    validations: [
      {
        rule: '!has(oldSelf.nodeName) || (has(self.nodeName) && self.nodeName == oldSelf.nodeName)',
        message: 'nodeName cannot change, since a pod never moves to another node: leave it as it is, or delete this object.',
      },
    ],
  },
);

export const podListenersStatus = object(
  { mounts: optional(mapOf(mountStatus, { description: 'What each mount that is not complete waits for, by volume handle.' })) },
  { description: 'What is still to be done.' },
);
