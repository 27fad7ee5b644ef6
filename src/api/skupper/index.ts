/**
 * skupper.io/v2alpha1: object types and resource descriptions. The schemas are imported as types only, so programs that only read
 * and write objects do not load them. `validateResource` (validate.ts) turns input of files and peers into these types.
 */
import type { TSchema } from 'typebox';
import type { KubeObject } from '../../kube/objects.ts';
import { resource, type Resource } from '../../kube/resource.ts';
import type { ValueOf } from '../schema.ts';
import type { accessGrantSpec, accessGrantStatus } from './access-grant.ts';
import type { accessTokenSpec, accessTokenStatus } from './access-token.ts';
import type {
  attachedConnectorBindingSpec,
  attachedConnectorBindingStatus,
  attachedConnectorSpec,
  attachedConnectorStatus,
} from './attached-connector.ts';
import type { certificateSpec, certificateStatus } from './certificate.ts';
import type { connectorSpec, connectorStatus } from './connector.ts';
import type { linkSpec, linkStatus } from './link.ts';
import type { listenerSpec, listenerStatus } from './listener.ts';
import type { multiKeyListenerSpec, multiKeyListenerStatus } from './multi-key-listener.ts';
import { API_VERSION } from './names.ts';
import type { endpoint } from './parts.ts';
import type { routerAccessSpec, routerAccessStatus } from './router-access.ts';
import type { securedAccessSpec, securedAccessStatus } from './secured-access.ts';
import type { siteSpec, siteStatus } from './site.ts';

/** An object of any kind. `K` discriminates between kinds in one list. */
interface SkupperObject<K extends string, Spec extends TSchema, Status extends TSchema> extends KubeObject {
  readonly apiVersion: typeof API_VERSION;
  readonly kind: K;
  readonly spec: ValueOf<Spec>;
  readonly status?: ValueOf<Status>;
}

export type Site = SkupperObject<'Site', typeof siteSpec, typeof siteStatus>;
export type Listener = SkupperObject<'Listener', typeof listenerSpec, typeof listenerStatus>;
export type MultiKeyListener = SkupperObject<'MultiKeyListener', typeof multiKeyListenerSpec, typeof multiKeyListenerStatus>;
export type Connector = SkupperObject<'Connector', typeof connectorSpec, typeof connectorStatus>;
export type Link = SkupperObject<'Link', typeof linkSpec, typeof linkStatus>;
export type AccessGrant = SkupperObject<'AccessGrant', typeof accessGrantSpec, typeof accessGrantStatus>;
export type AccessToken = SkupperObject<'AccessToken', typeof accessTokenSpec, typeof accessTokenStatus>;
export type RouterAccess = SkupperObject<'RouterAccess', typeof routerAccessSpec, typeof routerAccessStatus>;
export type SecuredAccess = SkupperObject<'SecuredAccess', typeof securedAccessSpec, typeof securedAccessStatus>;
export type Certificate = SkupperObject<'Certificate', typeof certificateSpec, typeof certificateStatus>;
export type AttachedConnector = SkupperObject<'AttachedConnector', typeof attachedConnectorSpec, typeof attachedConnectorStatus>;
export type AttachedConnectorBinding = SkupperObject<
  'AttachedConnectorBinding',
  typeof attachedConnectorBindingSpec,
  typeof attachedConnectorBindingStatus
>;

export type SiteStatus = ValueOf<typeof siteStatus>;
export type ListenerStatus = ValueOf<typeof listenerStatus>;
export type MultiKeyListenerStatus = ValueOf<typeof multiKeyListenerStatus>;
export type ConnectorStatus = ValueOf<typeof connectorStatus>;
export type LinkStatus = ValueOf<typeof linkStatus>;
export type AccessGrantStatus = ValueOf<typeof accessGrantStatus>;
export type AccessTokenStatus = ValueOf<typeof accessTokenStatus>;
export type RouterAccessStatus = ValueOf<typeof routerAccessStatus>;
export type SecuredAccessStatus = ValueOf<typeof securedAccessStatus>;
export type CertificateStatus = ValueOf<typeof certificateStatus>;
/** One site in `Site.status.network`. */
export type SiteRecord = NonNullable<SiteStatus['network']>[number];
/** A link that another site opened, in `Site.status.incomingLinks`. */
export type IncomingLink = NonNullable<SiteStatus['incomingLinks']>[number];
/** Address at which links are accepted. `port` is a string here. */
export type Endpoint = ValueOf<typeof endpoint>;

export type SkupperResource =
  | Site
  | Listener
  | MultiKeyListener
  | Connector
  | Link
  | AccessGrant
  | AccessToken
  | RouterAccess
  | SecuredAccess
  | Certificate
  | AttachedConnector
  | AttachedConnectorBinding;

export type SkupperKind = SkupperResource['kind'];
/** `status.status` of every kind. */
export type StatusWord = NonNullable<ListenerStatus['status']>;

export const sites = resource<Site>(API_VERSION, 'Site', 'sites');
export const listeners = resource<Listener>(API_VERSION, 'Listener', 'listeners');
export const multiKeyListeners = resource<MultiKeyListener>(API_VERSION, 'MultiKeyListener', 'multikeylisteners');
export const connectors = resource<Connector>(API_VERSION, 'Connector', 'connectors');
export const links = resource<Link>(API_VERSION, 'Link', 'links');
export const accessGrants = resource<AccessGrant>(API_VERSION, 'AccessGrant', 'accessgrants');
export const accessTokens = resource<AccessToken>(API_VERSION, 'AccessToken', 'accesstokens');
export const routerAccesses = resource<RouterAccess>(API_VERSION, 'RouterAccess', 'routeraccesses');
export const securedAccesses = resource<SecuredAccess>(API_VERSION, 'SecuredAccess', 'securedaccesses');
export const certificates = resource<Certificate>(API_VERSION, 'Certificate', 'certificates');
export const attachedConnectors = resource<AttachedConnector>(API_VERSION, 'AttachedConnector', 'attachedconnectors');
export const attachedConnectorBindings = resource<AttachedConnectorBinding>(
  API_VERSION,
  'AttachedConnectorBinding',
  'attachedconnectorbindings',
);

/** All resources by kind, in display order. */
export const skupperResources: Readonly<Record<SkupperKind, Resource>> = {
  Site: sites,
  Listener: listeners,
  MultiKeyListener: multiKeyListeners,
  Connector: connectors,
  Link: links,
  RouterAccess: routerAccesses,
  AccessGrant: accessGrants,
  AccessToken: accessTokens,
  Certificate: certificates,
  AttachedConnector: attachedConnectors,
  AttachedConnectorBinding: attachedConnectorBindings,
  SecuredAccess: securedAccesses,
};

/** All kinds, in display order. The table is keyed by kind. */
export const skupperKinds = Object.keys(skupperResources) as readonly SkupperKind[];
