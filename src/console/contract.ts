/** JSON of the console API: docs/reference/console-api.md. The page uses the same types. */
import type { StepState } from '../explain/step.ts';

/** Something that does not work, in the words of the statuses. */
export interface ProblemView {
  /** `KIND/NAME`, or `key/KEY`. */
  readonly object: string;
  readonly kind: string;
  readonly name: string;
  readonly severity: 'error' | 'pending';
  /** `status.status`, or one word about something that is not a resource. */
  readonly status: string;
  readonly message: string;
  /** What to do, if the message does not say so already. */
  readonly advice?: string;
  /** Code of the catalogue of errors. */
  readonly code?: string;
  /** RFC 3339. */
  readonly since?: string;
}

/** A condition of a resource that changed. */
export interface ChangeView {
  /** RFC 3339. */
  readonly at: string;
  readonly kind: string;
  readonly name: string;
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

export interface Expiry {
  readonly certificate: string;
  readonly days: number;
}

/** Percentiles in milliseconds. */
export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** Figures of the last seconds. Rates are per second; absent values are unknown. */
export interface Rates {
  readonly opened: number;
  readonly failed: number;
  /** Bytes from clients to servers, and back. */
  readonly up: number;
  readonly down: number;
}

export interface TotalsView {
  readonly open?: number;
  readonly rates?: Rates;
  /** Of the slowest router. */
  readonly connect?: Percentiles;
  /** Milliseconds: p99 of the slowest router. */
  readonly eventLoopDelay?: number;
}

export interface OverviewView {
  readonly asOf: string;
  readonly where: string;
  readonly namespace: string;
  /** Whether the namespace is one of this machine, not of a cluster. */
  readonly isMachine: boolean;
  readonly version: string;
  readonly site?: {
    readonly name: string;
    readonly id: string;
    readonly status: string;
    readonly headline: string;
    readonly message: string;
  };
  readonly routers: readonly { readonly name: string; readonly ready: boolean; readonly why?: string; readonly version: string }[];
  readonly problems: readonly ProblemView[];
  readonly sites: number;
  readonly links: { readonly up: number; readonly down: number };
  readonly keys: { readonly total: number; readonly withoutConnector: number; readonly withoutListener: number };
  readonly expiring: readonly Expiry[];
  /** The latest first. */
  readonly changes: readonly ChangeView[];
  readonly totals: TotalsView;
  readonly partial: readonly Missing[];
  /** Absent if nothing can be exposed here. */
  readonly exposure?: ExposureCounts;
}

/** A source that did not answer, or that the user may not read. */
export interface Missing {
  /** Empty if the user lacks a right. */
  readonly router: string;
  readonly why: string;
}

export interface SiteView {
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly platform: string;
  readonly version: string;
  readonly edge: boolean;
  readonly isThis: boolean;
  readonly routers: number;
  readonly links: number;
  readonly keys: number;
  /** Figures of this site, or those that another site shares. */
  readonly figures?: SiteFiguresView;
  /** Why another site has no figures here. */
  readonly noFigures?: string;
}

export interface SiteFiguresView {
  readonly open?: number;
  /** Absent until a second answer. */
  readonly rates?: Rates;
  /** Milliseconds: p99 of the slowest router. */
  readonly eventLoopDelay?: number;
  /** Number of routers of the site without an answer. */
  readonly missing: number;
}

/** A site with what it shares. */
export interface SiteDetailView extends SiteView {
  readonly routerList: readonly RouterView[];
  /** Its links, and what either end reports about them. */
  readonly linkList: readonly LinkView[];
  /** Its routing keys. */
  readonly keyList: readonly { readonly key: string; readonly listeners: number; readonly connectors: number }[];
}

export interface RouterView {
  readonly name: string;
  readonly version?: string;
  /** Milliseconds since it started, as of its last answer. */
  readonly uptime?: number;
  readonly open?: number;
  readonly eventLoopDelay?: number;
  /** Why it has no figures. */
  readonly why?: string;
}

/** A connection that a router of this site carries or carried. Absent facts are unknown here. */
export interface ConnectionView {
  readonly id: string;
  readonly key: string;
  readonly state: ConnectionState;
  /** RFC 3339. */
  readonly begun: string;
  readonly ended?: string;
  /** Name of the site with the client, and its address. */
  readonly from: string;
  readonly client?: string;
  readonly listener?: string;
  /** Routers in between. */
  readonly via: readonly string[];
  readonly to?: string;
  readonly server?: string;
  readonly up?: number;
  readonly down?: number;
  /** Milliseconds. */
  readonly connect?: number;
  readonly firstByte?: number;
  /** Why it ended or failed. */
  readonly end?: string;
  readonly message?: string;
  /** What this site has: `first` is the end of the client, `last` that of the server. */
  readonly halves: readonly string[];
  /** Number of connections for which a record stands. */
  readonly of: number;
}

export interface ConnectionDetailView extends ConnectionView {
  /** Number of further connections with the same ID: a peer can use one again. */
  readonly others: number;
}

/** A request that a router of this site saw. */
export interface RequestView {
  /** Time of the response, RFC 3339. */
  readonly at: string;
  /** ID of the connection. */
  readonly connection: string;
  readonly key: string;
  readonly protocol: string;
  readonly method: string;
  readonly status: number;
  readonly ms: number;
  /** Absent if the Listener does not permit to record it. */
  readonly path?: string;
  /** Number of requests for which it stands. */
  readonly of: number;
}

export const connectionStates = ['open', 'ended', 'failed'] as const;
export type ConnectionState = (typeof connectionStates)[number];

/** Directed: from the site that announces it. */
export interface LinkView {
  readonly id: string;
  readonly name: string;
  readonly from: string;
  readonly fromName: string;
  readonly to: string;
  readonly toName: string;
  /** `between`: both ends are other sites. */
  readonly direction: 'outgoing' | 'incoming' | 'between';
  readonly state: 'up' | 'silent' | 'down';
  /** Unknown for links between other sites that are down. */
  readonly cost?: number;
  readonly message?: string;
  readonly since?: string;
  readonly address?: string;
  /** Serial number of the certificate of an incoming link. */
  readonly serial?: string;
  readonly roundTripMs?: number;
  readonly streams?: number;
  readonly queuedBytes?: number;
  /** Bytes since it came up. */
  readonly sent?: number;
  readonly received?: number;
  /** Bytes a second, over up to a minute. */
  readonly rates?: { readonly sent: number; readonly received: number };
  /** Expiry of the other end's certificate, RFC 3339. */
  readonly certificateExpires?: string;
  /** Attempts to open it since the router started. */
  readonly attempts?: number;
  /** Message and time of the last problem, also if it is solved. */
  readonly lastProblem?: string;
  readonly lastProblemAt?: string;
}

export interface SiteCount {
  readonly site: string;
  readonly name: string;
  readonly count: number;
}

export interface KeyView {
  readonly key: string;
  readonly state: 'reachable' | 'no-connector' | 'no-listener';
  readonly listeners: readonly SiteCount[];
  readonly connectors: readonly SiteCount[];
  readonly reachable: boolean;
  /** Figures of this site's listeners, or of its connectors if it does not have a listener. */
  readonly figuresOf?: 'listener' | 'connector';
  readonly open?: number;
  readonly rates?: Rates;
  readonly connect?: Percentiles;
  readonly request?: Percentiles;
  readonly requests?: number;
  readonly failures?: Readonly<Record<string, number>>;
  readonly problems: number;
}

/** A site with a connector, in the order of choice. */
export interface CandidateView {
  readonly site: string;
  readonly name: string;
  readonly connectors: number;
  /** Undefined if no path leads there. */
  readonly cost?: number;
  /** Names of the sites from this one to the destination. */
  readonly path: readonly string[];
}

/** A path of connections, from a site with a listener to one of the sites with a connector that cost least. */
export interface KeyPathView {
  readonly from: SiteOfPath;
  /** Absent if no path leads to a connector. */
  readonly to?: SiteOfPath;
  readonly cost?: number;
  /** All sites on it, both ends included. */
  readonly path: readonly SiteOfPath[];
}

export interface SiteOfPath {
  readonly id: string;
  readonly name: string;
}

export interface ResourceRow {
  readonly kind: string;
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly ready: boolean;
  readonly past: boolean;
  readonly since?: string;
  /** Title and text of the columns that commands print. */
  readonly columns: Readonly<Record<string, string>>;
}

export interface ConditionView {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string;
}

export interface ResourceView extends ResourceRow {
  readonly conditions: readonly ConditionView[];
  readonly yaml: string;
  /** Command that shows the same in a terminal. */
  readonly command: string;
}

/** Connections of a routing key with one site at the other end, since the routers started. */
export interface KeySiteView {
  /** Role of this site: it has the clients of a `listener`, and the servers of a `connector`. */
  readonly role: 'listener' | 'connector';
  /** ID of the other site; empty if it is not known. */
  readonly site: string;
  readonly name: string;
  readonly opened: number;
  readonly failed: number;
  readonly up: number;
  readonly down: number;
}

export interface KeyDetailView extends KeyView {
  readonly sites: readonly KeySiteView[];
  readonly candidates: readonly CandidateView[];
  /** Paths of all sites with a listener, not only of this one. */
  readonly paths: readonly KeyPathView[];
  readonly resources: readonly ResourceRow[];
  readonly problemList: readonly ProblemView[];
}

export interface ListView<T> {
  readonly items: readonly T[];
  readonly next: string | null;
  readonly total: number;
  readonly asOf: string;
  readonly partial: readonly Missing[];
}

export interface ExposureCounts {
  readonly listeners: number;
  readonly listenersNotReady: number;
  /** Pods that mount listener volumes. */
  readonly pods: number;
  readonly podsWaiting: number;
}

/** Kinds of exposed objects, by the name of their list, as `earshot explain` names them. The site has Listeners of its own. */
export const exposedKinds = { listeners: 'listeners.listeners.stackable.tech', pods: 'Pod', classes: 'ListenerClass' } as const;
export type ExposedList = keyof typeof exposedKinds;
export const exposedLists = ['listeners', 'pods', 'classes'] as const satisfies readonly ExposedList[];

/** A ListenerClass, and how many Listeners of the namespace use it. */
export interface ClassView {
  readonly name: string;
  readonly serviceType: string;
  /** Fields that differ from their defaults, such as `pinnedNodePorts: true`. */
  readonly policy: readonly string[];
  readonly listeners: number;
  readonly notReady: number;
  /** Why the stored object is not valid. */
  readonly message: string;
}

/** Members that all explained exposed objects have. */
export interface ExplainedView {
  readonly name: string;
  /** Verdict of `earshot explain`. */
  readonly verdict: StepState;
  /** Step that fails or waits; otherwise the message of the status. */
  readonly message: string;
  readonly advice?: string;
  readonly created?: string;
}

/** A Listener of listeners.stackable.tech. */
export interface ExposedListenerView extends ExplainedView {
  readonly className: string;
  /** Type of its Service. */
  readonly serviceType?: string;
  /** Condition Ready. */
  readonly ready: boolean;
  /** Reason of the condition that is not met, or of Ready. */
  readonly reason: string;
  readonly since?: string;
  /** The preferred one first. */
  readonly addresses: readonly string[];
  /** Number of all addresses. */
  readonly addressCount: number;
  /** Ports for clients at the preferred address: `http 80`. */
  readonly ports: readonly string[];
  /** Pods that the Service selects, and those of them that are ready. */
  readonly pods: number;
  readonly podsReady: number;
}

/** A listener volume of a pod. */
export interface MountView {
  readonly claim: string;
  readonly volume?: string;
  readonly listener?: string;
  /** `Node` if the addresses reach pods of one node only. */
  readonly scope?: string;
  readonly addresses: readonly string[];
  readonly ports: readonly string[];
  /** Nodes on which the volume keeps its pod. */
  readonly pinnedTo: readonly string[];
  /** Reason why the mount waits. */
  readonly waits?: string;
}

export interface ExposedPodView extends ExplainedView {
  readonly node?: string;
  readonly phase: string;
  readonly ready: boolean;
  readonly mounts: readonly MountView[];
}

export interface EventView {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly reporter: string;
  readonly at: string;
}

export interface ClassDetailView extends ClassView {
  readonly items: readonly ExposedListenerView[];
  readonly yaml: string;
  /** Command that shows the same in a terminal. */
  readonly command: string;
}

export interface ExposedListenerDetailView extends ExposedListenerView {
  readonly ingress: readonly { readonly address: string; readonly type: string; readonly ports: string }[];
  readonly service?: {
    readonly name: string;
    readonly type: string;
    readonly clusterIps: readonly string[];
    readonly trafficPolicy?: string;
    readonly loadBalancerClass?: string;
  };
  /** Pods that the Service selects, and pods that mount the Listener. */
  readonly backends: readonly BackendView[];
  /** Volumes for the Listener, with or without a pod. */
  readonly volumes: readonly VolumeView[];
  readonly conditions: readonly ConditionView[];
  /** Events of the Service, the latest first. */
  readonly events: readonly EventView[];
  readonly yaml: string;
  readonly command: string;
}

export interface BackendView {
  readonly name: string;
  readonly node?: string;
  readonly ready: boolean;
  /** Whether the Service selects it. */
  readonly selected: boolean;
  /** Absent if it does not mount the Listener. */
  readonly mount?: MountView;
}

export interface VolumeView {
  readonly name: string;
  readonly claim: string;
  readonly phase: string;
  readonly pinnedTo: readonly string[];
}

export interface ExposedPodDetailView extends ExposedPodView {
  readonly conditions: readonly ConditionView[];
  readonly events: readonly EventView[];
  readonly command: string;
}

/** A site, or a Certificate, whose certificates are refused. */
export interface RevocationView {
  /** Name or ID of a site, serial number, or `Certificate/NAME`. */
  readonly name: string;
  /** RFC 3339. */
  readonly at: string;
}

export interface NetworkView {
  readonly asOf: string;
  readonly sites: readonly SiteView[];
  readonly links: readonly LinkView[];
  readonly partial: readonly Missing[];
}

export interface SeriesView {
  readonly of: string;
  /** Seconds of a step. */
  readonly step: number;
  readonly unit: 'sum' | 'gauge' | 'milliseconds';
  /** Start of the step in milliseconds since 1970, and value; null if nothing was measured. */
  readonly points: readonly (readonly [time: number, value: number | null])[];
}

export interface ErrorView {
  readonly code: string;
  readonly message: string;
  readonly do: string;
}

export const topics = ['overview', 'problems', 'sites', 'links', 'keys', 'resources'] as const;
export type Topic = (typeof topics)[number];

/** Changed objects by ID; null if one is gone. Fields that are null are gone. */
export type Changes = Readonly<Record<string, Readonly<Record<string, unknown>> | null>>;
