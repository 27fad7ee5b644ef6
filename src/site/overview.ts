/** Summary of a site from its statuses (pure). Commands and pages show the same. */
import type { Site, SiteRecord } from '../api/skupper/index.ts';
import { nameOf, sortResources, type Kind, type SiteObject } from './resources.ts';
import { sortActiveFirst } from './surplus-sites.ts';

/** In display order. */
export const overviewKinds = [
  'Link',
  'AccessToken',
  'Listener',
  'MultiKeyListener',
  'Connector',
  'AttachedConnector',
  'AttachedConnectorBinding',
  'RouterAccess',
  'AccessGrant',
] as const satisfies readonly Kind[];

/** Shown only if not ready: a site creates them for itself. */
export const quietKinds = ['Certificate', 'SecuredAccess'] as const satisfies readonly Kind[];

export interface SiteOverview {
  /** The active Site comes first. */
  readonly sites: readonly Site[];
  /** Kinds with at least one resource. */
  readonly resources: readonly { readonly kind: (typeof overviewKinds)[number]; readonly items: readonly SiteObject[] }[];
}

export function siteOverview(objects: readonly SiteObject[]): SiteOverview {
  const sorted = sortResources(objects);
  const resources = overviewKinds.map((kind) => ({ kind, items: sorted[kind] })).filter(({ items }) => items.length > 0);
  return { sites: sortActiveFirst(sorted.Site), resources };
}

/** Whether a resource is used up: a token that became a Link, or a grant whose tokens can no longer be redeemed. */
export function isPast(object: SiteObject, now: number): boolean {
  if (object.kind === 'AccessToken') return object.status?.redeemed === true && object.status.status !== 'Error';
  if (object.kind !== 'AccessGrant') return false;
  const { redemptions = 0, expirationTime } = object.status ?? {};
  return redemptions >= Math.max(1, object.spec.redemptionsAllowed ?? 1) || Date.parse(expirationTime ?? '') <= now;
}

/** Whether the status is Ready. For tokens and certificates, only a condition may say so. */
export function isReady({ status }: Pick<SiteObject, 'status'>): boolean {
  const { status: state, conditions = [] } = status ?? {};
  return state === 'Ready' || conditions.some(({ type, status: holds }) => (type === 'Ready' || type === 'Redeemed') && holds === 'True');
}

export interface NotReady {
  readonly kind: Kind;
  readonly name: string;
  readonly status: string;
  readonly message: string;
}

/** Resources that do not work at present, Sites first. Used-up ones do not count. */
export function listNotReady(objects: readonly SiteObject[], now: number): readonly NotReady[] {
  const sorted = sortResources(objects);
  return (['Site', ...overviewKinds, ...quietKinds] as const)
    .flatMap((kind): readonly SiteObject[] => sorted[kind])
    .filter((object) => !isReady(object) && !isPast(object, now))
    .map((object) => ({
      kind: object.kind,
      name: nameOf(object),
      status: object.status?.status ?? 'Pending',
      message: object.status?.message ?? '',
    }));
}

/**
 * `Ready, but 1 Link and 2 Listeners are not`.
 * @param status of the Site
 */
export function headline(status: string | undefined, notReady: readonly NotReady[]): string | undefined {
  const others = notReady.filter(({ kind }) => kind !== 'Site');
  const parts = [...Map.groupBy(others, ({ kind }) => kind)].map(([kind, { length }]) => `${length} ${length === 1 ? kind : plural(kind)}`);
  if (status === undefined || parts.length === 0) return status;
  const last = parts.at(-1) ?? '';
  const listed = parts.length === 1 ? last : `${parts.slice(0, -1).join(', ')} and ${last}`;
  const verb = others.length === 1 ? 'is' : 'are';
  return status === 'Ready' ? `Ready, but ${listed} ${verb} not` : `${status}, and ${listed} ${verb} not ready`;
}

export function plural(kind: string): string {
  return `${kind}${kind.endsWith('s') ? 'es' : 's'}`;
}

export interface NetworkOverview {
  readonly sites: readonly NetworkSite[];
  /** Sorted by name. */
  readonly keys: readonly KeyOverview[];
}

/** Unknown texts are empty. */
export interface NetworkSite {
  readonly name: string;
  readonly id: string;
  readonly namespace: string;
  readonly platform: string;
  readonly version: string;
  /** Whether it is the site that was asked. */
  readonly isThis: boolean;
  /** Links by their remote site: in the network, a link's own name is a number that means nothing to users. */
  readonly links: readonly { readonly to: string; readonly operational: boolean }[];
  readonly keys: readonly { readonly routingKey: string; readonly connectors: number; readonly listeners: number }[];
}

/** A routing key, and the names of the sites with connectors and with listeners for it. */
export interface KeyOverview {
  readonly routingKey: string;
  readonly connectorsAt: readonly string[];
  readonly listenersAt: readonly string[];
}

/** @param self the site that sees this network */
export function networkOverview(
  network: readonly SiteRecord[],
  self: { readonly name: string | undefined; readonly namespace: string },
): NetworkOverview {
  const sites = network.map((record) => networkSite(record, record.name === self.name && record.namespace === self.namespace));
  const uses = sites.flatMap(({ name, keys }) => keys.map((key) => ({ site: name, ...key })));
  const keys = [...Map.groupBy(uses, ({ routingKey }) => routingKey)]
    .map(([routingKey, of]) => ({
      routingKey,
      connectorsAt: of.filter(({ connectors }) => connectors > 0).map(({ site }) => site),
      listenersAt: of.filter(({ listeners }) => listeners > 0).map(({ site }) => site),
    }))
    .toSorted((one, other) => (one.routingKey < other.routingKey ? -1 : 1));
  return { sites, keys };
}

function networkSite(
  { name = '', id = '', namespace = '', platform = '', version = '', links = [], services = [] }: SiteRecord,
  isThis: boolean,
): NetworkSite {
  return {
    name,
    id,
    namespace,
    platform,
    version,
    isThis,
    links: links.map(({ remoteSiteName, remoteSiteId, operational }) => ({
      to: remoteSiteName ?? remoteSiteId ?? 'an unknown site',
      operational: operational !== false,
    })),
    keys: services.map(({ routingKey = '', connectors = [], listeners = [] }) => ({
      routingKey,
      connectors: connectors.length,
      listeners: listeners.length,
    })),
  };
}
