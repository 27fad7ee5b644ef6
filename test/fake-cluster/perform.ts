import {
  DRIVER_NAME,
  LISTENER_CLASS_ANNOTATION,
  LISTENER_NAME_ANNOTATION,
  LISTENER_NAME_LABEL,
  podListenersName,
} from '../../src/api/listeners/names.ts';
import type { Listener, ListenerClass } from '../../src/api/listeners/index.ts';
import { keyOf } from '../../src/kube/key.ts';
import type { KubeObject, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service } from '../../src/kube/objects.ts';
import { CALM } from './api-server.ts';
import type { Cluster } from './cluster.ts';
import type { Happening, VolumeDraw } from './history.ts';
import type { RunningPod } from './kube/endpoints.ts';
import type { EphemeralVolume } from './kube/volumes.ts';

export const NAMESPACE = 'default';

/** Lets it happen. What it happens to may be gone: then nothing does. */
export function perform(cluster: Cluster, event: Happening): void {
  cluster.log('world', JSON.stringify(event));
  const how = does[event.kind] as (cluster: Cluster, event: Happening) => void; // The one of this kind.
  how(cluster, event);
}

type Of<K extends Happening['kind']> = Extract<Happening, { readonly kind: K }>;

const does: { readonly [K in Happening['kind']]: (cluster: Cluster, event: Of<K>) => void } = {
  class({ resources, store }, { name, spec }) {
    const key = `class-${name}`;
    if (spec === undefined) remove(resources, 'listenerclasses', key);
    else {
      const { annotations, ...rest } = spec;
      const object: ListenerClass = { metadata: { name: key }, spec: { ...rest, serviceAnnotations: { note: String(annotations) } } };
      if (store.get('listenerclasses', key) === undefined) resources.create('listenerclasses', object);
      else resources.change<ListenerClass>('listenerclasses', key, (before) => ({ ...before, spec: object.spec }));
    }
  },

  listener({ resources, store }, { name, spec }) {
    const key = `${NAMESPACE}/listener-${name}`;
    if (spec === undefined) {
      remove(resources, 'listeners', key);
      return;
    }
    const ports = spec.ports.map((port, index) => ({ name: `port${index}`, port, protocol: 'TCP' }));
    const wanted: Listener['spec'] = { className: `class-${spec.className}`, ports, publishNotReadyAddresses: spec.publishNotReady };
    if (store.get('listeners', key) === undefined) {
      resources.create<Listener>('listeners', { metadata: { namespace: NAMESPACE, name: `listener-${name}` }, spec: wanted });
    } else resources.change<Listener>('listeners', key, (before) => ({ ...before, spec: wanted }));
  },

  'recreate-listener'({ resources, store }, { name }) {
    const before = store.get<Listener>('listeners', `${NAMESPACE}/listener-${name}`);
    if (before === undefined) return;
    resources.delete('listeners', keyOf(before));
    resources.create<Listener>('listeners', { metadata: { namespace: NAMESPACE, name: `listener-${name}` }, spec: before.spec });
  },

  'move-listener'({ resources }, { name, className }) {
    const key = `${NAMESPACE}/listener-${name}`;
    resources.change<Listener>('listeners', key, (before) => ({ ...before, spec: { ...before.spec, className: `class-${className}` } }));
  },

  pod(cluster, { name, volumes }) {
    if (cluster.store.get('pods', `${NAMESPACE}/pod-${name}`) === undefined) makePod(cluster, name, volumes);
  },

  'delete-pod'(cluster, { name, again }) {
    const { store, resources, loop } = cluster;
    const pod = store.get<Pod>('pods', `${NAMESPACE}/pod-${name}`);
    if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return;
    resources.delete('pods', keyOf(pod));
    const { nodeName: _node, ...spec } = { containers: [], ...pod.spec };
    const { name: podName, namespace } = pod.metadata;
    const whenGone = (): void => {
      const now = store.get('pods', keyOf(pod));
      if (now?.metadata.uid === pod.metadata.uid) loop.after(100, undefined, whenGone);
      else if (now === undefined) resources.create<Pod>('pods', { metadata: { name: podName ?? '', namespace: namespace ?? '' }, spec });
    };
    if (again) whenGone();
  },

  'force-delete-pod'(cluster, { name, again }) {
    const { store, resources } = cluster;
    const pod = store.get<Pod>('pods', `${NAMESPACE}/pod-${name}`);
    if (pod === undefined) return;
    store.remove('pods', keyOf(pod));
    const { nodeName: _node, ...spec } = { containers: [], ...pod.spec };
    if (again) resources.create<Pod>('pods', { metadata: { name: `pod-${name}`, namespace: NAMESPACE }, spec });
  },

  addresses(cluster, { held }) {
    cluster.setAddressesHeld(held);
  },

  retain(cluster, { name, volumes }) {
    const { store, resources, loop } = cluster;
    const [podKey, claimKey] = [`${NAMESPACE}/pod-${name}`, `${NAMESPACE}/data0-pod-${name}`];
    const { volumeName = '' } = store.get<PersistentVolumeClaim>('persistentvolumeclaims', claimKey)?.spec ?? {};
    if (volumeName === '') return;
    resources.change<PersistentVolume>('persistentvolumes', volumeName, (before) => ({
      ...before,
      spec: { ...before.spec, persistentVolumeReclaimPolicy: 'Retain' },
    }));
    remove(resources, 'persistentvolumeclaims', claimKey);
    remove(resources, 'pods', podKey);
    const whenGone = (): void => {
      const isThere = store.get('pods', podKey) !== undefined || store.get('persistentvolumeclaims', claimKey) !== undefined;
      if (isThere) loop.after(100, undefined, whenGone);
      else makePod(cluster, name, volumes);
    };
    whenGone();
  },

  'delete-claim'({ resources }, { name }) {
    remove(resources, 'persistentvolumeclaims', `${NAMESPACE}/data0-pod-${name}`);
  },

  ready({ resources }, { name, ready }) {
    resources.change<RunningPod>(
      'pods',
      `${NAMESPACE}/pod-${name}`,
      (before) => (before.status?.podIP === undefined ? before : { ...before, status: { ...before.status, ready } }),
      'status',
    );
  },

  service({ resources, store }, { name, how }) {
    const key = `${NAMESPACE}/listener-${name}`;
    const service = store.get<Service>('services', key);
    if (how === 'delete') remove(resources, 'services', key);
    else if (how === 'foreign') {
      if (service === undefined)
        resources.create<Service>('services', {
          metadata: { namespace: NAMESPACE, name: `listener-${name}` },
          spec: { ports: [{ port: 1 }] },
        });
      else if (service.metadata.labels?.[LISTENER_NAME_LABEL] === undefined) remove(resources, 'services', key);
    } else resources.change<Service>('services', key, (before) => touched(before, how));
  },

  node(cluster, { name, how }) {
    const key = `node-${name}`;
    if (how === 'delete') cluster.removeNode(key);
    else if (how === 'add') cluster.addNode(key);
    else if (how === 'readdress')
      cluster.resources.change<Node>('nodes', key, (before) => ({ ...before, status: cluster.nodeStatus(key) }));
    else {
      const annotations = { beat: String(cluster.loop.now) };
      cluster.resources.change<Node>('nodes', key, (before) => ({ ...before, metadata: { ...before.metadata, annotations } }));
    }
  },

  'delete-pod-listeners'({ resources, store }, { name }) {
    const pod = store.get('pods', `${NAMESPACE}/pod-${name}`);
    remove(resources, 'podlisteners', `${NAMESPACE}/${podListenersName(pod?.metadata.uid ?? '')}`);
  },

  process(cluster, { which, how }) {
    cluster.replica(which)?.[how]();
  },

  cut({ api, store }, { which, plural, expires }) {
    if (expires && plural !== undefined) store.compact(plural);
    api.watches.cut((name, kind) => name.startsWith(`${which}.`) && (plural === undefined || kind === plural));
  },

  slow({ api }, { plural, lag, lasts }) {
    api.watches.slow((_name, kind) => kind === plural, lag, lasts);
  },

  trouble({ api, loop }, { lasts, kind: _kind, ...trouble }) {
    api.trouble = { ...trouble };
    const mine = api.trouble;
    loop.after(lasts, undefined, () => {
      if (api.trouble === mine) api.trouble = CALM;
    });
  },

  fight({ api, loop }, { plural, after, lasts }) {
    api.fought = { plural, after };
    loop.after(lasts, undefined, () => {
      api.fought = undefined;
    });
  },

  down({ api, loop }, { lasts }) {
    api.isDown = true;
    api.watches.cut(() => true);
    loop.after(lasts, undefined, () => {
      api.isDown = false;
    });
  },
};

function remove(resources: Cluster['resources'], plural: string, key: string): void {
  try {
    resources.delete(plural, key);
  } catch {
    // It is gone already.
  }
}

function touched(service: Service, how: 'unlabel' | 'retype' | 'touch'): Service {
  const { [LISTENER_NAME_LABEL]: _label, ...labels } = service.metadata.labels ?? {};
  if (how === 'unlabel') return { ...service, metadata: { ...service.metadata, labels } };
  if (how === 'retype')
    return { ...service, spec: { ...service.spec, type: service.spec?.type === 'ClusterIP' ? 'NodePort' : 'ClusterIP' } };
  return { ...service, metadata: { ...service.metadata, annotations: { ...service.metadata.annotations, seen: 'by another client' } } };
}

function makePod({ resources, store }: Cluster, name: number, volumes: readonly VolumeDraw[]): void {
  const created = volumes.map((draw, index): EphemeralVolume => {
    const annotations = { [draw.by === 'class' ? LISTENER_CLASS_ANNOTATION : LISTENER_NAME_ANNOTATION]: `${draw.by}-${draw.name}` };
    if (draw.ephemeral) return { name: `volume${index}`, ephemeral: { annotations } };
    if (draw.by === 'claim') return { name: `volume${index}`, persistentVolumeClaim: { claimName: `data0-pod-${draw.name}` } };
    const claimName = `data${index}-pod-${name}`;
    if (store.get('persistentvolumeclaims', `${NAMESPACE}/${claimName}`) === undefined) {
      resources.create<PersistentVolumeClaim>('persistentvolumeclaims', {
        metadata: { namespace: NAMESPACE, name: claimName, annotations, labels: { app: `pod-${name}` } },
        spec: { storageClassName: DRIVER_NAME },
      });
    }
    return { name: `volume${index}`, persistentVolumeClaim: { claimName } };
  });
  const containers = [{ name: 'main', ports: [{ name: 'http', containerPort: 8080 }] }];
  resources.create<Pod & KubeObject>('pods', {
    metadata: { namespace: NAMESPACE, name: `pod-${name}` },
    spec: { containers, volumes: created },
  });
}
