/** Resources of one namespace, on any platform. Commands use this interface only. */
import type { RenewalAnswer } from '../agent/ports.ts';
import type { Site, SkupperKind, SkupperResource } from '../api/skupper/index.ts';
import type { NetworkObserver } from '../api/skupper/network-observer.ts';
import type { Platform } from '../site/capabilities.ts';
import type { CommandPlace } from '../text/command-in.ts';

export interface Resources extends CommandPlace {
  readonly namespace: string;
  /** Description for users: `the namespace west of this machine`. */
  readonly where: string;
  readonly conventions: PlatformConventions;
  /**
   * Returns the resources that the site has processed, and written ones that it has not, by name. Without a running site, none is ready.
   */
  list<K extends SkupperKind>(kind: K): Promise<readonly OfKind<K>[]>;
  /** Returns the resource as the site has processed it: the status is about this spec, which includes defaults. */
  get<K extends SkupperKind>(kind: K, name: string): Promise<OfKind<K> | undefined>;
  /** Undefined on a machine, which has no NetworkObservers. */
  findObserver?(name: string): Promise<NetworkObserver | undefined>;
  /** Returns the resource as it was written, valid or not. */
  find(kind: string, name: string): Promise<Written | undefined>;
  /** Returns all written resources of any kind. */
  written(): Promise<readonly Written[]>;
  put(manifest: Manifest): Promise<'created' | 'changed' | 'unchanged'>;
  /** @returns whether the resource existed */
  remove(kind: string, name: string): Promise<boolean>;
  /** Follows changes of everything that is read, until disposal. `wait` is useful in between. */
  follow(): Disposable;
  /** Resolves once something may have changed, at the latest after the given milliseconds. */
  wait(milliseconds: number): Promise<void>;
  /** Returns the message that nothing reconciles the resources, with advice; undefined if something does. */
  notRunning(): Promise<string | undefined>;
  /** Returns the site with its last known network, even if nothing runs any more. */
  lastSeen(): Promise<Site | undefined>;
  /** Whether a TLS bundle exists; undefined if it may come later, or if that is unknown. */
  hasBundle(name: string): Promise<boolean | undefined>;
  /** Returns the selector by which a workload selects its pods. @param workload for example `deployment/backend` */
  selectorOf(workload: string): Promise<string>;
  /** Returns the documents that another site applies to link to this one. @param host one of the site's hosts; the best one if omitted */
  linkTo(site: Site, host: string | undefined): Promise<OfferedLink>;
  /** Sites and certificates that are revoked. */
  revoked(): Promise<readonly { readonly name: string; readonly at: number }[]>;
  /** Requests to renew certificates of links now. */
  readonly renewals: AskedRenewals;
  about(): Promise<About>;
}

/** Links have the names of their resources. */
export interface AskedRenewals {
  ask(link: string): Promise<void>;
  /** @returns undefined if there is no answer yet */
  answerTo(link: string): Promise<RenewalAnswer | undefined>;
  drop(link: string): Promise<void>;
}

/** Defaults and behaviour of a platform that commands rely on. */
export interface PlatformConventions {
  readonly platform: Platform;
  /** Default host of a Listener. */
  listenerHost(name: string): string;
  /** Default server of a Connector. */
  server(name: string): { readonly host: string } | { readonly selector: string };
  /** Whether the site itself redeems tokens, at all its addresses. */
  readonly redeemsAtSite: boolean;
  /** Whether the namespace in a file is used. If not, it is ignored with a warning. */
  readonly namespacesCount: boolean;
  /** Milliseconds for which an error must last before a command believes it. */
  readonly believeAfter: number;
  /** Milliseconds within which a new site becomes ready. */
  readonly siteReadyWithin: number;
}

/** Secret with a key and Links that refer to it, or the reason why they do not exist yet. */
export type OfferedLink = { readonly documents: readonly object[] } | { readonly waitingFor: string; readonly error?: boolean };

/** Location of the resources, and the processes that run them. */
export interface About {
  /** Location, for users. */
  readonly location: readonly [name: string, value: string];
  /** Running processes, for users. */
  readonly running: readonly string[];
  /** Running routers, for programs. */
  readonly routers: readonly object[];
  /** Problems with written resources, for programs. */
  readonly problems: readonly object[];
  /** The same problems for users: a title, and lines. */
  readonly problemText?: { readonly title: string; readonly lines: readonly string[] };
}

export type OfKind<K extends SkupperKind> = Extract<SkupperResource, { readonly kind: K }>;

/** Resource as written, before validation. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface Written {
  readonly manifest: Manifest;
  /** Location, for users. */
  readonly location: string;
  /** Resource from which it was created, and would be created again. */
  readonly createdFrom?: { readonly kind: SkupperKind; readonly name: string };
}

export type ApiMethod = 'GET' | 'POST' | 'DELETE';

/** Routers of a site, for requests to their API (docs/reference/router-api.md). */
export interface AskableRouters {
  /** Names of the running routers. @throws NotReadable without a right to list them */
  names(): Promise<readonly string[]>;
  /** Response of a router's API. @param signal default: 5 s @throws NotReadable without a right, Error if the request fails */
  ask(router: string, path: string, method?: ApiMethod, signal?: AbortSignal): Promise<unknown>;
}
