/** Mistakes that the exposure half has had, to be put back in: played clusters show that they are found (`npm run play -- --fault NAME`). */
import type { Change } from '../simulate/change.ts';

export const faults: Readonly<Record<string, readonly Change[]>> = {
  // A Service that came after its Listener's status woke no mount, which then waited for its patience to end.
  'service-of-mount': [
    {
      file: 'exposure/wake-ups.ts',
      from: 'row(services, { listener: ({ object }) => [keyOf(object)], mount: ({ object }) => mountsOf(volumesOf(keyOf(object))) }),',
      to: 'row(services, { listener: ({ object }) => [keyOf(object)] }),',
    },
    {
      file: 'exposure/mounts/mount-reconciler.ts',
      from: 'service: caches.services.get(keyOf(listener)),',
      to: "service: caches.services.by('name', keyOf(listener))[0],",
    },
    {
      file: 'exposure/cluster/caches.ts',
      from: 'services: new FreshView(start(client, services, { signal, labelSelector: LISTENER_NAME_LABEL })),',
      to: 'services: new FreshView(start(client, services, { signal, labelSelector: LISTENER_NAME_LABEL, indexes: { name: (service) => [`${service.metadata.namespace}/${service.metadata.name}`] } })),',
    },
  ],
  // A Listener that moved to a class with `nodeLossPolicy: Release` released nothing.
  'release-by-class': [
    {
      file: 'exposure/wake-ups.ts',
      from: 'volume: (change) => (hasOtherClass(change) ? pinned(volumesOf(keyOf(change.object))) : []),',
      to: '',
    },
  ],
  // A Service that went with its Listener was made again, for the Listener of the past, until the watch told of that.
  'service-of-the-past': [
    {
      file: 'exposure/listeners/listener-reconciler.ts',
      from: "if (live === undefined && !(await this.#isThere(listener, key, signal))) return 'ends';",
      to: '',
    },
  ],
  // A claim was bound as soon as the own watch told of its volume, which kube-controller-manager need not have by then.
  'bind-early': [
    {
      file: 'exposure/provision/claim-step.ts',
      from: "if (status?.phase === 'Bound') return { do: 'bind', volume };",
      to: "if (status?.phase !== 'Released') return { do: 'bind', volume };",
    },
  ],
  // A request that somebody deleted was never made again.
  'lost-request': [
    {
      file: 'exposure/csi/standing-requests.ts',
      from: "podListeners.onChange(({ object }) => this.#look(object.metadata.name ?? '')),",
      to: '',
    },
    { file: 'exposure/csi/standing-requests.ts', from: 'podListeners.onRelist(() => this.#lookAtAll()),', to: '' },
  ],
  // A status that a reconcile wrote woke it again, and a refusal is worded differently each time.
  'own-status': [
    {
      file: 'exposure/wake-ups.ts',
      from: 'listener: (change) => (listeners.isEcho(change) ? [] : [keyOf(change.object)]),',
      to: 'listener: (change) => [keyOf(change.object)],',
    },
  ],
  // What something else changed back was repaired at once each time.
  undamped: [
    { file: 'exposure/listeners/damped-writes.ts', from: 'const delay = this.#limiter.delay(request, now);', to: 'const delay = 0;' },
  ],
};
