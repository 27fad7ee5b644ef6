/** The resources of one namespace, wherever they are kept. Commands know them by this and no other way. */
import type { RenewalAnswer } from '../agent/ports.ts';
import type { Site, SkupperKind, SkupperResource } from '../api/skupper/index.ts';
import type { Platform } from '../site/capabilities.ts';
import type { CommandPlace } from '../text/command-in.ts';

export interface Resources extends CommandPlace {
  readonly namespace: string;
  /** For people: `the namespace west of this machine`. */
  readonly where: string;
  readonly ways: PlatformConventions;
  /** By name: as the site has taken them up, and what was written and has not been. Where nothing runs, none is ready. */
  list<K extends SkupperKind>(kind: K): Promise<readonly OfKind<K>[]>;
  /** As the site has taken it up: the spec, with its defaults, is the one that the status is about. */
  get<K extends SkupperKind>(kind: K, name: string): Promise<OfKind<K> | undefined>;
  /** As it was written, checked or not. */
  find(kind: string, name: string): Promise<Written | undefined>;
  /** All that was written, of any kind. */
  written(): Promise<readonly Written[]>;
  put(manifest: Manifest): Promise<'created' | 'changed' | 'unchanged'>;
  /** @returns whether it was there */
  remove(kind: string, name: string): Promise<boolean>;
  /** Begins to follow what is read, until it is disposed of: `wait` is of use in between. */
  follow(): Disposable;
  /** Returns once something may have changed, and after so many milliseconds at the latest. */
  wait(milliseconds: number): Promise<void>;
  /** That nothing looks after the resources, and what to do; undefined while something does. */
  notRunning(): Promise<string | undefined>;
  /** The site with the network as it was last seen, also where nothing runs any more. */
  lastSeen(): Promise<Site | undefined>;
  /** Whether a TLS bundle is there; undefined where it may as well come later, or cannot be told. */
  hasBundle(name: string): Promise<boolean | undefined>;
  /** The labels by which a workload finds its pods, as a selector. @param workload `deployment/backend` */
  selectorOf(workload: string): Promise<string>;
  /** What another site applies to link to this one. @param host which of the site's; left out: whatever is best */
  linkTo(site: Site, host: string | undefined): Promise<OfferedLink>;
  /** Other sites that are let in no more. */
  revoked(): Promise<readonly { readonly name: string; readonly at: number }[]>;
  /** For certificates of links that are to be renewed at once. */
  readonly renewals: AskedRenewals;
  about(): Promise<About>;
}

/** Links by their own names. */
export interface AskedRenewals {
  ask(link: string): Promise<void>;
  /** @returns undefined where there is none yet */
  answerTo(link: string): Promise<RenewalAnswer | undefined>;
  drop(link: string): Promise<void>;
}

/** What commands take for granted on a platform. */
export interface PlatformConventions {
  readonly platform: Platform;
  /** Of a Listener for which none is given. */
  listenerHost(name: string): string;
  /** Of a Connector for which none is given. */
  server(name: string): { readonly host: string } | { readonly selector: string };
  /** Whether tokens are redeemed at the site's own addresses, all of them. */
  readonly redeemsAtSite: boolean;
  /** Whether what a file says of its namespace counts; else it is ignored, with a warning. */
  readonly namespacesCount: boolean;
  /** Milliseconds that an error stays before it is believed. */
  readonly believeAfter: number;
  /** Milliseconds in which a new site is ready. */
  readonly siteReadyWithin: number;
}

/** A Secret with a key and Links that name it, or why there are none yet. */
export type OfferedLink = { readonly documents: readonly object[] } | { readonly waitingFor: string; readonly error?: boolean };

/** Where the resources are and what runs them. */
export interface About {
  /** For people: where they are kept. */
  readonly kept: readonly [name: string, value: string];
  /** For people: what runs them. */
  readonly running: readonly string[];
  /** The same for programs. */
  readonly routers: readonly object[];
  /** What cannot be used of what was written. */
  readonly problems: readonly object[];
  /** The same for people: a headline, and lines. */
  readonly troubles?: { readonly title: string; readonly lines: readonly string[] };
}

export type OfKind<K extends SkupperKind> = Extract<SkupperResource, { readonly kind: K }>;

/** A resource as it is written, before anything is checked. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly [field: string]: unknown };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface Written {
  readonly manifest: Manifest;
  /** For people: where it is. */
  readonly location: string;
  /** What it was made of, and would be made of again. */
  readonly madeOf?: { readonly kind: SkupperKind; readonly name: string };
}
