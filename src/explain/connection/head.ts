/** First steps of every chain: something runs the site, the resource was read, and there is one Site (pure). */
import type { SkupperKind, SkupperResource } from '../../api/skupper/index.ts';
import { nameOf } from '../../site/resources.ts';
import { commandIn } from '../../text/command-in.ts';
import { shownValue } from '../../text/printable.ts';
import { CLUSTER_CODES, PROCESS_CODES, SITE_CODES, SPEC_CODES } from './code-groups.ts';
import { adviceOn } from './object-problem.ts';
import type { Rung } from './rungs.ts';
import { valueOf, type SiteFacts } from './site-facts.ts';
import type { Step } from '../step.ts';

/** An explained object. `found` is undefined if the site has not adopted what was written. */
export interface Subject {
  readonly kind: SkupperKind;
  readonly name: string;
  readonly found: SkupperResource | undefined;
}

/** The first part of the ids of a kind's steps: `listener`. */
export const stepPrefix = (kind: SkupperKind): string => kind.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `-${letter}`).toLowerCase();

export function headRungs(facts: SiteFacts, subject: Subject): readonly Rung[] {
  const prefix = stepPrefix(subject.kind);
  return [
    { id: `${prefix}.process`, codes: PROCESS_CODES, passes: 'runs', refine: (step) => processStep(step, facts) },
    {
      id: `${prefix}.spec`,
      codes: [...SPEC_CODES, ...CLUSTER_CODES],
      condition: 'Configured',
      passes: 'read',
      refine: (step) => specStep(step, facts, subject),
    },
    ...(subject.kind === 'Site'
      ? []
      : [{ id: `${prefix}.site`, codes: SITE_CODES, passes: 'exists', refine: (step: Step) => siteStep(step, facts) }]),
  ];
}

/** A stopped process is one cause for all objects of the namespace. */
export function processStep(step: Step, { stopped, place }: SiteFacts): Step {
  if ('unknown' in stopped) return { ...step, state: 'unknown', says: stopped.unknown };
  if (stopped.value === undefined) return step;
  return { id: step.id, object: namespaceObject(place), state: 'fail', code: 'not-running', says: stopped.value };
}

/** Object of steps about the whole namespace. */
export const namespaceObject = ({ namespace }: SiteFacts['place']): string => `namespace/${namespace}`;

function specStep(step: Step, { objects, refused, written, problems }: SiteFacts, { kind, name, found }: Subject): Step {
  const errors = (valueOf(problems) ?? []).filter(({ isError }) => isError);
  const key = `${kind}/${name}`;
  const first = errors.find(({ resource }) => resource === key) ?? errors.find(({ affected }) => affected?.includes(key) === true);
  // An unreadable file is one cause for all its resources.
  const cause = first?.resource === key ? step.object : `file/${first?.file ?? ''}`;
  if (first !== undefined) return { id: step.id, object: cause, ...adviceOn('invalid-file'), says: first.text };
  if (step.state !== 'pass') return step;
  const unread = 'unknown' in objects ? objects.unknown : refused?.get(kind);
  if (unread !== undefined) return { ...step, state: 'unknown', says: unread };
  const location = valueOf(written)?.find((object) => object.kind === kind && object.name === name)?.location;
  if (found?.status === undefined) {
    const says = `the site has not adopted it yet${location === undefined ? '' : ` (${location})`}`;
    return { id: step.id, object: step.object, ...adviceOn('processing'), says };
  }
  return location === undefined ? step : { ...step, says: `read from ${location}` };
}

export function siteStep(step: Step, { objects, refused, place }: SiteFacts): Step {
  if ('unknown' in objects) return { ...step, state: 'unknown', says: objects.unknown };
  const refusal = refused?.get('Site');
  if (refusal !== undefined) return { ...step, state: 'unknown', says: refusal };
  const sites = objects.value.filter(({ kind }) => kind === 'Site');
  const [first] = sites;
  if (first === undefined)
    return {
      id: step.id,
      object: step.object,
      state: 'fail',
      code: 'no-site',
      says: `the namespace ${place.namespace} has no Site`,
      do: `create one: ${commandIn(place, 'site create NAME')}`,
    };
  if (step.state !== 'pass' || sites.length > 1) return step;
  return { ...step, says: shownValue(nameOf(first)) };
}
