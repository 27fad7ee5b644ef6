/** A namespace as full as its editor can make it: one generator for every kind that the controller reads. */
import {
  LISTENER_CLASS_ANNOTATION,
  LISTENER_NAME_ANNOTATION,
  LISTENER_NAME_LABEL,
  podListenersName,
} from '../../../../src/api/listeners/names.ts';
import { listeners, podListeners, type ListenerSpec } from '../../../../src/api/listeners/index.ts';
import type { KubeObject, ObjectMeta, Pod } from '../../../../src/kube/objects.ts';
import { endpointSlices, persistentVolumeClaims, persistentVolumes, pods, services, type Resource } from '../../../../src/kube/resource.ts';
import { MOST_PORTS } from '../../../../src/exposure/listeners/port-names.ts';
import { aListener } from '../listeners/fixtures.ts';
import { mounted } from './objects.ts';
import type { PlayedApi } from './played-api.ts';

/** Writes of one object each. */
export type Crowd = (count: number) => readonly ((api: PlayedApi) => void)[];

const times = <T>(count: number, each: (index: number) => T): readonly T[] => Array.from({ length: count }, (_, index) => each(index));
const put =
  (of: Resource, object: unknown) =>
  (api: PlayedApi): void =>
    void api.put(of, object as KubeObject);

/** Shared by all objects, so that thousands of them fit into memory. */
const HUGE = 'x, '.repeat(60_000);
const MANY_LABELS = Object.fromEntries(times(2_000, (index) => [`example.com/label-${index}`, 'x'.repeat(63)]));

function listenersOf(specOf: (index: number) => Partial<ListenerSpec>, metadata: ObjectMeta = {}, most = Infinity): Crowd {
  return (count) =>
    times(Math.min(count, most), (index) =>
      put(listeners, aListener(specOf(index), { name: `web-${index}`, uid: `uid-web-${index}`, ...metadata })),
    );
}

/** As many as a list may have. */
const MANY_PORTS = 4_096;
const portsOf = (
  portOf: (index: number) => NonNullable<ListenerSpec['ports']>[number],
): { readonly ports: NonNullable<ListenerSpec['ports']> } => ({ ports: times(MANY_PORTS, portOf) });

function podsOf(change: (pod: Pod, index: number) => Pod, node?: string): Crowd {
  return (count) =>
    times(count, (index) => {
      const { pod, claim, volume, request } = mounted(`web-${index}`, node ?? `n${index % 100}`);
      return (api: PlayedApi): void => {
        api.put(persistentVolumeClaims, claim);
        api.put(persistentVolumes, volume);
        api.put(pods, change(pod, index));
        api.put(podListeners, request);
      };
    });
}

const first =
  (crowd: Crowd, ...before: readonly ((api: PlayedApi) => void)[]): Crowd =>
  (count) => [...before, ...crowd(count)];

export const crowds: Readonly<Record<string, Crowd>> = {
  Listener: listenersOf(() => ({})),
  'Listener with many labels': listenersOf(
    () => ({ extraPodSelectorLabels: MANY_LABELS }),
    { labels: MANY_LABELS, annotations: MANY_LABELS },
    100,
  ),
  'Listener with huge annotations': listenersOf(() => ({}), { annotations: { huge: HUGE } }),
  'Listener of a class with a huge name': listenersOf(() => ({ className: HUGE }), {}, 100),
  'Listener of a missing class': listenersOf((index) => ({ className: `missing-${index}` })),
  'Listener with as many ports as it may have': listenersOf(
    () => ({ ports: times(MOST_PORTS, (index) => ({ name: `p-${index}`, port: index + 1 })) }),
    {},
    8,
  ),
  'Listener with as many ports of one number as it may have': listenersOf(
    () => ({ ports: times(MOST_PORTS, (index) => ({ name: '', port: 80, protocol: `P${index}` })) }),
    {},
    8,
  ),
  'Listener with many ports': listenersOf(() => portsOf((index) => ({ name: `p-${index}`, port: index + 1 })), {}, 8),
  'Listener with a huge name of a port': listenersOf(() => ({ ports: [{ name: HUGE, port: 80 }] })),
  'Listener with many overrides': listenersOf(
    () => ({
      objectOverrides: times(4_096, (index) => ({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'web-0', labels: { [`l-${index}`]: 'x' } },
        spec: { ports: [{ port: index + 1, name: `p-${index}`, protocol: 'TCP' }] },
      })),
    }),
    {},
    8,
  ),
  'Listener with deep overrides': listenersOf(
    () => ({
      objectOverrides: [
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 'web-0' },
          spec: times(5_000, (index) => `f${index}`).reduce<object>((inner, name) => ({ [name]: inner }), {}),
        },
      ],
    }),
    {},
    8,
  ),
  'Service that only has the label': (count) =>
    times(count, (index) =>
      put(services, {
        metadata: { namespace: 'shop', name: `web-${index}`, labels: { [LISTENER_NAME_LABEL]: 'web' }, annotations: { huge: HUGE } },
        spec: { ports: times(100, (port) => ({ name: `p-${port}`, port: port + 1 })) },
      }),
    ),
  'Service of others': (count) => times(count, (index) => put(services, { metadata: { namespace: 'shop', name: `other-${index}` } })),
  EndpointSlice: first(
    (count) =>
      times(count, (index) =>
        put(endpointSlices, {
          metadata: {
            namespace: 'shop',
            name: `slice-${index}`,
            labels: { [LISTENER_NAME_LABEL]: 'web', 'kubernetes.io/service-name': 'web-0' },
          },
          endpoints: times(1_000, (pod) => ({
            addresses: ['10.0.0.1'],
            nodeName: `n${pod % 100}`,
            targetRef: { kind: 'Pod', name: `p-${pod}`, uid: `uid-${index}-${pod}` },
            conditions: { ready: pod % 2 === 0 },
          })),
        }),
      ),
    ...listenersOf(() => ({}))(1).slice(0, 1),
  ),
  'pod of one Listener': first(
    podsOf((pod) => pod),
    put(listeners, aListener()),
  ),
  'pod of one Listener on one node': first(
    podsOf((pod) => pod, 'n1'),
    put(listeners, aListener()),
  ),
  'pod of no Listener': podsOf((pod) => pod),
  'pod of one claim': first(
    (count) =>
      times(count, (index) => {
        const { claim, volume } = mounted('web-0');
        const { pod, request } = mounted(`web-${index}`);
        const volumes = [{ name: 'listener', persistentVolumeClaim: { claimName: claim.metadata.name ?? '' } }];
        return (api: PlayedApi): void => {
          if (index === 0) {
            api.put(persistentVolumeClaims, claim);
            api.put(persistentVolumes, volume);
          }
          api.put(pods, { ...pod, spec: { containers: [], ...pod.spec, volumes } });
          api.put(podListeners, { ...request, spec: { ...request.spec, mounts: { 'pv-web-0': {} } } });
        };
      }),
    put(listeners, aListener()),
  ),
  'pod with many ports': (count) =>
    times(Math.min(count, 8), (index) => {
      const { pod, claim, volume, request } = mounted(`web-${index}`);
      const { csi } = volume.spec ?? {};
      const ofClass = {
        ...volume,
        spec: {
          ...volume.spec,
          ...(csi === undefined ? {} : { csi: { ...csi, volumeAttributes: { [LISTENER_CLASS_ANNOTATION]: 'some-class' } } }),
        },
      };
      const containers = [{ name: 'web', ports: times(MANY_PORTS, (port) => ({ name: `p-${port}`, containerPort: port + 1 })) }];
      return (api: PlayedApi): void => {
        api.put(persistentVolumeClaims, claim);
        api.put(persistentVolumes, ofClass);
        api.put(pods, { ...pod, spec: { ...pod.spec, containers } });
        api.put(podListeners, request);
      };
    }),
  'pod with many volumes': (count) =>
    times(Math.min(count, 10), (index) => {
      const all = times(200, (volume) => mounted(`web-${index}-${volume}`));
      const { pod, request } = mounted(`web-${index}`);
      const volumes = all.map(({ claim }, at) => ({ name: `v-${at}`, persistentVolumeClaim: { claimName: claim.metadata.name ?? '' } }));
      const mounts = Object.fromEntries(all.map(({ volume }) => [volume.metadata.name ?? '', {}]));
      return (api: PlayedApi): void => {
        for (const { claim, volume } of all) {
          api.put(persistentVolumeClaims, claim);
          api.put(persistentVolumes, volume);
        }
        api.put(pods, { ...pod, spec: { containers: [], ...pod.spec, volumes } });
        api.put(podListeners, { ...request, spec: { ...request.spec, mounts } });
      };
    }),
  'request without a pod': (count) =>
    times(Math.min(count, 30), (index) =>
      put(podListeners, {
        metadata: { namespace: 'shop', name: podListenersName(`none-${index}`), uid: `uid-none-${index}` },
        spec: { nodeName: 'n1', listeners: {}, mounts: Object.fromEntries(times(1_000, (mount) => [`pv-${mount}`, {}])) },
      }),
    ),
  'request with many entries': (count) =>
    times(Math.min(count, 50), (index) =>
      put(podListeners, {
        metadata: { namespace: 'shop', name: podListenersName(`none-${index}`), uid: `uid-none-${index}` },
        spec: {
          nodeName: 'n1',
          mounts: { 'pv-0': {} },
          listeners: Object.fromEntries(
            times(5_000, (entry) => [
              `v-${entry}`,
              { scope: 'Node', volumeHandle: 'pv-0', ingressAddresses: [{ address: 'x', addressType: 'IP', ports: { a: 1 } }] },
            ]),
          ),
        },
      }),
    ),
  claim: (count) =>
    times(count, (index) =>
      put(persistentVolumeClaims, {
        metadata: {
          namespace: 'shop',
          name: `data-${index}`,
          uid: `uid-data-${index}`,
          annotations: { [LISTENER_NAME_ANNOTATION]: 'web', 'volume.kubernetes.io/selected-node': 'n1' },
        },
        spec: { storageClassName: 'listeners.stackable.tech' },
        status: { phase: 'Pending' },
      }),
    ),
  'claim with many annotations': (count) =>
    times(Math.min(count, 100), (index) =>
      put(persistentVolumeClaims, {
        metadata: {
          namespace: 'shop',
          name: `data-${index}`,
          uid: `uid-data-${index}`,
          annotations: {
            ...Object.fromEntries(times(3_000, (at) => [`listener.example/${at}`, 'x'])),
            [LISTENER_CLASS_ANNOTATION]: HUGE,
            'volume.kubernetes.io/selected-node': HUGE,
          },
        },
        spec: { storageClassName: 'listeners.stackable.tech' },
        status: { phase: 'Pending' },
      }),
    ),
};
