/** Kinds that `earshot explain` and the console can explain. Each row says how a word of a user becomes an explanation. */
import { skupperDefinitions } from '../../api/skupper/crds.ts';
import type { SkupperKind } from '../../api/skupper/index.ts';
import { isSkupperKind } from '../../api/skupper/validate.ts';
import { explainConnection, explainKey, listenedKeys, titleOf } from '../connection/explain-connection.ts';
import { explainRecord } from '../connection/explain-record.ts';
import { valueOf } from '../connection/site-facts.ts';
import { nameOf } from '../../site/resources.ts';
import { commandIn } from '../../text/command-in.ts';
import type { ExplainableKind, Explained, ExplainPlace } from './explainable-kind.ts';
import { exposureKinds } from './exposure-kinds.ts';
import { gatherRecord } from './gather-record.ts';
import { gatherSite, namesOf, withHistory, withProbes } from './gather-site.ts';
import { observerKind } from './observer-kind.ts';

export type { ExplainableKind, Explained, ExplainPlace };

type Listing = ExplainableKind['listedBy'];

const inStatus: Listing = ({ site }) => commandIn(site.resources, 'status');
const inTokens: Listing = ({ site }) => commandIn(site.resources, 'token status');
/** Other commands show only those with a problem. */
const inCheck: Listing = ({ site }) => commandIn(site.resources, 'check -o json');

const listings: Readonly<Record<SkupperKind, Listing>> = {
  Site: ({ site }) => commandIn(site.resources, 'site status'),
  Listener: ({ site }) => commandIn(site.resources, 'listener status'),
  MultiKeyListener: inStatus,
  Connector: ({ site }) => commandIn(site.resources, 'connector status'),
  AttachedConnector: inStatus,
  AttachedConnectorBinding: inStatus,
  Link: ({ site }) => commandIn(site.resources, 'link status'),
  AccessGrant: inTokens,
  AccessToken: inTokens,
  RouterAccess: inStatus,
  Certificate: inCheck,
  SecuredAccess: inCheck,
};

const connectionKinds: readonly ExplainableKind[] = skupperDefinitions().flatMap(({ spec: { names, group } }) => {
  const { kind, singular, plural, shortNames = [] } = names;
  if (!isSkupperKind(kind)) return [];
  const words = [singular, plural, ...shortNames, `${plural}.${group}`];
  return [
    {
      kind,
      words,
      half: 'connection' as const,
      listedBy: listings[kind],
      explain: (place: ExplainPlace, name: string) => explainOfSite(place, kind, name),
    },
  ];
});

const keyKind: ExplainableKind = {
  kind: 'key',
  words: ['key', 'keys', 'routingkey', 'routing-key'],
  half: 'connection',
  listedBy: ({ site }) => commandIn(site.resources, 'network'),
  explain: async ({ site, probe }, key) => {
    const gathered = await gatherSite(site);
    const facts = probe ? await withProbes(gathered, site, [{ key }]) : gathered;
    const explanation = explainKey(facts, key);
    if (explanation !== undefined) return { explanation, title: '' };
    const keys = valueOf(facts.network)?.sites.flatMap((each) => each.keys.map((use) => use.key)) ?? [];
    return { names: [...new Set(keys)] };
  },
};

const recordKind: ExplainableKind = {
  kind: 'connection',
  words: ['connection', 'connections', 'conn'],
  half: 'connection',
  listedBy: ({ site }) => commandIn(site.resources, 'debug conn'),
  explain: async ({ site }, id) => {
    const [facts, records] = await Promise.all([gatherSite(site), gatherRecord(site, id)]);
    const explanation = explainRecord(facts, id, records);
    return explanation === undefined ? { names: [] } : { explanation, title: '', isUncertain: 'unknown' in records };
  },
};

/** The one table of kinds. */
export const explainableKinds: readonly ExplainableKind[] = [...connectionKinds, observerKind, keyKind, recordKind, ...exposureKinds];

async function explainOfSite({ site, probe }: ExplainPlace, kind: SkupperKind, name: string): Promise<Explained> {
  const gathered = await gatherSite(site);
  const keys = listenedKeys(gathered, kind, name);
  const targets = kind === 'Connector' ? [{ connector: name }] : keys.map((key) => ({ key }));
  const recorded = keys.length === 0 ? gathered : await withHistory(gathered, site, keys);
  const facts = probe && targets.length > 0 ? await withProbes(recorded, site, targets) : recorded;
  const explanation = explainConnection(facts, kind, name);
  if (explanation === undefined) return { names: namesOf(facts, kind) };
  const object = valueOf(facts.objects)?.find((each) => each.kind === kind && nameOf(each) === name);
  return { explanation, title: titleOf(object), isUncertain: 'unknown' in facts.objects || facts.refused?.has(kind) === true };
}
