/** Steps from a routing key to the sites at its other end: it is offered, and a path leads there (pure). */
import { MAXIMUM_COST } from '../../api/skupper/link.ts';
import { adviceOn, type ObjectProblem } from './object-problem.ts';
import { commandIn } from '../../text/command-in.ts';
import { shellWord } from '../../text/shell-word.ts';
import { quoted, shownValue } from '../../text/printable.ts';
import { namesLostSite } from '../../site/observe/observe-traffic.ts';
import { timeText } from '../../site/observe/time-text.ts';
import { similarKey, similarKeyText } from '../../site/similar-key.ts';
import { hopSteps } from './probe-steps.ts';
import { cheapestPath, type SitePath } from './network-paths.ts';
import { valueOf, type IncomingFacts, type NetworkFacts, type SiteFacts, type SiteOfNetwork } from './site-facts.ts';
import type { Step } from '../step.ts';
import { listSome } from '../../text/list-some.ts';

type Side = 'listeners' | 'connectors';

export interface Reach {
  readonly prefix: string;
  /** Explained object: `Listener/web`. */
  readonly object: string;
  readonly key: string;
  /** Looked-for other end of the key. */
  readonly side: Side;
  /** Command that changes the key; undefined if no command does. */
  readonly update?: (key: string) => string;
  /** Problem that the status reports. */
  readonly problem?: ObjectProblem | undefined;
}

export function reachSteps(facts: SiteFacts, reach: Reach): readonly Step[] {
  const { prefix, object, key, side, problem } = reach;
  const network = valueOf(facts.network);
  const id = `${prefix}.key`;
  if (network === undefined) {
    const says = 'unknown' in facts.network ? facts.network.unknown : '';
    const reported = problem === undefined ? [] : [{ id, object, ...adviceOn(problem.code), says: problem.message }];
    return [...reported, { id: `${prefix}.path`, object, state: 'unknown', says }];
  }
  const offering = network.sites.filter((site) => countAt(site, key, side) > 0);
  if (offering.length > 0) return [offeredStep(id, reach, offering), ...pathSteps(facts, network, reach, offering)];
  const similar = similarStep(id, network, reach);
  if (similar !== undefined) return [similar];
  const says = problem?.message ?? `no reachable site has ${WORDS[side]} of routing key ${quoted(key)}`;
  const broken = brokenSteps(facts, network, `${prefix}.path`, says);
  const since = problem?.since === undefined ? {} : { since: problem.since };
  if (broken.length === 0) {
    const advice = adviceOn(side === 'connectors' ? 'no-connector' : 'no-listener');
    return [{ id, object, ...advice, says: `${says}${revokedText(facts, network)}`, ...since }];
  }
  return [{ id, object, state: 'unknown', says, ...since }, ...broken];
}

const WORDS: Readonly<Record<Side, string>> = { listeners: 'a listener', connectors: 'a connector' };

function countAt({ keys }: SiteOfNetwork, desired: string, side: Side): number {
  return keys.find(({ key }) => key === desired)?.[side] ?? 0;
}

function offeredStep(id: string, { object, key, side }: Reach, offering: readonly SiteOfNetwork[]): Step {
  const counts = offering.map((site) => ({ site: site.name, count: countAt(site, key, side) }));
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const names = counts.map(({ site }) => shownValue(site));
  const word = side === 'connectors' ? 'connector' : 'listener';
  return {
    id,
    object,
    state: 'pass',
    says: `${total} ${word}${total === 1 ? '' : 's'} at ${listSome(names, MOST_NAMED)}`,
    facts: { key, counts },
  };
}

const MOST_NAMED = 8;

function pathSteps(facts: SiteFacts, network: NetworkFacts, reach: Reach, offering: readonly SiteOfNetwork[]): readonly Step[] {
  const { prefix, object, side } = reach;
  const path = cheapestPath(network, new Set(offering.map(({ id }) => id)));
  const id = `${prefix}.path`;
  if (path === undefined) return [{ id, object, state: 'unknown', says: 'the announced links show no path to these sites' }];
  const [, second] = path.sites;
  const says = second === undefined ? 'in this site' : `${path.sites.map(({ name }) => shownValue(name)).join(' > ')}, cost ${path.cost}`;
  const hop = `${prefix}.hop`;
  const own = second === undefined ? [] : silentSteps(facts, second.id, hop);
  const silent = own.length > 0 ? own : farSilentSteps(path, hop);
  const passed: Step = { id, object, state: 'pass', says, facts: { sites: path.sites.map(({ name }) => name), cost: path.cost } };
  return [passed, ...silent, ...(side === 'connectors' ? hopSteps(facts, reach) : [])];
}

/** The first link of the path, while nothing arrives over any link to that site, whichever side opened it. */
function silentSteps(facts: SiteFacts, site: string, id: string): readonly Step[] {
  const opened = [...(valueOf(facts.links) ?? [])].filter(([, { siteId, operational }]) => siteId === site && operational);
  const incoming = (valueOf(facts.incoming) ?? []).filter(({ siteId, operational }) => siteId === site && operational);
  const isSilent = ({ silentSince }: { readonly silentSince?: number }): boolean => silentSince !== undefined;
  if (!opened.every(([, link]) => isSilent(link)) || !incoming.every(isSilent)) return [];
  const ours = opened.map(([name, { silentSince = 0 }]): Step => {
    const since = timeText(silentSince);
    return { id, object: `Link/${name}`, ...adviceOn('silent'), says: `silent since ${since}`, since };
  });
  return [...ours, ...incoming.map((link) => silentIncoming(link, id))].slice(0, 1);
}

/** A link between other sites: a silent one is announced at the greatest cost, which its Link may have as well. */
function farSilentSteps({ sites }: SitePath, id: string): readonly Step[] {
  return sites.flatMap((site, index): readonly Step[] => {
    const next = sites[index + 1];
    const costs = site.links.filter(({ siteId }) => siteId === next?.id).map(({ cost }) => cost);
    if (next === undefined || Math.min(...costs) < MAXIMUM_COST) return [];
    const says = `the link between ${shownValue(site.name)} and ${shownValue(next.name)} is silent, or its cost is the greatest`;
    const remedy = `at ${shownValue(site.name)}: \`earshot link status\``;
    return [{ id, object: siteObject(site.name), ...adviceOn('silent'), state: 'warn', says, do: remedy }];
  });
}

function silentIncoming({ siteName, silentSince = 0 }: IncomingFacts, id: string): Step {
  const [site, since] = [shownValue(siteName), timeText(silentSince)];
  const says = `the link from site ${site} is silent since ${since}`;
  return { id, object: siteObject(siteName), ...adviceOn('silent'), says, do: `at ${site}: \`earshot link status\``, since };
}

/** A key that differs in case or by a typing error. */
function similarStep(id: string, network: NetworkFacts, { object, key, side, update }: Reach): Step | undefined {
  const offered = network.sites.flatMap(({ name, keys }) =>
    keys.filter((each) => each[side] > 0).map((each) => ({ site: name, key: each.key })),
  );
  const similar = similarKey(key, offered);
  if (similar === undefined) return undefined;
  return {
    id,
    object,
    ...adviceOn(side === 'connectors' ? 'no-connector' : 'no-listener'),
    says: `no reachable site has ${WORDS[side]} of routing key ${quoted(key)}; ${similarKeyText(similar)}`,
    ...(update === undefined ? {} : { do: update(similar.meant) }),
    facts: { key, ...similar },
  };
}

/**
 * Links without which other sites are not reachable: those that this site opens, and ended ones of sites that are gone.
 * @param message of the status. Links of sites that it names come first, since the first step is the cause.
 */
function brokenSteps(facts: SiteFacts, network: NetworkFacts, id: string, message: string): readonly Step[] {
  const down = [...(valueOf(facts.links) ?? [])].filter(([, { operational }]) => !operational);
  const opened = down.map(([name, { problem }]): Step => ({
    id,
    object: `Link/${name}`,
    ...adviceOn(problem?.code ?? 'connecting'),
    says: `the link ${shownValue(name)} is down: ${problem?.message ?? 'it is connecting'}`,
    do: commandIn(facts.place, `explain link ${shellWord(name)}`),
  }));
  const named = new Set([
    ...down.filter(([, { siteName }]) => namesLostSite(message, siteName)).map(([name]) => `Link/${name}`),
    ...(valueOf(facts.incoming) ?? [])
      .filter(({ siteName }) => namesLostSite(message, siteName))
      .map(({ siteName }) => siteObject(siteName)),
  ]);
  const steps = [...opened, ...endedSteps(facts, network, id)];
  return steps.toSorted((one, other) => Number(named.has(other.object)) - Number(named.has(one.object))).slice(0, MOST_NAMED);
}

/** Links that other sites had opened, where these sites are not reachable any more, or may not be. */
export function endedSteps(facts: SiteFacts, network: NetworkFacts | undefined, id: string): readonly Step[] {
  const reachable = new Set(network?.sites.map((site) => site.id));
  const incoming = valueOf(facts.incoming) ?? [];
  const live = new Set(incoming.filter((link) => link.operational && link.silentSince === undefined).map(({ siteId }) => siteId));
  return incoming.flatMap((link): readonly Step[] => {
    const { siteId, siteName, silentSince, ended } = link;
    if (silentSince !== undefined) return live.has(siteId) ? [] : [silentIncoming(link, id)];
    // A revocation ends links on purpose.
    if (ended === undefined || reachable.has(siteId) || isRevocation(ended.reason)) return [];
    const site = shownValue(siteName);
    const says = `the link from site ${site} ended at ${timeText(ended.at)}: ${ended.reason}`;
    return [
      {
        id,
        object: siteObject(siteName),
        state: 'fail',
        code: 'lost',
        says,
        do: `at ${site}: \`earshot link status\``,
        since: timeText(ended.at),
      },
    ];
  });
}

const siteObject = (name: string): string => `Site/${shownValue(name)}`;

/** The reason of an ended link is a text of this router. */
const isRevocation = (reason: string): boolean => reason.includes('revoked here');

/** Names sites that this site revoked, since one of them may have had the other end of a key. */
function revokedText(facts: SiteFacts, network: NetworkFacts): string {
  const reachable = new Set(network.sites.map(({ id }) => id));
  const ended = (valueOf(facts.incoming) ?? []).filter(({ siteId, ended: end }) => end !== undefined && !reachable.has(siteId));
  const names = ended.filter(({ ended: end }) => isRevocation(end?.reason ?? '')).map(({ siteName }) => shownValue(siteName));
  return names.length === 0 ? '' : `; this site revoked ${[...new Set(names)].slice(0, MOST_NAMED).join(', ')}`;
}
