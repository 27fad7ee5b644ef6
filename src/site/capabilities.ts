/** What only some platforms can do. What a resource asks for in vain is told as its problem, `not-on-platform`. */
import type { MessageFormat } from './observe/message-format.ts';
import { isKind, type Kind } from './resources.ts';

export type Capability = 'pods' | 'service-accounts' | 'attached-connectors' | 'secured-access' | 'services';

export type Capabilities = ReadonlySet<Capability>;

/** Where sites run: what other sites are told of it, what it can do, and what it takes for granted. */
export interface Platform {
  readonly name: string;
  readonly capabilities: Capabilities;
  readonly defaults: FieldDefaults;
  /** Left out: as on a machine, whose ports are the site's own. */
  readonly access?: AccessRules;
  /** Of conditions. */
  readonly wording: MessageFormat;
}

/** What a field means where a resource leaves it out, and platforms differ. */
export interface FieldDefaults {
  /** Of a Connector: whether servers have names that certificates can hold. */
  readonly verifyHostname: boolean;
  /** Of a Listener whose bundle has a `ca.crt`: whether that is there to ask clients for certificates of it. */
  readonly requireClientCert: boolean;
}

/** How links of other sites come in. */
export interface AccessRules {
  /** The bundle that is shown for `Site.spec.linkAccess`; left out where a RouterAccess is made for it, and nothing else is opened. */
  readonly impliedBundle?: string;
  /** Whether port 0 is any that is free; otherwise it is the role's usual one. */
  readonly freePorts: boolean;
  /** Ports that no access can have, since the router has them itself; undefined where each shows when it is opened. */
  readonly reserved?: ReadonlySet<number>;
}

/** All other kinds work everywhere. */
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
