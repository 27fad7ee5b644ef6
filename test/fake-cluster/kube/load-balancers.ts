import { keyOf } from '../../../src/kube/key.ts';
import type { Service } from '../../../src/kube/objects.ts';
import type { Loop } from '../../simulate/loop.ts';
import { Looks } from '../looks.ts';
import type { Resources } from '../resources.ts';
import type { Store } from '../store.ts';

/** A cloud that gives each Service of type LoadBalancer an address, and takes it away again. */
export function playLoadBalancers(parts: {
  readonly loop: Loop;
  readonly store: Store;
  readonly resources: Resources;
  readonly delay: () => number;
}): void {
  const { loop, store, resources, delay } = parts;
  const looks = new Looks(loop, delay, (key) => {
    const service = store.get<Service>('services', key);
    const has = (service?.status?.loadBalancer?.ingress ?? []).length > 0;
    if (service === undefined || has === (service.spec?.type === 'LoadBalancer')) return;
    const ip = `203.0.113.${service.spec?.clusterIP?.split('.').at(-1)}`;
    resources.change<Service>(
      'services',
      key,
      (before) => ({ ...before, status: { loadBalancer: has ? {} : { ingress: [{ ip }] } } }),
      'status',
    );
  });
  store.onChange(({ plural, object }) => {
    if (plural === 'services') looks.ask(keyOf(object));
  });
}
