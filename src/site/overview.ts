/** What people ask of a site at a glance: pure, from statuses. Commands and pages show the same. */
import type { Site, SiteRecord } from '../api/skupper/index.ts';
import { nameOf, sortResources, type Kind, type SiteObject } from './resources.ts';
import { sortActiveFirst } from './surplus-sites.ts';

/** In the order in which they are shown. */
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

/** Shown only where one is not ready: a site creates them for itself. */
export const quietKinds = ['Certificate', 'SecuredAccess'] as const satisfies readonly Kind[];

export interface SiteOverview {
  /** The first is the one that runs. */
  readonly sites: readonly Site[];
  /** Of the kinds of which there is something. */
  readonly resources: readonly { readonly kind: (typeof overviewKinds)[number]; readonly items: readonly SiteObject[] }[];
}

export function siteOverview(objects: readonly SiteObject[]): SiteOverview {
  const sorted = sortResources(objects);
  const resources = overviewKinds.map((kind) => ({ kind, items: sorted[kind] })).filter(({ items }) => items.length > 0);
  return { sites: sortActiveFirst(sorted.Site), resources };
}

/** What was of use once and is only kept: a token that has become a Link, a grant of which no token can be redeemed any more. */
export function isPast(object: SiteObject, now: number): boolean {
  if (object.kind === 'AccessToken') return object.status?.redeemed === true && object.status.status !== 'Error';
  if (object.kind !== 'AccessGrant') return false;
  const { redemptions = 0, expirationTime } = object.status ?? {};
  return redemptions >= Math.max(1, object.spec.redemptionsAllowed ?? 1) || Date.parse(expirationTime ?? '') <= now;
}

/** The status says Ready. Of tokens and certificates the conditions alone may say so. */
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

/** What does not work at present, Sites first. What is only kept does not count. */
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

/** `Ready, but 1 Link and 2 Listeners are not`. @param status of the Site */
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
  /** By name. */
  readonly keys: readonly KeyOverview[];
}

/** A text that is not known is empty. */
export interface NetworkSite {
  readonly name: string;
  readonly id: string;
  readonly namespace: string;
  readonly platform: string;
  readonly version: string;
  /** The site that was asked. */
  readonly isThis: boolean;
  /** A link's own name is a number in the network, which means nothing to people. */
  readonly links: readonly { readonly to: string; readonly operational: boolean }[];
  readonly keys: readonly { readonly routingKey: string; readonly connectors: number; readonly listeners: number }[];
}

/** A routing key, and the names of the sites that have what of it. */
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
