/** Checks all objects of a site, and what concerns no single one (pure). */
import type { SkupperKind } from '../../api/skupper/index.ts';
import { isKind, keyOf, nameOf } from '../../site/resources.ts';
import { isPast } from '../../site/overview.ts';
import { commandIn } from '../../text/command-in.ts';
import { quoted, shownValue } from '../../text/printable.ts';
import { reportOf, type CheckReport } from '../report.ts';
import type { Explanation, Step } from '../step.ts';
import { datesStep } from './bundle-steps.ts';
import { explainConnection, routingKeysOf } from './explain-connection.ts';
import { namespaceObject } from './head.ts';
import { adviceOn } from './object-problem.ts';
import { valueOf, type SiteFacts, type SiteOfNetwork } from './site-facts.ts';
import { listSome } from '../../text/list-some.ts';

/** Most named items of one finding. Further ones are only counted. */
const MOST_NAMED = 8;

export function checkSite(facts: SiteFacts): CheckReport {
  const objects = objectsOf(facts).flatMap(({ kind, name }) => explainConnection(facts, kind, name) ?? []);
  const sites = valueOf(facts.network)?.sites ?? [];
  const findings = [
    ...unknownSteps(facts),
    ...fileSteps(facts, objects),
    ...missingSiteSteps(facts),
    ...versionSteps(facts, sites),
    ...certificateSteps(facts),
    ...keySteps(sites, reportedKeys(facts, objects)),
    ...identitySteps(sites),
  ];
  return reportOf(objects, findings, new Date(facts.now));
}

/** Found and written objects, each once. Used-up ones are records, and need no attention. */
function objectsOf(facts: SiteFacts): readonly { readonly kind: SkupperKind; readonly name: string }[] {
  const found = (valueOf(facts.objects) ?? [])
    .filter((object) => !isPast(object, facts.now))
    .map((object) => ({ kind: object.kind, name: nameOf(object) }));
  const past = new Set(
    (valueOf(facts.objects) ?? []).filter((object) => isPast(object, facts.now)).map((object) => `${object.kind}/${nameOf(object)}`),
  );
  const written = (valueOf(facts.written) ?? []).flatMap(({ kind, name }) =>
    isKind(kind) && !past.has(`${kind}/${name}`) ? [{ kind, name }] : [],
  );
  const unread = (valueOf(facts.problems) ?? []).flatMap(({ resource = '' }) => {
    const [kind = '', ...name] = resource.split('/');
    return isKind(kind) ? [{ kind, name: name.join('/') }] : [];
  });
  return [...new Map([...found, ...written, ...unread].map((each) => [`${each.kind}/${each.name}`, each])).values()];
}

/** Sources that could not be read, once each. Without a process no router answers. */
function unknownSteps(facts: SiteFacts): readonly Step[] {
  const ofRouters = valueOf(facts.stopped) === undefined ? [facts.network, facts.links] : [];
  // Rights have findings of their own. In a cluster, what was written comes from the same lists.
  const written = facts.refused === undefined ? [facts.written] : [];
  const sources = [facts.stopped, facts.objects, ...written, facts.problems, ...ofRouters, facts.bundles];
  const unread = [...new Set(sources.flatMap((source) => ('unknown' in source ? [source.unknown] : [])))];
  return unread.map((says): Step => ({ id: 'check.sources', object: namespaceObject(facts.place), state: 'unknown', says }));
}

/** Errors of files whose resource is not known. One that is the cause of objects already is left out. */
function fileSteps({ problems, place }: SiteFacts, explanations: readonly Explanation[]): readonly Step[] {
  const reported = new Set(explanations.flatMap(({ cause }) => cause?.object ?? []));
  return (valueOf(problems) ?? [])
    .filter(({ resource, isError }) => isError && resource === undefined)
    .flatMap(({ text, file, affected = [] }): readonly Step[] => {
      const object = file === undefined ? namespaceObject(place) : `file/${file}`;
      return affected.length > 0 && reported.has(object) ? [] : [{ id: 'check.files', object, ...adviceOn('invalid-file'), says: text }];
    });
}

function missingSiteSteps(facts: SiteFacts): readonly Step[] {
  const { value } = 'value' in facts.objects ? facts.objects : { value: undefined };
  if (value === undefined || facts.refused?.has('Site') === true || value.some(({ kind }) => kind === 'Site')) return [];
  return [
    {
      id: 'check.site',
      object: namespaceObject(facts.place),
      state: 'fail',
      code: 'no-site',
      says: `the namespace ${facts.place.namespace} has no Site`,
      do: `create one: ${commandIn(facts.place, 'site create NAME')}`,
    },
  ];
}

/** Sites with another version than this program's. */
function versionSteps({ version }: SiteFacts, sites: readonly SiteOfNetwork[]): readonly Step[] {
  const others = sites.filter((site) => site.version !== '' && site.version !== version);
  return [...Map.groupBy(others, (site) => site.version)]
    .slice(0, MOST_NAMED)
    .map(([other, of]) => ({
      id: 'check.versions',
      object: `Site/${of[0]?.name ?? ''}`,
      state: 'warn',
      says: `version ${shownValue(other)} runs at ${listed(of.map(({ name }) => shownValue(name)))}; this command is ${version}`,
      do: 'update the older ones',
    }));
}

/** All bundles, whether an object uses them or not. */
function certificateSteps({ bundles, now }: SiteFacts): readonly Step[] {
  return (valueOf(bundles) ?? []).flatMap((bundle) => {
    const step = datesStep({ id: 'check.certificates', object: `bundle/${bundle.name === '' ? 'authority' : bundle.name}` }, bundle, now);
    // The chain of an object that uses it fails. Without one, nothing does.
    return step.state === 'pass' ? [] : [{ ...step, state: 'warn' as const }];
  });
}

/** Routing keys that the cause of an object is about already: its own, and the one that was meant. */
function reportedKeys(facts: SiteFacts, explanations: readonly Explanation[]): ReadonlySet<string> {
  const failing = new Map(explanations.flatMap(({ object, cause }) => (cause === undefined ? [] : [[object, cause] as const])));
  return new Set(
    (valueOf(facts.objects) ?? []).flatMap((object) => {
      const cause = failing.get(keyOf(object));
      const meant = cause?.facts?.['meant'];
      return cause === undefined ? [] : [...routingKeysOf(object), ...(typeof meant === 'string' ? [meant] : [])];
    }),
  );
}

/** @param reported keys that an object's cause is about */
function keySteps(sites: readonly SiteOfNetwork[], reported: ReadonlySet<string>): readonly Step[] {
  const uses = sites.flatMap((site) => site.keys.map((use) => ({ site: site.name, ...use })));
  const byKey = [...Map.groupBy(uses, ({ key }) => key)].filter(([key]) => !reported.has(key));
  const halves = byKey.flatMap(([key, of]): readonly Step[] => {
    const [listeners, connectors] = [of.some((use) => use.listeners > 0), of.some((use) => use.connectors > 0)];
    if (listeners === connectors) return [];
    const [code, has, lacks] = listeners
      ? (['no-connector', 'listeners', 'connector'] as const)
      : (['no-listener', 'connectors', 'listener'] as const);
    const says = `routing key ${quoted(key)} has ${has} at ${listed([...new Set(of.map(({ site }) => shownValue(site)))])}, but no ${lacks}`;
    return [{ id: 'check.keys', object: `key/${key}`, state: 'warn', code, says }];
  });
  const byCase = [...Map.groupBy(byKey, ([key]) => key.toLowerCase()).values()].filter(({ length }) => length > 1);
  const cases = byCase.map((of): Step => ({
    id: 'check.keys',
    object: `key/${of[0]?.[0] ?? ''}`,
    state: 'warn',
    code: 'routing-key',
    says: `routing keys differ only in case: ${listed(of.map(([key]) => quoted(key)))}`,
    do: 'use one spelling',
  }));
  return [...halves.slice(0, MOST_FINDINGS), ...cases.slice(0, MOST_FINDINGS)];
}

const MOST_FINDINGS = 50;

/** Two sites of one name confuse people; two sites of one ID exclude each other. */
function identitySteps(sites: readonly SiteOfNetwork[]): readonly Step[] {
  const named = [...Map.groupBy(sites, ({ name }) => name)].filter(([, { length }]) => length > 1);
  return named
    .slice(0, MOST_NAMED)
    .map(([name, of]) => ({
      id: 'check.identities',
      object: `Site/${name}`,
      state: 'warn',
      says: `${of.length} sites are named ${shownValue(name)}: ${listed(of.map(({ id }) => id))}`,
      do: 'rename one of them',
    }));
}

const listed = (names: readonly string[]): string => listSome(names, MOST_NAMED);
