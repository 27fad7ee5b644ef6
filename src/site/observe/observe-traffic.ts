import type {
  Connector,
  ConnectorStatus,
  Link,
  LinkStatus,
  Listener,
  ListenerStatus,
  MultiKeyListener,
  MultiKeyListenerStatus,
} from '../../api/skupper/index.ts';
import type { ListenerState, Problem } from '../../router/contract.ts';
import { quote } from '../bundle-finder.ts';
import type { View } from './observe.ts';
import { keyOf } from '../resources.ts';
import { configured, done, failed, verdict, waiting, warningsOf, type StepState } from './status.ts';

const starting = waiting('starting', 'the router starts');

export function observeListener(listener: Listener, view: View): ListenerStatus {
  const state = stateOf(view.router?.listeners, keyOf(listener));
  const reachable = (state?.reachableKeys.length ?? 0) > 0;
  const matched = reachable
    ? done
    : waiting('no-connector', `no connector of routing key ${quote(listener.spec.routingKey)} can be reached`);
  return {
    ...verdict(listenerSteps(state, reachable, { type: 'Matched', state: matched }, view), warningsOf(view.own), view.moment),
    hasMatchingConnector: reachable,
  };
}

export function observeMultiKey(listener: MultiKeyListener, view: View): MultiKeyListenerStatus {
  const state = stateOf(view.router?.listeners, keyOf(listener));
  const { priority, weighted } = listener.spec.strategy;
  const keys = priority?.routingKeys ?? Object.keys(weighted?.routingKeys ?? {});
  const open = new Set(state?.reachableKeys);
  const routingKeysReachable = keys.filter((key) => open.has(key));
  const reachable = routingKeysReachable.length > 0;
  const operational = reachable
    ? done
    : waiting('no-connector', `no connector of ${keys.slice(0, 8).map(quote).join(', ')} can be reached`);
  const strategy = priority === undefined ? { weighted: { routingKeysReachable } } : { priority: { routingKeysReachable } };
  return {
    ...verdict(listenerSteps(state, reachable, { type: 'Operational', state: operational }, view), warningsOf(view.own), view.moment),
    hasDestination: reachable,
    strategy,
  };
}

/** Matched but not yet listening is not ready: a connection would still be refused. */
function listenerSteps(
  state: ListenerState | undefined,
  reachable: boolean,
  match: { readonly type: string; readonly state: StepState },
  view: View,
) {
  const planned = configured(view.own);
  const opening = reachable && state?.listening !== true ? waiting('opening', 'its socket is being opened') : done;
  return [{ type: 'Configured', state: firstOf(planned, inRouter(state), opening) }, match];
}

export function observeConnector(connector: Connector, view: View): ConnectorStatus {
  const state = stateOf(view.router?.connectors, keyOf(connector));
  const matched = state?.matched === true;
  const match = matched ? done : waiting('no-listener', `no listener of routing key ${quote(connector.spec.routingKey)} is in the network`);
  const steps = [
    { type: 'Configured', state: firstOf(configured(view.own), inRouter(state)) },
    { type: 'Matched', state: match },
  ];
  return { ...verdict(steps, warningsOf(view.own), view.moment), hasMatchingListener: matched };
}

export function observeLink(link: Link, view: View): LinkStatus {
  const state = stateOf(view.router?.links, keyOf(link));
  const planned = firstOf(configured(view.own), state === undefined ? starting : done);
  // Its problem is about connecting, not about what was written.
  const operational =
    state?.operational === true ? done : state?.problem === undefined ? waiting('connecting', 'it is connecting') : failed(state.problem);
  // What the site calls itself now; when the link was opened it may have had another name.
  const remoteSiteName = view.router?.network.find(({ site }) => site.id === state?.remoteSiteId)?.site.name ?? state?.remoteSiteName;
  const steps = [
    { type: 'Configured', state: planned },
    { type: 'Operational', state: operational },
  ];
  return {
    ...verdict(steps, warningsOf(view.own), view.moment),
    ...(state?.remoteSiteId === undefined ? {} : { remoteSiteId: state.remoteSiteId }),
    ...(remoteSiteName === undefined ? {} : { remoteSiteName }),
  };
}

/** The router has it, and nothing is wrong with it there. */
export function inRouter(state: { readonly problem?: Problem } | undefined): StepState {
  if (state === undefined) return starting;
  return state.problem === undefined ? done : failed(state.problem);
}

/** The first that is not done. */
export function firstOf(...states: readonly StepState[]): StepState {
  return states.find(({ kind }) => kind === 'failed') ?? states.find(({ kind }) => kind === 'waiting') ?? done;
}

/** Names come from outside, so what an object inherits does not count. */
export function stateOf<T>(states: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return states !== undefined && Object.hasOwn(states, name) ? states[name] : undefined;
}
