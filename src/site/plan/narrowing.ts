/**
 * Fields of later API versions that restrict other sites. Ignoring them would leave open what they are meant to close. So a resource that
 * has one is refused: its link or port is not opened.
 */
import type { Site } from '../../api/skupper/index.ts';
import { errorIn, type ResourceProblem } from '../problem.ts';
import { keyOf, type SiteObject } from '../resources.ts';

/** The role of links between networks. */
export const INTER_NETWORK = 'inter-network';

const REMEDY = 'so it is refused. Remove the field, or use a version of Earshot that supports it.';

/** Empty if the object has no such field. */
export function narrowingProblems(object: SiteObject): readonly ResourceProblem[] {
  const wrong = (field: string, what: string): readonly ResourceProblem[] => [
    errorIn(keyOf(object), `spec.${field}`, 'not-supported', `this version ${what}, ${REMEDY}`),
  ];
  switch (object.kind) {
    case 'Site':
      return isGiven(object.spec.networkId) ? wrong('networkId', 'cannot separate networks: no link is opened or accepted') : [];
    case 'Link': {
      const index = object.spec.endpoints.findIndex(({ name }) => name === INTER_NETWORK);
      return [
        ...(object.spec.routingKeys === undefined ? [] : wrong('routingKeys', 'cannot restrict a link to routing keys')),
        ...(index === -1 ? [] : wrong(`endpoints[${index}].name`, 'does not support links between networks')),
      ];
    }
    case 'RouterAccess': {
      const index = object.spec.roles.findIndex(({ name }) => name === INTER_NETWORK);
      return [
        ...(object.spec.routingKeys === undefined ? [] : wrong('routingKeys', 'cannot restrict links to routing keys')),
        ...(index === -1 ? [] : wrong(`roles[${index}].name`, 'does not support links between networks')),
      ];
    }
    default:
      return [];
  }
}

/** A Site with such a field neither opens nor accepts links: the Site is refused, and these resources with it. */
export function refusedWithSite(site: Site, others: readonly SiteObject[]): readonly ResourceProblem[] {
  const [wrong] = narrowingProblems(site);
  if (wrong === undefined) return [];
  const message = `the Site has ${wrong.field}, which this version does not support, so no link is opened or accepted. Remove it from the Site.`;
  const refused = others.map((object): ResourceProblem => ({ resource: keyOf(object), severity: 'error', code: wrong.code, message }));
  return [wrong, ...refused];
}

function isGiven(text: string | undefined): boolean {
  return text !== undefined && text !== '';
}
