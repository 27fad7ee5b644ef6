/** Mistakes that the exposure half has had. `npm run play -- --fault NAME` plants one, and must find it. */
import type { PlantedFaults } from '../simulate/change.ts';

export const faults: PlantedFaults = {
  'service-of-mount': {
    description: "A Service that appears after its Listener's status does not enqueue the mount, which waits for ten seconds.",
    firstSeed: 176,
    changes: [
      {
        file: 'exposure/watch-handlers.ts',
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
        from: 'services: new WriteThroughCache(start(client, services, { signal, labelSelector: LISTENER_NAME_LABEL, project: listenersService })),',
        to: 'services: new WriteThroughCache(start(client, services, { signal, labelSelector: LISTENER_NAME_LABEL, project: listenersService, indexes: { name: (service) => [`${service.metadata.namespace}/${service.metadata.name}`] } })),',
      },
    ],
  },
  'release-by-class': {
    description: 'A Listener that moves to a class with `nodeLossPolicy: Release` releases no address.',
    firstSeed: 49,
    changes: [
      {
        file: 'exposure/watch-handlers.ts',
        from: 'volume: (change) => (hasOtherClass(change) ? pinned(volumesOf(keyOf(change.object))) : []),',
        to: '',
      },
    ],
  },
  'service-of-the-past': {
    description: 'A deleted Listener gets its Service again, until the watch reports the deletion.',
    firstSeed: 117,
    changes: [
      {
        file: 'exposure/listeners/listener-reconciler.ts',
        from: "if (live === undefined && !(await this.#isThere(listener, key, signal))) return 'ends';",
        to: '',
      },
    ],
  },
  'bind-early': {
    description: 'A claim is bound before kube-controller-manager knows its volume, and is then reported as lost.',
    firstSeed: 2,
    changes: [
      {
        file: 'exposure/provision/claim-step.ts',
        from: "if (status?.phase === 'Bound') return { do: 'bind', volume };",
        to: "if (status?.phase !== 'Released') return { do: 'bind', volume };",
      },
    ],
  },
  'lost-request': {
    description: 'A PodListeners object that was deleted is never created again.',
    firstSeed: 6,
    changes: [
      {
        file: 'exposure/csi/standing-requests.ts',
        from: "podListeners.onChange(({ object }) => this.#scan(object.metadata.name ?? '')),",
        to: '',
      },
      { file: 'exposure/csi/standing-requests.ts', from: 'podListeners.onRelist(() => this.#lookAtAll()),', to: '' },
    ],
  },
  'own-status': {
    description: "A status that a reconcile writes enqueues the same object again, without the failure's backoff.",
    firstSeed: 1,
    changes: [
      {
        file: 'exposure/watch-handlers.ts',
        from: 'listener: (change) => (listeners.isEcho(change) ? [] : [keyOf(change.object)]),',
        to: 'listener: (change) => [keyOf(change.object)],',
      },
    ],
  },
  'held-volume': {
    description: 'A mount that waits keeps the volume from the other pods of its claim.',
    firstSeed: 271,
    changes: [
      {
        file: 'exposure/csi/node-service.ts',
        from: 'if (this.#uses.findConflict(request) !== undefined) timer ??= setTimeout(yieldIfNeeded, YIELD_MILLISECONDS);',
        to: '',
      },
    ],
  },
  'deleted-waits': {
    description: 'A mount goes on waiting after its pod was deleted.',
    firstSeed: 50,
    changes: [
      {
        file: 'exposure/csi/node-service.ts',
        from: "if (isEnding(object, handle)) throw new CsiError('csi-superseded', mountStatusOf(object, handle)?.message ?? '');",
        to: '',
      },
    ],
  },
  'retained-forever': {
    description: 'A Listener whose volume is retained is never given to the next volume of its claim.',
    firstSeed: 63,
    changes: [
      {
        file: 'exposure/mounts/mount-plan.ts',
        from: "if (isOfClaim && policy === 'Delete' && phase !== 'Failed') {",
        to: 'if (isOfClaim) {',
      },
    ],
  },
  undamped: {
    description: 'A change that another writer reverts is repaired at once each time.',
    firstSeed: 5,
    changes: [
      { file: 'exposure/listeners/damped-writes.ts', from: 'const delay = this.#limiter.delay(request, now);', to: 'const delay = 0;' },
    ],
  },
};
