/** Names, labels and annotations of a site's objects in a cluster, used by its processes and by users' tools. */

/** Default name of the site controller, its ServiceAccount, roles and Lease. */
export const CONTROLLER_NAME = 'skupper-controller';
/**
 * Field manager of server-side apply (metadata.managedFields). A fixed name lets the controller take over fields that an earlier
 * one applied.
 */
export const FIELD_MANAGER = 'skupper-controller';
/** ConfigMap in which a namespace names its controller. */
export const CONTROL_CONFIG = 'skupper';

/**
 * Deployment, ServiceAccount, Role, RoleBinding and ConfigMap of a site's router. With `ha` the second Deployment has the suffix
 * `-2`.
 */
export const ROUTER = 'skupper-router';
export const SECOND_ROUTER = 'skupper-router-2';
/** Environment variable of a router's container: UID of its Site. */
export const SITE_UID = 'SITE_UID';
/** Service of the router for the site's own programs. */
export const ROUTER_LOCAL = 'skupper-router-local';
/** Lease for leader election among the site's router pods. */
export const SITE_LEADER = 'skupper-site-leader';
/** ConfigMap that the leading router writes. The controller and tools read it. */
export const NETWORK_STATUS = 'skupper-network-status';
/** ConfigMap with which routers ask the controller to sign certificate renewals for linked sites. */
export const RENEWALS = 'skupper-router-renewals';
/**
 * Prefix of its keys with which a user requests a certificate for one of the site's own links, followed by the Link's name. The
 * site's routers answer there.
 */
export const RENEW_NOW = 'renew-';
/** Secret with the site's private key under `SITE_KEY_FILE`. */
export const SITE_KEY = 'skupper-site-key';
export const SITE_KEY_FILE = 'site.key';
/** Secret with the issued and revoked certificates. Only the controller uses it. */
export const LEDGER = 'skupper-site-ledger';
/** Secret with the keys whose certificates are not signed yet. Only the controller uses it. */
export const PENDING_KEYS = 'skupper-pending-keys';

/** Certificate resources, and Secrets of the same names. */
export const SITE_CA = 'skupper-site-ca';
export const LOCAL_CA = 'skupper-local-ca';
export const LOCAL_SERVER = 'skupper-local-server';
export const SITE_SERVER = 'skupper-site-server';

/**
 * Keys of ConfigMap `ROUTER`, each holding JSON: the namespace's Site (`{ name, uid }`), the revocations (`Revocations`), and the
 * anchor of the site's other state (`Anchor`).
 */
export const ROUTER_DATA = { site: 'site.json', revoked: 'revoked.json', anchor: 'anchor.json' } as const;
/**
 * Keys of ConfigMap `NETWORK_STATUS`. JSON: the status for tools, the sites as in `Site.status.network`, and the routing keys of
 * single pods of exposed Listeners (`string[]`). Text: a sentence in `cut` if the network was too large to report in full.
 * `routers-apart` has a line for each pair of the site's routers without a link.
 */
export const NETWORK_DATA = {
  tools: 'NetworkStatus',
  sites: 'sites.json',
  podKeys: 'pod-keys.json',
  cut: 'cut',
  apart: 'routers-apart',
  incoming: 'incoming-links.json',
} as const;

/** Ports of a router's container. Ports of Listeners start at `FIRST_LISTENER_PORT`. */
export const ROUTER_PORTS = { siblings: 5671, metrics: 9000, http: 9090, api: 9191 } as const;
export const FIRST_LISTENER_PORT = 1024;

export const label = {
  component: 'skupper.io/component',
  type: 'skupper.io/type',
  group: 'skupper.io/group',
  labelTemplate: 'skupper.io/label-template',
  siteSizing: 'skupper.io/site-sizing',
  listener: 'internal.skupper.io/listener',
  /** Label of EndpointSlices that give routers the servers of an AttachedConnector. */
  attached: 'internal.skupper.io/attached',
  routerConfig: 'internal.skupper.io/router-config',
  securedAccess: 'internal.skupper.io/secured-access',
  certificate: 'internal.skupper.io/certificate',
} as const;

export const annotation = {
  /** `"true"` on objects that a controller created. */
  controlled: 'internal.skupper.io/controlled',
  certificate: 'internal.skupper.io/certificate',
  hosts: 'internal.skupper.io/hosts',
  routerAccess: 'internal.skupper.io/routeraccess',
  /** On the EndpointSlices of an AttachedConnector: the owner of the servers, and how to connect to them. */
  attached: 'internal.skupper.io/attached',
  configDigest: 'skupper.io/config-digest',
  defaultSizing: 'skupper.io/default-site-sizing',
  /** On Secrets with TLS bundles: overrides the Site's setting of the same name. */
  priorRevisions: 'skupper.io/tls-prior-valid-revisions',
  /** `"true"` on the Secret of a TLS bundle that was written for a token. */
  tokenBundle: 'earshot/token-bundle',
  /** Digest of the object that the controller applied last. It shows later that a field is no longer desired. */
  applied: 'earshot/applied',
} as const;

/** Selects only the router pods of a site. */
export const ROUTER_SELECTOR = { application: ROUTER, [label.component]: 'router' } as const;

/** SecuredAccess, Service and Secret of the token redemption server, and its CA, in the controller's namespace. */
export const GRANT_SERVER = 'skupper-grant-server';
export const GRANT_SERVER_CA = 'skupper-grant-server-ca';
/** Label of the leading controller pod, which serves grants: `"true"`. */
export const LEADER_LABEL = 'earshot/leader';
/** Secret with the state of the site's grants: codes, counts and certified keys. Only the controller uses it. */
export const GRANTS = 'skupper-site-grants';

/** Secrets with the controller's private records of a site. Secrets listed here are kept from routers and from Certificates. */
const CONTROLLERS_RECORDS = [LEDGER, GRANTS, PENDING_KEYS] as const;

/** Secrets with a site's key and its records. No Certificate may use one of these names. */
export const RECORDS: ReadonlySet<string> = new Set([SITE_KEY, ...CONTROLLERS_RECORDS]);

/**
 * Secrets that only the controller may read, even if a resource names them. The first three could be used to sign certificates.
 * The others hold a site's records and keys without certificates.
 */
export const CONTROLLERS_SECRETS: ReadonlySet<string> = new Set([SITE_CA, LOCAL_CA, GRANT_SERVER_CA, ...CONTROLLERS_RECORDS]);
