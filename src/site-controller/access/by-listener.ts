/** Access through a Listener of the exposure half: its ListenerClass says how, and its addresses are the endpoints. */
import { listeners, type Listener } from '../../api/listeners/index.ts';
import { annotation } from '../../api/skupper/cluster-names.ts';
import type { SecuredAccess } from '../../api/skupper/index.ts';
import type { Service } from '../../kube/objects.ts';
import { apiVersionOf, services } from '../../kube/resource.ts';
import { errorIn, type ResourceProblem } from '../../site/problem.ts';
import { keyOf, nameOf } from '../../site/resources.ts';
import { quoted } from '../../text/printable.ts';
import { ownerOf } from '../namespace-view.ts';
import type { DesiredObject } from '../desired-state.ts';
import { isMade } from './kinds.ts';
import { endpoint, failed, reachable, type AccessPlan, type AccessPlanInput } from './access-parts.ts';

/** The Listener's Service has the name that the Service of any other type would have, so the two never exist together. */
export function byListener(order: AccessPlanInput, className: string): AccessPlan {
  const { access, view } = order;
  if (!view.serves(listeners)) {
    const remedy = 'install it, then reinstall the chart of the controller, or choose another type.';
    return failed(
      access,
      'access-type',
      `unsupported access type: listenerclass: needs Earshot's exposure half in this cluster; ${remedy}`,
    );
  }
  const found = view.find(listeners, nameOf(access));
  const listener = found !== undefined && isMade(found) ? found : undefined;
  return {
    objects: [listenerFor(access, className)],
    endpoints: listener === undefined ? [] : endpointsBy(listener, access),
    problems: listener === undefined ? [] : problemsOf(listener, view.find(services, nameOf(access)), access),
  };
}

function listenerFor(access: SecuredAccess, className: string): DesiredObject<Listener> {
  const { ports, selector } = access.spec;
  const name = nameOf(access);
  const moved = ports.filter(({ port, targetPort = port }) => targetPort !== port);
  const service = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name },
    spec: {
      // The pods do not mount the Listener: their ports are fixed before they start, and they need no address of their own.
      selector,
      ...(moved.length === 0 ? {} : { ports: moved.map(({ port, targetPort, protocol = 'TCP' }) => ({ port, targetPort, protocol })) }),
    },
  };
  const object = {
    apiVersion: apiVersionOf(listeners),
    kind: listeners.kind,
    // No labels: the Listener's Service, which is not ours, would inherit them.
    metadata: { name, annotations: { [annotation.controlled]: 'true' }, ownerReferences: [ownerOf(access)] },
    spec: {
      className,
      ports: ports.map(({ name: portName, port, protocol = 'TCP' }) => ({ name: portName, port, protocol })),
      publishNotReadyAddresses: false,
      objectOverrides: [service],
    },
  };
  return { of: listeners, object, for: keyOf(access) };
}

function endpointsBy({ status }: Listener, access: SecuredAccess): AccessPlan['endpoints'] {
  const addresses = status?.ingressAddresses ?? [];
  // Node ports are those of nodes with a ready router. While no router is ready, the former endpoints stay.
  if (addresses.length === 0 && status?.nodePorts !== undefined) return access.status?.endpoints ?? [];
  return reachable(
    addresses.flatMap(({ address, ports }) =>
      access.spec.ports.flatMap((port) => (Object.hasOwn(ports, port.name) ? [endpoint(port, address, ports[port.name] ?? 0)] : [])),
    ),
  );
}

function problemsOf({ status }: Listener, service: Service | undefined, access: SecuredAccess): readonly ResourceProblem[] {
  const report = (message: string): readonly ResourceProblem[] => [errorIn(keyOf(access), 'spec.accessType', 'access-type', message)];
  const refusal = status?.conditions?.find(({ type, status: state }) => type === 'Accepted' && state === 'False');
  if (refusal !== undefined) return report(`the Listener of this name is not accepted: ${quoted(refusal.message, 300)}.`);
  const selected = service?.spec?.selector;
  const isOurs = selected === undefined || Object.entries(access.spec.selector).every(([key, value]) => selected[key] === value);
  if (isOurs) return [];
  return report('the ListenerClass does not let Listeners choose their pods (objectOverridesPolicy: WithinClass); use a class with Any.');
}
