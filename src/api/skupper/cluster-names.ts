/** The names, labels and annotations by which a site's objects in a cluster are known: to its processes, and to people's tools. */

/** Of Earshot's controller of sites, its account, its roles and its Lease, unless it is told another. */
export const CONTROLLER_NAME = 'skupper-controller';
/** The owner of the fields that the controller applies (metadata.managedFields): one name, so that what an earlier one applied is taken over. */
export const FIELD_MANAGER = 'skupper-controller';
/** ConfigMap by which a namespace says which controller it is of. */
export const CONTROL_CONFIG = 'skupper';

/** Deployment, ServiceAccount, Role, RoleBinding and ConfigMap of a site's router; with `ha` a second Deployment has `-2` behind it. */
export const ROUTER = 'skupper-router';
export const SECOND_ROUTER = 'skupper-router-2';
/** Service of the router for programs of the site's own. */
export const ROUTER_LOCAL = 'skupper-router-local';
/** Lease by which one router pod of the site leads. */
export const SITE_LEADER = 'skupper-site-leader';
/** ConfigMap that the leading router writes, and the controller and tools read. */
export const NETWORK_STATUS = 'skupper-network-status';
/** ConfigMap by which routers ask the controller to sign renewals for the sites that are linked to them. */
export const RENEWALS = 'skupper-router-renewals';
/** Begins its keys by which people ask for the certificate of one of the site's own links: the Link's name follows. Its routers answer there. */
export const RENEW_NOW = 'renew-';
/** Secret with the site's own key, under `SITE_KEY_FILE`. */
export const SITE_KEY = 'skupper-site-key';
export const SITE_KEY_FILE = 'site.key';
/** Secret with what was issued and who is revoked, for the controller alone. */
export const LEDGER = 'skupper-site-ledger';
/** Secret with the keys of what is not certified yet, for the controller alone. */
export const PENDING_KEYS = 'skupper-pending-keys';

/** Certificates and the Secrets of the same names. */
export const SITE_CA = 'skupper-site-ca';
export const LOCAL_CA = 'skupper-local-ca';
export const LOCAL_SERVER = 'skupper-local-server';
export const SITE_SERVER = 'skupper-site-server';

/**
 * The keys of ConfigMap `ROUTER`, each JSON: which Site the namespace is (`{ name, uid }`), who is revoked (`Revocations`), and what the site
 * remembers of its other state (`Anchor`).
 */
export const ROUTER_DATA = { site: 'site.json', revoked: 'revoked.json', anchor: 'anchor.json' } as const;
/**
 * The keys of ConfigMap `NETWORK_STATUS`: what tools read; the sites as `Site.status.network` has them; and the routing keys in the network
 * that are of one pod of an exposed Listener (`string[]`), each as JSON; a sentence where the network is too large to be told whole; and a line
 * for each two routers of the site that are not linked to each other.
 */
export const NETWORK_DATA = {
  tools: 'NetworkStatus',
  sites: 'sites.json',
  podKeys: 'pod-keys.json',
  cut: 'cut',
  apart: 'routers-apart',
  incoming: 'incoming-links.json',
} as const;

/** Ports of a router's container. Listeners get theirs from `FIRST_LISTENER_PORT` on. */
export const ROUTER_PORTS = { siblings: 5671, metrics: 9000, http: 9090, api: 9191 } as const;
export const FIRST_LISTENER_PORT = 1024;

export const label = {
  component: 'skupper.io/component',
  type: 'skupper.io/type',
  group: 'skupper.io/group',
  labelTemplate: 'skupper.io/label-template',
  siteSizing: 'skupper.io/site-sizing',
  listener: 'internal.skupper.io/listener',
  /** On EndpointSlices by which routers are told of the servers of an AttachedConnector. */
  attached: 'internal.skupper.io/attached',
  routerConfig: 'internal.skupper.io/router-config',
  securedAccess: 'internal.skupper.io/secured-access',
  certificate: 'internal.skupper.io/certificate',
} as const;

export const annotation = {
  /** `"true"` on what a controller has made. */
  controlled: 'internal.skupper.io/controlled',
  certificate: 'internal.skupper.io/certificate',
  hosts: 'internal.skupper.io/hosts',
  routerAccess: 'internal.skupper.io/routeraccess',
  /** Of these EndpointSlices: whose servers, and how they are met. */
  attached: 'internal.skupper.io/attached',
  configDigest: 'skupper.io/config-digest',
  defaultSizing: 'skupper.io/default-site-sizing',
  /** Of Secrets with TLS bundles: overrides the Site's setting of that name. */
  priorRevisions: 'skupper.io/tls-prior-valid-revisions',
  /** `"true"` on the Secret of a bundle that was written for a token. */
  tokenBundle: 'earshot/token-bundle',
  /** A hash of all that the controller applied last: what it leaves out the next time is taken away. */
  applied: 'earshot/applied',
} as const;

/** Selects the router's pods of a site, and nothing else of it. */
export const ROUTER_SELECTOR = { application: ROUTER, [label.component]: 'router' } as const;

/** SecuredAccess, Service and Secret of the server where tokens are redeemed, and its authority, in the controller's namespace. */
export const GRANT_SERVER = 'skupper-grant-server';
export const GRANT_SERVER_CA = 'skupper-grant-server-ca';
/** On the one pod of the controller that leads, which serves grants: `"true"`. */
export const LEADER_LABEL = 'earshot/leader';
/** Secret with what became of the site's grants: codes, counts, and whose keys were certified; for the controller alone. */
export const GRANTS = 'skupper-site-grants';

/** What the controller keeps of a site for itself. A further one is listed here, and is kept from routers and from certificates alike. */
const CONTROLLERS_RECORDS = [LEDGER, GRANTS, PENDING_KEYS] as const;

/** Secrets in which a site keeps its key and its records: no certificate ever takes their place, whatever it is called. */
export const RECORDS: ReadonlySet<string> = new Set([SITE_KEY, ...CONTROLLERS_RECORDS]);

/**
 * Secrets that only the controller reads, whoever names them in a resource: by the first three somebody could sign, the others are a site's
 * records, and keys that wait for their certificate.
 */
export const CONTROLLERS_SECRETS: ReadonlySet<string> = new Set([SITE_CA, LOCAL_CA, GRANT_SERVER_CA, ...CONTROLLERS_RECORDS]);
