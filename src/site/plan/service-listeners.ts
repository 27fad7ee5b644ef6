import type { ListenerConfig } from '../../router/contract.ts';
import { errorIn, type ResourceProblem } from '../problem.ts';
import type { ResourceKey } from '../resources.ts';
import type { LocalListener, PlannedListeners } from './held-ports.ts';
import type { ListenerPort, ServicePlan } from './service-ports.ts';

/** Config of each listener at the port that its Service targets, and another one for each pod with a Service of its own. */
export function atServices(desired: readonly LocalListener[], { ports, problems }: ServicePlan): PlannedListeners {
  const byListener = Map.groupBy(ports, ({ listener }) => listener);
  const waiting: ResourceProblem[] = [];
  const configs = desired.flatMap((config) => {
    // Names of planned listeners are keys of their resources.
    const resource = config.name as ResourceKey;
    const own = byListener.get(resource) ?? [];
    const late = own.find(({ podKey, applied }) => podKey === undefined && !applied);
    if (late !== undefined) waiting.push(noServiceYet(late));
    return own.filter(({ held }) => held).map((port) => at(config, port));
  });
  return { configs, held: [], problems: [...problems, ...waiting] };
}

function at(desired: LocalListener, { podKey, service, routerPort }: ListenerPort): ListenerConfig {
  const { host: _, ...config } = desired;
  if (podKey === undefined) return { ...config, port: routerPort };
  return { ...config, name: `${config.name}/${service}`, port: routerPort, destination: { kind: 'key', routingKey: podKey } };
}

function noServiceYet({ listener, service, port, held }: ListenerPort): ResourceProblem {
  const message = `Service ${service} does not lead to it at port ${port} yet. The controller of sites updates the Service. If this persists, see the events of the listener, and check that the controller runs.`;
  return { ...errorIn(listener, 'spec.host', 'service-awaited', message), ...(held ? { runs: true } : {}) };
}
