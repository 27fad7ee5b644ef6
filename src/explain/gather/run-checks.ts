/** Checks of a whole place, for `earshot check`, `debug dump` and the console. */
import { sites, skupperResources } from '../../api/skupper/index.ts';
import { checkSite } from '../connection/check-site.ts';
import { namespaceObject } from '../connection/head.ts';
import { valueOf, type SiteFacts } from '../connection/site-facts.ts';
import { reportOf, type CheckReport } from '../report.ts';
import type { Step } from '../step.ts';
import { askRight } from './access-review.ts';
import { checkExposure } from './check-exposure.ts';
import type { ExplainPlace } from './explainable-kinds.ts';
import { checkObservers } from './gather-observer.ts';
import { gatherSite } from './gather-site.ts';
import { findServed } from './served-definitions.ts';

type Checked = Pick<CheckReport, 'objects' | 'findings'>;

/** Checks a part of the place. */
export type Checker = (place: ExplainPlace) => Promise<Checked>;

/** All of them run at the same time. */
export const checkers: readonly Checker[] = [checkBothHalves];

/** In a cluster with the exposure half, a namespace without resources of a site is not taken for one. */
async function checkBothHalves(place: ExplainPlace): Promise<Checked> {
  const [facts, rights, exposure] = await Promise.all([gatherSite(place.site), checkRights(place), checkExposure(place)]);
  const observers = await checkObservers(place, facts);
  const isSite = !exposure.isInstalled || (valueOf(facts.objects) ?? []).length > 0;
  const ofSite = isSite ? [checkSite(facts), rights] : [await checkUnreadSite(place, facts)];
  const parts: readonly Checked[] = [...ofSite, observers, exposure];
  return { objects: parts.flatMap(({ objects }) => objects), findings: parts.flatMap(({ findings }) => findings) };
}

/** Without the right to list Sites, the namespace may have one. One finding is enough for a user of the exposure half. */
async function checkUnreadSite({ cluster }: ExplainPlace, { objects, refused, place }: SiteFacts): Promise<Checked> {
  const says = 'unknown' in objects ? objects.unknown : refused?.get('Site');
  const isServed = cluster !== undefined && says !== undefined && (await findServed(cluster.client, cluster.namespace, [sites])).length > 0;
  return { objects: [], findings: isServed ? [{ id: 'check.site', object: namespaceObject(place), state: 'unknown', says }] : [] };
}

export async function runChecks(place: ExplainPlace): Promise<CheckReport> {
  const parts = await Promise.all(checkers.map((check) => check(place)));
  return reportOf(
    parts.flatMap(({ objects }) => objects),
    parts.flatMap(({ findings }) => findings),
    new Date(),
  );
}

/** Rights of the user that the other checks need. A missing one is not a failure of the site. */
async function checkRights({ cluster }: ExplainPlace): Promise<Checked> {
  if (cluster === undefined) return { objects: [], findings: [] };
  const { client, namespace } = cluster;
  const needed = Object.values(skupperResources).map(({ plural }) => ({ verb: 'list', group: sites.group, resource: plural }));
  const asked = needed.map(async (right): Promise<readonly Step[]> => {
    const step = { id: 'check.rights', object: `namespace/${namespace}`, state: 'unknown' } as const;
    const answer = await askRight(client, { ...right, namespace });
    if ('unknown' in answer) return [{ ...step, says: answer.unknown }];
    if (answer.value) return [];
    return [{ ...step, says: `your user may not ${right.verb} ${right.resource}.${right.group} in the namespace ${namespace}` }];
  });
  const findings = (await Promise.all(asked)).flat();
  // A server that does not answer is one finding.
  return { objects: [], findings: [...new Map(findings.map((step) => [step.says, step])).values()] };
}
