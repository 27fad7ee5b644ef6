import { choice, mapOf, object, optional, text } from '../schema.ts';
import { ingressAddresses } from './address.ts';

export const podListener = object('One Listener, as the pod sees it.', {
  scope: choice(
    ['Node', 'Cluster'],
    '`Node`: these addresses reach only pods on one node. `Cluster`: they reach the pods wherever they run.',
  ),
  ingressAddresses: ingressAddresses("The addresses that reach this pod, the preferred one first; the same as in the volume's files."),
  volumeHandle: optional(text('`spec.csi.volumeHandle` of the PersistentVolume that is mounted.')),
  listenerUid: optional(text('`metadata.uid` of the Listener that the addresses are of.')),
});

const mount = object('A volume that is to be mounted.', {});

const mountStatus = object('A mount that waits.', {
  reason: text('One word, for programs: what the mount waits for.'),
  message: text('For people: what it waits for, and what to do about it.'),
});

export const podListenersSpec = object(
  'Volumes that the pod mounts.',
  {
    listeners: mapOf(podListener, "The Listeners that the pod mounts, by the name of the volume in the pod's spec.", { default: {} }),
    nodeName: optional(text('The node on which the pod runs.')),
    mounts: optional(mapOf(mount, 'The volumes that the node is asked to mount into the pod, by volume handle.')),
  },
  [
    {
      rule: '!has(oldSelf.nodeName) || (has(self.nodeName) && self.nodeName == oldSelf.nodeName)',
      message: 'nodeName cannot change, since a pod never moves to another node: leave it as it is, or delete this object.',
    },
  ],
);

export const podListenersStatus = object('Mounts that are not complete.', {
  mounts: optional(mapOf(mountStatus, 'Reason for which each incomplete mount waits, by volume handle.')),
});
