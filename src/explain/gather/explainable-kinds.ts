/** Kinds that `earshot explain` and the console can explain. Each row says how a word of a user becomes an explanation. */
import { skupperDefinitions } from '../../api/skupper/crds.ts';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { isSkupperKind } from '../../api/skupper/validate.ts';
import type { KubeClient, PodAccess } from '../../kube/contract.ts';
import { explainConnection, explainKey, titleOf } from '../connection/explain-connection.ts';
import { valueOf } from '../connection/site-facts.ts';
import { nameOf } from '../../site/resources.ts';
import type { Explanation } from '../step.ts';
import { gatherSite, namesOf, type SiteSources } from './gather-site.ts';

/** Place whose objects are explained, for one explanation. */
export interface ExplainPlace {
  readonly site: SiteSources;
  /** Undefined on a machine. */
  readonly cluster?: { readonly client: KubeClient & PodAccess; readonly namespace: string };
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
  explain(place: ExplainPlace, name: string): Promise<Explained>;
}

export type Explained =
  | { readonly explanation: Explanation; /** Facts for the head line: `key "web"`; may be empty. */ readonly title: string }
  /** No such object; existing names for a suggestion. */
  | { readonly names: readonly string[] };

const connectionKinds: readonly ExplainableKind[] = skupperDefinitions().flatMap(({ spec: { names, group } }) => {
  const { kind, singular, plural, shortNames = [] } = names;
  if (!isSkupperKind(kind)) return [];
  const words = [singular, plural, ...shortNames, `${plural}.${group}`];
  return [{ kind, words, half: 'connection' as const, explain: (place: ExplainPlace, name: string) => explainOfSite(place, kind, name) }];
});

const keyKind: ExplainableKind = {
  kind: 'key',
  words: ['key', 'keys', 'routingkey', 'routing-key'],
  half: 'connection',
  explain: async ({ site }, key) => {
    const facts = await gatherSite(site);
    const explanation = explainKey(facts, key);
    if (explanation !== undefined) return { explanation, title: '' };
    const keys = valueOf(facts.network)?.sites.flatMap((each) => each.keys.map((use) => use.key)) ?? [];
    return { names: [...new Set(keys)] };
  },
};

/** The one table of kinds. */
export const explainableKinds: readonly ExplainableKind[] = [...connectionKinds, keyKind];

async function explainOfSite({ site }: ExplainPlace, kind: SkupperKind, name: string): Promise<Explained> {
  const facts = await gatherSite(site);
  const explanation = explainConnection(facts, kind, name);
  if (explanation === undefined) return { names: namesOf(facts, kind) };
  const object = valueOf(facts.objects)?.find((each) => each.kind === kind && nameOf(each) === name);
  return { explanation, title: titleOf(object) };
}
