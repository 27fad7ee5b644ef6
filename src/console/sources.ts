/** What the console reads: a platform, or memory in tests. */
import type { Resources } from '../platform/resources.ts';
import type { NamespaceFacts } from '../explain/exposure/exposure-facts.ts';
import type { Explanation } from '../explain/step.ts';
import type { RouterFacts } from './facts.ts';

export interface ConsoleSources {
  readonly resources: Pick<Resources, 'namespace' | 'where' | 'commandFlags' | 'list' | 'about' | 'notRunning'> &
    Partial<Pick<Resources, 'revoked'>>;
  /** Names of the running routers of the namespace. */
  routers(): Promise<readonly string[]>;
  /** Response of a router's API. @throws Error if the router does not answer, NotReadable if the console may not ask it */
  ask(router: string, path: string): Promise<unknown>;
  /** Reads a router's `/metrics`, possibly in parts. @throws as `ask` */
  metrics(router: string, read: (text: string) => void): Promise<void>;
  /**
   * Answer of a router of this site that asks the routers of another site for their figures. Absent if the platform cannot ask.
   * @param site its ID. @throws Error without an answer within some seconds
   */
  observe?(router: string, site: string): Promise<unknown>;
  /** Most such requests at once, if the platform permits few. */
  readonly observationsAtOnce?: number;
  /** State of the site as its resources have it, used while no router answers. Absent if only routers have it. */
  recorded?(): Promise<RecordedState>;
  /** Sentences about missing rights of the console, except those at routers. */
  notReadable?(): readonly string[];
  /** Resource with the fields that may be shown. */
  redacted(resource: object): unknown;
  /**
   * Explains an object; undefined if it does not exist. Absent if the platform cannot explain.
   * @param probe whether to send traffic
   */
  explain?(kind: string, name: string, probe: boolean): Promise<Explanation | undefined>;
  /** Exposed objects of the namespace; undefined in a cluster without the exposure half. Absent on machines. */
  exposure?(): Promise<NamespaceFacts | undefined>;
  /** Milliseconds since 1970. */
  now(): number;
}

/** The lists are answers of a router's API. */
export interface RecordedState {
  readonly routers: readonly RouterFacts[];
  readonly network: unknown;
  readonly keys: unknown;
  readonly links: unknown;
}
