import { keyOf } from '../../../src/kube/key.ts';
import type { EndpointSlice, Pod, Service, StringMap } from '../../../src/kube/objects.ts';
import type { Loop } from '../../simulate/loop.ts';
import { Looks } from '../looks.ts';
import type { Resources } from '../resources.ts';
import type { Store } from '../store.ts';

export const SERVICE_NAME_LABEL = 'kubernetes.io/service-name';

/** As far as it matters whether traffic reaches a pod. */
export interface RunningPod extends Pod {
  readonly status?: { readonly phase?: string; readonly podIP?: string; readonly ready?: boolean };
}

/** Keeps one EndpointSlice for each Service: the pods that it selects, once they run. */
export function keepEndpoints(parts: {
  readonly loop: Loop;
  readonly store: Store;
  readonly resources: Resources;
  readonly delay: () => number;
}): void {
  const { loop, store, resources, delay } = parts;
  const services = new ByLabel();
  const pods = new ByLabel();
  const looks = new Looks(loop, delay, (key) => {
    const service = store.get<Service>('services', key);
    if (service === undefined) return;
    const slice = sliceOf(service, podsOf(service, pods, store));
    const existing = store.get<EndpointSlice>('endpointslices', keyOf(slice));
    if (existing === undefined) resources.create('endpointslices', slice);
    else
      resources.change<EndpointSlice>('endpointslices', keyOf(slice), (before) => ({
        ...slice,
        metadata: { ...before.metadata, ...slice.metadata },
      }));
  });
  store.onChange(({ plural, type, object, previous }) => {
    if (plural === 'services') {
      services.change(
        keyOf(object),
        (previous as Service | undefined)?.spec?.selector,
        type === 'DELETED' ? undefined : (object as Service).spec?.selector,
      );
      looks.ask(keyOf(object));
    }
    if (plural === 'endpointslices' && type === 'DELETED')
      looks.ask(`${object.metadata.namespace}/${object.metadata.labels?.[SERVICE_NAME_LABEL]}`);
    if (plural !== 'pods') return;
    const before = previous?.metadata.labels;
    const after = type === 'DELETED' ? undefined : object.metadata.labels;
    pods.change(keyOf(object), before, after);
    for (const labels of [before, after]) for (const key of services.of(labels ?? {})) looks.ask(key);
  });
}

function podsOf({ metadata, spec }: Service, pods: ByLabel, store: Store): readonly RunningPod[] {
  const selector = Object.entries(spec?.selector ?? {});
  const [least] = selector.map(([name, value]) => pods.with(name, value)).sort((one, other) => one.size - other.size);
  return [...(least ?? [])]
    .map((key) => store.get<RunningPod>('pods', key))
    .filter((pod) => pod !== undefined)
    .filter(({ metadata: { namespace, labels }, status }) => {
      const runs = status?.podIP !== undefined && namespace === metadata.namespace;
      return runs && selector.every(([name, value]) => labels?.[name] === value);
    });
}

export function sliceOf(service: Service, pods: readonly RunningPod[]): EndpointSlice {
  const { name = '', namespace = '', uid = '', labels } = service.metadata;
  return {
    metadata: {
      name: `${name}-slice-${uid.slice(-6)}`,
      namespace,
      labels: { ...labels, [SERVICE_NAME_LABEL]: name },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid, controller: true }],
    },
    addressType: 'IPv4',
    endpoints: pods.map(({ metadata, spec, status }) => {
      const isReady = status?.ready === true && metadata.deletionTimestamp === undefined;
      const ready = service.spec?.publishNotReadyAddresses === true || isReady;
      return { ...(spec?.nodeName === undefined ? {} : { nodeName: spec.nodeName }), conditions: { ready } };
    }),
  };
}

/** Keys by each label, name and value, that they have or select. */
class ByLabel {
  readonly #keys = new Map<string, Set<string>>();

  change(key: string, before: StringMap | undefined, after: StringMap | undefined): void {
    for (const [name, value] of Object.entries(before ?? {})) this.#keys.get(`${name}=${value}`)?.delete(key);
    for (const [name, value] of Object.entries(after ?? {})) {
      const keys = this.#keys.get(`${name}=${value}`) ?? new Set();
      this.#keys.set(`${name}=${value}`, keys.add(key));
    }
  }

  with(name: string, value: string): ReadonlySet<string> {
    return this.#keys.get(`${name}=${value}`) ?? new Set();
  }

  of(labels: StringMap): ReadonlySet<string> {
    const all = new Set<string>();
    for (const [name, value] of Object.entries(labels)) for (const key of this.with(name, value)) all.add(key);
    return all;
  }
}
