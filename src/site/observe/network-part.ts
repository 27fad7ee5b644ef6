/** States of Listeners and Connectors in container networks, which the routers there report to this one (pure). */
import type { RouterState, SiblingPartState } from '../../router/contract.ts';
import { commandIn } from '../../text/command-in.ts';
import { isNetworkAlias, type NetworkRouter } from '../networks.ts';
import type { SitePlan } from '../plan/plan.ts';
import type { ResourceKey } from '../resources.ts';
import type { Progress } from './message-format.ts';
import { done, failed, stateOf, waiting } from './status.ts';

interface Seen {
  readonly plan: Pick<SitePlan, 'networks' | 'routerNetworks'>;
  readonly controller: { readonly namespace: string };
  readonly router?: Pick<RouterState, 'listeners' | 'connectors' | 'siblingParts'>;
  readonly networkRouters?: readonly NetworkRouter[];
}

export interface PartState extends SiblingPartState {
  /** Why there is no state; done unless the part belongs to a network. */
  readonly router: Progress;
}

/** State of a part at the router that serves it. */
export function partState(part: ResourceKey, { plan, router, networkRouters = [], controller }: Seen): PartState {
  const network = plan.networks.get(part);
  if (network === undefined) {
    const [listener, connector] = [stateOf(router?.listeners, part), stateOf(router?.connectors, part)];
    return { router: done, ...(listener === undefined ? {} : { listener }), ...(connector === undefined ? {} : { connector }) };
  }
  const running = networkRouters.filter((each) => each.network === network);
  const reports = running.map((each) => stateOf(router?.siblingParts, each.router)).filter((parts) => parts !== undefined);
  const state = reports.map((parts) => stateOf(parts, part)).find((each) => each !== undefined);
  if (state !== undefined) return { router: done, ...state };
  if (running.length === 0) return { router: failed({ code: 'network-router', message: notRunning(network, controller.namespace) }) };
  const what = reports.length === 0 ? 'is not linked to the other routers of the site yet' : 'does not serve it yet';
  return { router: waiting('network-router', `the router of the network ${network} ${what}`) };
}

/** Waits while the router lacks the name of a Listener: a container gets its names when it is created. */
export function hostAlias(part: ResourceKey, host: string, { plan, networkRouters = [], controller }: Seen): Progress {
  const network = plan.networks.get(part);
  if (network === undefined || !isNetworkAlias(host)) return done;
  const lacks = networkRouters.some((each) => each.network === network && each.aliases?.includes(host.toLowerCase()) === false);
  if (!lacks) return done;
  const message = `the router of the network ${network} does not have the name ${host} there yet; run ${startIn(controller.namespace)}, which replaces its container`;
  return waiting('network-router', message);
}

/** Messages about networks of the Site without a running router. */
export function missingRouters({ plan, networkRouters = [], controller }: Seen): readonly string[] {
  const running = new Set(networkRouters.map(({ network }) => network));
  return plan.routerNetworks.filter((network) => !running.has(network)).map((network) => notRunning(network, controller.namespace));
}

function notRunning(network: string, namespace: string): string {
  return `the router of the network ${network} does not run; start it with ${startIn(namespace)}, and see its log if it ended`;
}

/** Starts containers that do not run, and creates those without a name again. */
function startIn(namespace: string): string {
  return commandIn(namespace, 'system start');
}
