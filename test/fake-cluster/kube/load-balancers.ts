import { keyOf } from '../../../src/kube/key.ts';
import type { Service } from '../../../src/kube/objects.ts';
import type { Loop } from '../../simulate/loop.ts';
import { Looks } from '../looks.ts';
import type { Resources } from '../resources.ts';
import type { Store } from '../store.ts';

/** A cloud that gives each Service of type LoadBalancer an address, and takes it away again. */
export interface LoadBalancers {
  /** Gives addresses, or none and takes those away that were given. */
  setHeld(isHeld: boolean): void;
}

export function playLoadBalancers(parts: {
  readonly loop: Loop;
  readonly store: Store;
  readonly resources: Resources;
  readonly delay: () => number;
}): LoadBalancers {
  let held = false;
  const { loop, store, resources, delay } = parts;
  const looks = new Looks(loop, delay, (key) => {
    const service = store.get<Service>('services', key);
    const has = (service?.status?.loadBalancer?.ingress ?? []).length > 0;
    if (service === undefined || has === (!held && service.spec?.type === 'LoadBalancer')) return;
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
  return {
    setHeld(isHeld) {
      held = isHeld;
      for (const service of store.all('services')) looks.ask(keyOf(service));
    },
  };
}
