/** Contract of a kind that `earshot explain` and the console can explain. */
import type { Discovery, KubeClient, PodAccess } from '../../kube/contract.ts';
import type { Explanation } from '../step.ts';
import type { SiteSources } from './gather-site.ts';

/** Place whose objects are explained, for one explanation. */
export interface ExplainPlace {
  readonly site: SiteSources;
  /** Undefined on a machine. `isConsole` as in `ExposurePlace`. */
  readonly cluster?: {
    readonly client: KubeClient & PodAccess & Partial<Discovery>;
    readonly namespace: string;
    readonly isConsole?: boolean;
  };
  /** Whether to send traffic. */
  readonly probe: boolean;
}

export interface ExplainableKind {
  /** Kind as in `KIND/NAME` of an explanation: `Listener`. */
  readonly kind: string;
  /** Words for it in lower case: singular, plural, short names, and the plural with its API group. The last one is unambiguous. */
  readonly words: readonly string[];
  /** Half of the system, for the question which of two kinds with one word is meant. */
  readonly half: 'connection' | 'exposure';
  readonly needsCluster?: true;
  /** Whether its objects are cluster-scoped. */
  readonly isClusterWide?: boolean;
  /** Command that lists the objects of the kind, in backticks. */
  listedBy(place: ExplainPlace): string;
  explain(place: ExplainPlace, name: string): Promise<Explained>;
}

export type Explained =
  | {
      readonly explanation: Explanation;
      /** Facts for the head line: `key "web"`; may be empty. */
      readonly title: string;
      /** Whether the object exists could not be examined: another kind with the word and the name has precedence. */
      readonly isUncertain?: boolean;
    }
  /** No such object; existing names for a suggestion. */
  | { readonly names: readonly string[] };
