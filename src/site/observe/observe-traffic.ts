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
import type { ListenerState, ServerHealth } from '../../router/contract.ts';
import { keyOf, nameOf } from '../resources.ts';
import { hostAlias, partState } from './network-part.ts';
import { linkOfRouters } from './link-of-routers.ts';
import { configured, done, failed, firstOf, inRouter, stateOf, statusOf, waiting } from './status.ts';
import { timeText } from './time-text.ts';
import type { View } from './view.ts';
import { NOT_OPERATIONAL, type Progress } from './message-format.ts';
import { quoted } from '../../text/printable.ts';

export function observeListener(listener: Listener, view: View): ListenerStatus {
  const { listener: state, router } = partState(keyOf(listener), view);
  const reachable = (state?.reachableKeys.length ?? 0) > 0;
  const conditions = {
    Configured: listening(state, router, reachable, view),
    Matched: reachable
      ? done
      : waiting('no-connector', lostWords(state, view) ?? `no connector of routing key ${quoted(listener.spec.routingKey)} can be reached`),
  };
  return {
    ...statusOf(conditions, view, { needs: [router.kind === 'done' ? named(listener, view) : done, served(state, view)] }),
    hasMatchingConnector: reachable,
  };
}

export function observeMultiKey(listener: MultiKeyListener, view: View): MultiKeyListenerStatus {
  const { listener: state, router } = partState(keyOf(listener), view);
  const { priority, weighted } = listener.spec.strategy;
  const keys = priority?.routingKeys ?? Object.keys(weighted?.routingKeys ?? {});
  const open = new Set(state?.reachableKeys);
  const reachableKeys = keys.filter((key) => open.has(key));
  const reachable = reachableKeys.length > 0;
  const conditions = {
    Configured: listening(state, router, reachable, view),
    Operational: reachable
      ? done
      : waiting(
          'no-connector',
          lostWords(state, view) ??
            `no connector of ${keys
              .slice(0, 8)
              .map((key) => quoted(key))
              .join(', ')} can be reached`,
        ),
  };
  const weights = Object.fromEntries(reachableKeys.map((key) => [key, weighted?.routingKeys[key] ?? 0]));
  const strategy =
    priority === undefined ? { weighted: { routingKeysReachable: weights } } : { priority: { routingKeysReachable: reachableKeys } };
  return {
    ...statusOf(conditions, view, { needs: [router.kind === 'done' ? named(listener, view) : done, served(state, view)] }),
    hasDestination: reachable,
    strategy,
  };
}

const MOST_LOST = 4;

/** Names the sites that served it before, and why they no longer do. */
function lostWords(state: ListenerState | undefined, { router }: View): string | undefined {
  const lost = state?.lostSites ?? [];
  if (lost.length === 0) return undefined;
  const isReachable = (id: string): boolean => router?.network.some(({ site }) => site.id === id) === true;
  return lost
    .slice(0, MOST_LOST)
    .map(({ routingKey, siteId, siteName, since, reason }) =>
      isReachable(siteId)
        ? `site ${quoted(siteName)} has had no connector of routing key ${quoted(routingKey)} since ${timeText(since)}`
        : `${lostSite(siteName)} since ${timeText(since)}: ${withoutStop(reason)}`,
    )
    .join('; ');
}

const lostSite = (name: string): string => `site ${quoted(name)}, which served it, is unreachable`;

/** Whether the status says that the site of this name served the listener and is unreachable. */
export function namesLostSite(message: string, name: string | undefined): boolean {
  return name !== undefined && message.includes(lostSite(name));
}

const withoutStop = (sentence: string): string => sentence.replace(/\.$/, '');

/** Not ready while all of its servers refuse connections. Clients' connections are still offered to them. */
function served(state: ListenerState | undefined, { router }: View): Progress {
  const sites = state?.refusedBy ?? [];
  if (sites.length === 0) return done;
  const names = sites.slice(0, 4).map((id) => router?.network.find(({ site }) => site.id === id)?.site.name ?? id);
  const where = names.join(', ');
  return waiting('servers-failing', `its servers refuse connections: see \`earshot connector status\` at ${where}`);
}

/** A matched listener that is not listening is not ready: a connection would be refused. */
function listening(state: ListenerState | undefined, router: Progress, reachable: boolean, view: View): Progress {
  const opening = reachable && state?.listening !== true ? waiting('opening', 'its socket is being opened') : done;
  return firstOf(configured(view), router.kind === 'done' ? inRouter(state) : router, opening);
}

function named(listener: Listener | MultiKeyListener, view: View): Progress {
  return hostAlias(keyOf(listener), listener.spec.host, view);
}

export function observeConnector(connector: Connector, view: View): ConnectorStatus {
  const { connector: state, router } = partState(keyOf(connector), view);
  const selectedPods = view.plan.selectedPods.get(keyOf(connector));
  const matched = state?.matched === true;
  const conditions = {
    Configured: firstOf(configured(view), router.kind === 'done' ? inRouter(state) : router),
    Matched: matched ? done : waiting('no-listener', `no listener of routing key ${quoted(connector.spec.routingKey)} is in the network`),
  };
  return {
    ...statusOf(conditions, view, { needs: [serving(state?.servers)], notes: staleNames([connector.spec.host], view) }),
    hasMatchingListener: matched,
    ...(selectedPods === undefined ? {} : { selectedPods }),
  };
}

/**
 * A server that never accepted a connection may only have to start. If it has accepted one, or if its certificate is refused, a user must
 * act.
 */
function serving(servers: ServerHealth | undefined): Progress {
  if (servers === undefined) return done;
  if (servers.kind === 'untried') return waiting('server-untried', 'its server is being tried');
  const { code, message } = servers.problem;
  const text = code === 'target-refused' ? `${message} Start the server, or correct spec.host and spec.port` : message;
  return servers.worked || code.startsWith('target-tls-') ? failed({ code, message: text }) : waiting(code, text);
}

export function observeLink(link: Link, view: View): LinkStatus {
  const state = linkOfRouters(keyOf(link), view);
  // A router without the link, perhaps because its bundle is missing, must keep these values for its successors.
  const remembered = state === undefined ? view.remembered?.get(nameOf(link)) : undefined;
  const remoteSiteId = state?.remoteSiteId ?? remembered?.site;
  const announced = state?.announced ?? remembered?.endpoints;
  // Current name of the site; it may have changed since the link was opened.
  const remoteSiteName = view.router?.network.find(({ site }) => site.id === remoteSiteId)?.site.name ?? state?.remoteSiteName;
  const conditions = {
    // The router's problem concerns connecting, not the configuration.
    Configured: firstOf(configured(view), state === undefined ? inRouter(state) : done),
    Operational:
      state?.operational === true
        ? { ...done, ...(state.note === undefined ? {} : { note: state.note }) }
        : state?.problem === undefined
          ? waiting('connecting', state?.slow ?? 'it is connecting')
          : { ...failed(state.problem), waitsAs: NOT_OPERATIONAL },
  };
  return {
    ...statusOf(conditions, view, {
      notes: [
        ...(state?.note === undefined ? [] : [state.note]),
        ...staleNames(
          link.spec.endpoints.map(({ host }) => host),
          view,
        ),
      ],
    }),
    ...(remoteSiteId === undefined ? {} : { remoteSiteId }),
    ...(remoteSiteName === undefined ? {} : { remoteSiteName }),
    ...(announced === undefined ? {} : { endpoints: announced.map(({ host, port }) => ({ host, port: String(port) })) }),
  };
}

/** The link may still work: the router uses the addresses of the resolver's last answer. */
function staleNames(hosts: readonly (string | undefined)[], { router }: View): readonly string[] {
  return [...new Set(hosts)].flatMap((host) => {
    const since = host === undefined ? undefined : stateOf(router?.staleNames, host);
    if (host === undefined || since === undefined) return [];
    return [`the name ${quoted(host)} is not resolved at present: its addresses of ${timeText(since)} are used`];
  });
}
