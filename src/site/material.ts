import type { Learned, Problem, ProxyConfig, TlsBundle } from '../router/contract.ts';
import type { AccessRules, Capabilities, FieldDefaults } from './capabilities.ts';

/** Inputs of a site's plan besides its resources: plain data that a platform provides. */
export interface Material {
  readonly capabilities: Capabilities;
  readonly defaults: FieldDefaults;
  /** As `Platform.access`. */
  readonly access?: AccessRules | undefined;
  /** Container network of this router; undefined for routers on the network of the machine. */
  readonly network?: string | undefined;
  /** Pods of the site's namespace; undefined if the platform has none. */
  readonly pods?: readonly SelectablePod[];
  /** Servers that AttachedConnectors of other namespaces select for this site; undefined if the platform has none. */
  readonly attachedServers?: readonly AttachedServers[];
  /** Proxies for links, by the name that `settings.proxy-configuration` uses. */
  readonly proxies?: ReadonlyMap<string, ProxyConfig>;
  /** Learned endpoints by the names of Links: see `rememberedOf`. */
  readonly remembered?: ReadonlyMap<string, Learned>;
  /** Services that give listeners their names and ports; undefined if listeners have addresses of a machine. */
  readonly services?: ServiceMaterial;
  /** Existing TLS bundles, by the name that `tlsCredentials` uses. */
  readonly bundles: ReadonlyMap<string, TlsBundle>;
  /** Names of Secrets that cannot be read but may only be late; undefined if nothing is ever late. */
  readonly awaitedSecrets?: Pick<ReadonlySet<string>, 'has'>;
  /** Existing bundles that cannot be read, with the reason. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** Certificate of the site's own CA in PEM form: other sites present certificates of this CA. */
  readonly siteAuthority?: string;
  /** Names and addresses of the router's machine, which other machines may have too; empty if the site is reached through a Service. */
  readonly ownHosts: readonly string[];
  /** Problems that keep a bundle from serving a purpose; empty if there are none. */
  readonly check: (bundle: TlsBundle, use: BundleUse) => readonly BundleProblem[];
  /** Last valid bundle of that name, which replaces one that no longer serves a purpose. */
  readonly lastValid: (name: string, use: BundleUse) => LastValid | undefined;
  /** Location of a bundle with this name, for messages: `input/certs/web/`. */
  readonly bundleLocation: (name: string) => string;
}

/** Fields of a pod that selectors and connections need. */
export interface SelectablePod {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Undefined until assigned (`Pod.status.podIP`). */
  readonly ip?: string;
  /** Whether its phase is Running and it is not being deleted. */
  readonly running: boolean;
  /** Whether its condition Ready is True. */
  readonly ready: boolean;
}

/**
 * Servers of one AttachedConnector that allows this site's namespace. The AttachedConnectorBinding decides whether this site admits them.
 */
export interface AttachedServers {
  /** Name of the AttachedConnector, and so of the AttachedConnectorBinding. */
  readonly name: string;
  /** Namespace of the AttachedConnector. */
  readonly namespace: string;
  readonly port: number;
  /** Name of a bundle in the site's namespace. */
  readonly tlsCredentials?: string;
  readonly useClientCert: boolean;
  /** Pods that accept connections. */
  readonly pods: readonly { readonly name: string; readonly ip: string }[];
}

/** Services at which clients in a cluster reach the listeners of a site. */
export interface ServiceMaterial {
  /** All Services of the site's namespace, including foreign ones. */
  readonly services: readonly NamespaceService[];
  /** Routing keys of single pods (`KEY.POD`) with a connector in the network. */
  readonly podKeys: readonly string[];
}

/** Fields of a Service that concern listeners; `namespaceService` creates it. */
export interface NamespaceService {
  readonly name: string;
  /** Value of the label for Services of listeners; undefined for a foreign Service. */
  readonly label?: string;
  /** Kind and name of the foreign controller that owns it: then its label and annotations do not count. */
  readonly owner?: string;
  /** Whether it was created for listeners, and is deleted with the last of them. */
  readonly controlled: boolean;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: number | string }[];
}

/** `server`: certificate and key. `client`: both, and `ca` to verify the server. `trust`: only `ca`. */
export type BundleUse = 'server' | 'client' | 'trust';

export interface LastValid {
  readonly bundle: TlsBundle;
  /** Time of expiry, in milliseconds since 1970. */
  readonly until: number;
}

export interface BundleProblem extends Problem {
  /** Whether it may resolve with time (a clock, a renewal). Then it is reported, and the bundle is still used. */
  readonly passing: boolean;
}
