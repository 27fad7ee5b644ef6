/** Capabilities that some platforms lack. A resource that needs a missing one gets the problem `not-on-platform`. */
import type { MessageFormat } from './observe/message-format.ts';
import { isKind, type Kind } from './resources.ts';

export type Capability = 'pods' | 'service-accounts' | 'attached-connectors' | 'secured-access' | 'services' | 'container-networks';

export type Capabilities = ReadonlySet<Capability>;

/** Platform of a site: the name that other sites see, its capabilities and its defaults. */
export interface Platform {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly defaults: FieldDefaults;
  /** Undefined on a machine, whose ports belong to the site. */
  readonly access?: AccessRules;
  /** Message format of conditions. */
  readonly wording: MessageFormat;
}

/** Defaults of omitted fields that differ between platforms. */
export interface FieldDefaults {
  /** For a Connector: whether servers have names that a certificate can contain. */
  readonly verifyHostname: boolean;
}

/** How links of other sites reach this one. */
export interface AccessRules {
  /** Bundle that is presented for `Site.spec.linkAccess`. Undefined if a RouterAccess is created for it and nothing else is opened. */
  readonly impliedBundle?: string;
  /** Whether the site issues the bundle of each access that the user gave none for. Otherwise `generateTlsCredentials` requests it. */
  readonly issuesBundles?: boolean;
  /** Whether port 0 means any free port. Otherwise it means the default port of the role. */
  readonly freePorts: boolean;
  /** Ports that the router itself uses, so no access can. Undefined if conflicts show when a port is opened. */
  readonly reserved?: ReadonlySet<number>;
}

/** Capability that each kind needs. All other kinds work everywhere. */
const neededFor: { readonly [K in Kind]?: Capability } = {
  AttachedConnector: 'attached-connectors',
  AttachedConnectorBinding: 'attached-connectors',
  SecuredAccess: 'secured-access',
};

export function supportsKind(kind: string, capabilities: Capabilities): kind is Kind {
  if (!isKind(kind)) return false;
  const needed = neededFor[kind];
  return needed === undefined || capabilities.has(needed);
}

export function kindNotOnPlatform(kind: Kind): string {
  return `a ${kind} works on Kubernetes only; remove it.`;
}
