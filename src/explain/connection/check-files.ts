/** Checks resources of files before they are applied (pure). The parser and the planner have already found faults of resources. */
import type { SkupperResource } from '../../api/skupper/index.ts';
import { problemText, type ResourceProblem } from '../../site/problem.ts';
import { keyOf, sortResources } from '../../site/resources.ts';
import { printable, quoted } from '../../text/printable.ts';
import { reportOf, type CheckReport } from '../report.ts';
import { adviceOn } from './object-problem.ts';
import { keysOf } from './listener.ts';
import type { Step } from '../step.ts';

export interface FileFacts {
  readonly objects: readonly Located<SkupperResource>[];
  readonly observers: readonly Located<Keyed>[];
  readonly problems: readonly { readonly isError: boolean; readonly text: string; readonly file: string }[];
  /** Problems that a site of these resources would have. */
  readonly planned: readonly ResourceProblem[];
}

interface Located<T> {
  readonly object: T;
  /** `west.yaml:3`. */
  readonly location: string;
}

type Keyed = Parameters<typeof keyOf>[0];

export function checkFiles({ objects, observers, problems, planned }: FileFacts, now: Date): CheckReport {
  const resources = sortResources(objects.map(({ object }) => object));
  const findings: readonly Step[] = [
    ...problems.map(({ isError, text, file }): Step => {
      const step = { id: 'files.spec', object: `file/${file}`, says: text };
      return isError ? { ...step, ...adviceOn('invalid-file') } : { ...step, state: 'warn' };
    }),
    ...repeated([...objects, ...observers]),
    ...plannedSteps([...objects, ...observers], planned),
    ...oddKeys(
      resources.Listener.flatMap(keysOf),
      resources.MultiKeyListener.flatMap(keysOf),
      resources.Connector.map(({ spec }) => spec.routingKey),
    ),
  ];
  return reportOf([], findings, now);
}

function repeated(objects: readonly Located<Keyed>[]): readonly Step[] {
  return [...Map.groupBy(objects, ({ object }) => keyOf(object))]
    .filter(([, { length }]) => length > 1)
    .map(([key, of]) => ({
      id: 'files.names',
      object: key,
      ...adviceOn('invalid'),
      says: `${key} is written ${of.length} times: ${of.map(({ location }) => location).join(', ')}`,
      do: 'keep one of them',
    }));
}

function plannedSteps(objects: readonly Located<Keyed>[], planned: FileFacts['planned']): readonly Step[] {
  const locations = new Map(objects.map(({ object, location }) => [keyOf(object), location]));
  return planned.map((problem): Step => {
    const { resource, code, severity } = problem;
    const says = `${locations.get(resource) ?? resource}: ${problemText(problem)}`;
    const step = { id: 'files.resource', object: resource, ...adviceOn(code), says: printable(says) };
    return severity === 'error' ? step : { ...step, state: 'warn' };
  });
}

/** A key that is spelt in two ways is most likely one key. Its other end may be in another site, so this is only a warning. */
function oddKeys(...keys: readonly (readonly string[])[]): readonly Step[] {
  const all = [...new Set(keys.flat())];
  return [...Map.groupBy(all, (key) => key.toLowerCase()).values()]
    .filter(({ length }) => length > 1)
    .map((of) => ({
      id: 'files.keys',
      object: `key/${of[0] ?? ''}`,
      state: 'warn',
      code: 'routing-key',
      says: `routing keys differ only in case: ${of.map((key) => quoted(key)).join(', ')}`,
      do: 'use one spelling',
    }));
}
