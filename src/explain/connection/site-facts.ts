/** Facts about one site, from which explanations of its objects are made: plain data. */
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import type { CommandPlace } from '../../text/command-in.ts';
import type { NamedRouter } from './object-problem.ts';

/** Content of a source, or why it could not be read. The reason is a clause: `the router API did not answer within 2 s`. */
export type Source<T> = { readonly value: T } | { readonly unknown: string };

export interface SiteFacts {
  readonly place: SitePlace;
  /** Version of this program. */
  readonly version: string;
  /** Milliseconds since 1970, by the clock of this process. */
  readonly now: number;
  /** Message that nothing reconciles the resources, with advice; undefined if something does. */
  readonly stopped: Source<string | undefined>;
  /** Resources with their statuses. */
  readonly objects: Source<readonly SkupperResource[]>;
  readonly refused?: RefusedKinds;
  /** Resources as they were written. */
  readonly written: Source<readonly WrittenObject[]>;
  /** Problems of written resources. */
  readonly problems: Source<readonly WrittenProblem[]>;
  readonly network: Source<NetworkFacts>;
  /** Links that this site opens, by name. */
  readonly links: Source<ReadonlyMap<string, LinkFacts>>;
  readonly incoming: Source<readonly IncomingFacts[]>;
  readonly bundles: Source<readonly BundleFacts[]>;
  /** Open files and sockets of the site's routers. Undefined if this process cannot count them. */
  readonly openFiles?: readonly OpenFiles[];
  /** Whether no router answered, so that links and network may come from statuses. */
  readonly routersSilent?: true;
  /** The site's routers, by their own API. Undefined if it is not reachable. */
  readonly routers?: readonly RouterFacts[];
  /** Last connections by routing key, of explained Listeners whose router records them. */
  readonly history?: ReadonlyMap<string, Source<readonly PastConnection[]>>;
  /** By `probeName`; only if a probe was asked for. */
  readonly probes?: ReadonlyMap<string, Source<ProbeFacts>>;
}

export interface SitePlace extends CommandPlace {
  readonly namespace: string;
  /** Description for users: `the namespace west of this machine`. */
  readonly where: string;
  readonly isMachine: boolean;
}

export interface WrittenObject {
  readonly kind: string;
  readonly name: string;
  /** Place for users: `input/resources/web.yaml`. */
  readonly location: string;
}

export interface WrittenProblem {
  /** `Listener/web`; undefined if it cannot be read from the file. */
  readonly resource?: string;
  /** Resources of an unreadable file whose last valid version runs. */
  readonly affected?: readonly string[];
  /** Path for users; undefined if no file has the problem. */
  readonly file?: string;
  readonly isError: boolean;
  /** Location and message, for users. */
  readonly text: string;
}

/** Kinds that the user may not list, with a clause for each that says so. `objects` has none of them. */
export type RefusedKinds = ReadonlyMap<SkupperKind, string>;

/** Reachable sites, this one first. */
export interface NetworkFacts {
  readonly sites: readonly SiteOfNetwork[];
}

export interface SiteOfNetwork {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  /** Whether the site carries nothing between others. */
  readonly isEdge: boolean;
  readonly routers: readonly string[];
  readonly links: readonly { readonly siteId: string; readonly cost: number }[];
  readonly keys: readonly { readonly key: string; readonly listeners: number; readonly connectors: number }[];
}

export interface LinkFacts {
  readonly operational: boolean;
  /** The `host:port` in use. */
  readonly endpoint?: string;
  readonly siteId?: string;
  readonly siteName?: string;
  readonly cost?: number;
  /** Milliseconds since 1970. */
  readonly silentSince?: number;
  readonly problem?: { readonly code: string; readonly message: string };
}

/** A link that another site opened. */
export interface IncomingFacts {
  readonly siteId: string;
  readonly siteName: string;
  readonly address: string;
  readonly operational: boolean;
  /** Milliseconds since 1970. */
  readonly silentSince?: number;
  /** When and why it ended. */
  readonly ended?: { readonly at: number; readonly reason: string };
}

export interface OpenFiles {
  readonly router: string;
  readonly used: number;
  /** Limit of the process. */
  readonly most: number;
}

/** A router of the site. Times are milliseconds, since 1970 unless they are durations. */
export interface RouterFacts {
  readonly router: string;
  readonly startedAt: number;
  /** Duration by which its event loop is late: p99 since the last scrape of its metrics. */
  readonly eventLoopDelay?: number;
  /** How often another process announced this router, and the last time. */
  readonly contested?: { readonly count: number; readonly last: number };
}

/** A connection that ended or failed. */
export interface PastConnection {
  /** RFC 3339. */
  readonly ended: string;
  /** Code of the failure; undefined if it was opened. */
  readonly failure?: string;
  /** Router that refused it, and the name of its site. */
  readonly by?: NamedRouter;
}

/** A routing key, or the name of a Connector of this site. */
export type ProbedTarget = { readonly key: string } | { readonly connector: string };

/** Name of a target among the probes. No routing key contains a space. */
export const probeName = (target: ProbedTarget): string => ('key' in target ? target.key : `Connector ${target.connector}`);

/** Result of a probe. Times are milliseconds. */
export interface ProbeFacts {
  /** Routers on the path; the time is that from here. */
  readonly hops: readonly {
    readonly site: string;
    readonly ok: boolean;
    readonly ms?: number;
    readonly queued?: number;
    /** Time of `ms` that the request waited in the router. */
    readonly waited?: number;
    readonly version?: string;
    /** Time by which its clock is ahead of that of this site's router. */
    readonly clockAhead?: number;
    readonly code?: string;
    readonly says?: string;
  }[];
  readonly server?: ProbedServer;
}

export interface ProbedServer {
  readonly ok: boolean;
  readonly ms?: number;
  /** Time for TLS, of `ms`. */
  readonly tls?: number;
  /** Number of servers, and of those that are set aside. */
  readonly servers?: number;
  readonly aside?: number;
  readonly code?: string;
  readonly says?: string;
}

/** Certificate of a TLS bundle or an issuer. Times are milliseconds since 1970. */
export interface BundleFacts {
  readonly name: string;
  /** Place for users: `input/certs/web/tls.crt`. */
  readonly location: string;
  readonly subject: string;
  readonly issuer: string;
  readonly hosts: readonly string[];
  readonly notBefore: number;
  readonly notAfter: number;
  readonly isAuthority: boolean;
}

/** The value of a source; undefined if it could not be read. */
export function valueOf<T>(source: Source<T>): T | undefined {
  return 'value' in source ? source.value : undefined;
}
