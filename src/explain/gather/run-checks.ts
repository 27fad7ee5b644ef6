/** Checks of a whole place, for `earshot check`, `debug dump` and the console. */
import { sites, skupperResources } from '../../api/skupper/index.ts';
import { checkSite } from '../connection/check-site.ts';
import { reportOf, type CheckReport } from '../report.ts';
import type { Step } from '../step.ts';
import { askRight } from './access-review.ts';
import { checkExposure } from './check-exposure.ts';
import type { ExplainPlace } from './explainable-kinds.ts';
import { checkObservers } from './gather-observer.ts';
import { gatherSite } from './gather-site.ts';

/** Checks a part of the place. */
export type Checker = (place: ExplainPlace) => Promise<Pick<CheckReport, 'objects' | 'findings'>>;

/** All of them run at the same time. */
export const checkers: readonly Checker[] = [checkBothHalves];

/** In a cluster with the exposure half, a namespace without resources of a site is not taken for one. */
async function checkBothHalves(place: ExplainPlace): Promise<Pick<CheckReport, 'objects' | 'findings'>> {
  const [facts, rights, exposure] = await Promise.all([gatherSite(place.site), checkRights(place), checkExposure(place)]);
  const isNoSite = !('value' in facts.objects) || facts.objects.value.length === 0;
  const observers = await checkObservers(place, facts);
  if (isNoSite && exposure.isInstalled) return { ...exposure, objects: [...observers.objects, ...exposure.objects] };
  const { objects, findings } = checkSite(facts);
  return {
    objects: [...objects, ...observers.objects, ...exposure.objects],
    findings: [...findings, ...rights.findings, ...observers.findings, ...exposure.findings],
  };
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
async function checkRights({ cluster }: ExplainPlace): Promise<Pick<CheckReport, 'objects' | 'findings'>> {
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
