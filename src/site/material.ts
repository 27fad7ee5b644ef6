import type { Learned, Problem, ProxyConfig, TlsBundle } from '../router/contract.ts';
import type { AccessRules, Capabilities, FieldDefaults } from './capabilities.ts';

/** What a site's plan is made from besides its resources: read by a platform, plain here. */
export interface Material {
  readonly capabilities: Capabilities;
  readonly defaults: FieldDefaults;
  /** As `Platform.access`. */
  readonly access?: AccessRules | undefined;
  /** Of the site's namespace; undefined where the platform has none. */
  readonly pods?: readonly SelectablePod[];
  /** What AttachedConnectors of other namespaces select for this site; undefined where the platform has none. */
  readonly attachedServers?: readonly AttachedServers[];
  /** Proxies for links, by the name that `settings.proxy-configuration` uses. */
  readonly proxies?: ReadonlyMap<string, ProxyConfig>;
  /** By the names of Links: see `rememberedOf`. */
  readonly remembered?: ReadonlyMap<string, Learned>;
  /** What gives listeners their names and ports; undefined where they have addresses of a machine. */
  readonly services?: ServiceMaterial;
  /** TLS bundles that are there, by the name that `tlsCredentials` uses. */
  readonly bundles: ReadonlyMap<string, TlsBundle>;
  /** Names of Secrets that cannot be read, and that may only be late. Undefined where nothing is late. */
  readonly awaitedSecrets?: ReadonlySet<string>;
  /** Bundles that are there but cannot be read, and why. */
  readonly unreadable: ReadonlyMap<string, string>;
  /** What the site's own authority is verified by, PEM: other sites show certificates of it. */
  readonly siteAuthority?: string;
  /** Names and addresses of the machine that the router runs on; none where it shares them with nobody who dials it. */
  readonly ownHosts: readonly string[];
  /** Whether a bundle can serve a purpose, and if not why. */
  readonly check: (bundle: TlsBundle, use: BundleUse) => readonly BundleProblem[];
  /** What is used in the place of a bundle that no longer serves a purpose, where it did before. */
  readonly lastValid: (name: string, use: BundleUse) => LastValid | undefined;
  /** Where a bundle of this name would be put, for messages: `input/certs/web/`. */
  readonly bundleLocation: (name: string) => string;
}

/** A pod, as far as a selector and a connection need it. */
export interface SelectablePod {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Undefined until it has one (`Pod.status.podIP`). */
  readonly ip?: string;
  /** Its phase is Running, and it is not being deleted. */
  readonly running: boolean;
  /** Its condition Ready is True. */
  readonly ready: boolean;
}

/** The servers of one AttachedConnector, which allows this site's namespace. Whether this site allows it too is its AttachedConnectorBinding's to say. */
export interface AttachedServers {
  /** Of the AttachedConnector, and so of the AttachedConnectorBinding. */
  readonly name: string;
  /** Of the AttachedConnector. */
  readonly namespace: string;
  readonly port: number;
  /** A bundle of the site's namespace. */
  readonly tlsCredentials?: string;
  readonly useClientCert: boolean;
  /** Those that can be connected to. */
  readonly pods: readonly { readonly name: string; readonly ip: string }[];
}

/** What clients of a site in a cluster meet its listeners by. */
export interface ServiceMaterial {
  /** All of the site's namespace, whosever they are. */
  readonly services: readonly NamespaceService[];
  /** The routing keys with a connector in the network that are of one pod: `KEY.POD`. */
  readonly podKeys: readonly string[];
}

/** A Service, as far as it concerns listeners: made by `namespaceService`. */
export interface NamespaceService {
  readonly name: string;
  /** The value of its label for Services of listeners; undefined where it has none, and is somebody else's. */
  readonly label?: string;
  /** Kind and name of another controller's object that owns it: then its label and annotations do not count. */
  readonly owner?: string;
  /** It was made for listeners, and goes with the last of them. */
  readonly controlled: boolean;
  readonly ports: readonly { readonly name: string; readonly port: number; readonly targetPort: number | string }[];
}

/** `server`: certificate and key. `client`: those, and `ca` for the other side. `trust`: only `ca`. */
export type BundleUse = 'server' | 'client' | 'trust';

export interface LastValid {
  readonly bundle: TlsBundle;
  /** Milliseconds since 1970. */
  readonly until: number;
}

export interface BundleProblem extends Problem {
  /** It may mend with time (a clock, a renewal), so it is told but the bundle is used. */
  readonly passing: boolean;
}
