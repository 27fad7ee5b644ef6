/** Checks resources of files before they are applied (pure). The parser has already found faults of a single resource. */
import type { SkupperResource } from '../../api/skupper/index.ts';
import { keyOf, sortResources } from '../../site/resources.ts';
import { quoted } from '../../text/printable.ts';
import { reportOf, type CheckReport } from '../report.ts';
import { adviceOn } from './object-problem.ts';
import { keysOf } from './listener.ts';
import type { Step } from '../step.ts';

export interface FileFacts {
  readonly objects: readonly { readonly object: SkupperResource; /** `west.yaml:3`. */ readonly location: string }[];
  readonly problems: readonly { readonly isError: boolean; readonly text: string; readonly file: string }[];
}

export function checkFiles({ objects, problems }: FileFacts, now: Date): CheckReport {
  const resources = sortResources(objects.map(({ object }) => object));
  const findings: readonly Step[] = [
    ...problems.map(({ isError, text, file }): Step => {
      const step = { id: 'files.spec', object: `file/${file}`, says: text };
      return isError ? { ...step, ...adviceOn('invalid-file') } : { ...step, state: 'warn' };
    }),
    ...repeated(objects),
    ...(resources.Site.length > 1
      ? [{ id: 'files.site', object: 'Site', ...adviceOn('second-site'), says: `the files contain ${resources.Site.length} Sites` }]
      : []),
    ...sharedPorts(objects),
    ...oddKeys(
      resources.Listener.flatMap(keysOf),
      resources.MultiKeyListener.flatMap(keysOf),
      resources.Connector.map(({ spec }) => spec.routingKey),
    ),
  ];
  return reportOf([], findings, now);
}

function repeated(objects: FileFacts['objects']): readonly Step[] {
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

function sharedPorts(objects: FileFacts['objects']): readonly Step[] {
  const listeners = objects.flatMap(({ object, location }) =>
    object.kind === 'Listener' || object.kind === 'MultiKeyListener'
      ? [{ key: keyOf(object), location, at: `${object.spec.host}:${object.spec.port}` }]
      : [],
  );
  return [...Map.groupBy(listeners, ({ at }) => at)]
    .filter(([, of]) => new Set(of.map(({ key }) => key)).size > 1)
    .map(([at, of]) => ({
      id: 'files.ports',
      object: of[0]?.key ?? '',
      ...adviceOn('port-taken-twice'),
      says: `${of.map(({ key, location }) => `${key} (${location})`).join(' and ')} have ${at}`,
    }));
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
