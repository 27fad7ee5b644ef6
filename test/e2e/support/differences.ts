/** Differences of a cluster's objects from their earlier state, field by field. */
import type { KubeObject } from '../../../src/kube/objects.ts';
import type { Cluster } from '../../harness/index.ts';

/** Objects by kind and name, each as a map from the path of a field to its value. */
export type Recorded = ReadonlyMap<string, ReadonlyMap<string, unknown>>;

/** Fields of every write, of no interest to users of the object. */
const BOOKKEEPING: ReadonlySet<string> = new Set(['managedFields', 'resourceVersion', 'generation']);

/** Reads the collections at these paths; `include` leaves out what is not the test's. */
export async function record(
  cluster: Cluster,
  collections: Readonly<Record<string, string>>,
  include: (object: KubeObject) => boolean = () => true,
): Promise<Recorded> {
  const recorded = new Map<string, ReadonlyMap<string, unknown>>();
  for (const [kind, path] of Object.entries(collections)) {
    const { items } = await cluster.api.get<{ readonly items: readonly KubeObject[] }>(path);
    for (const object of items.filter(include)) {
      const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([field]) => !BOOKKEEPING.has(field)));
      recorded.set(`${kind} ${object.metadata.name}`, new Map(fieldsOf({ ...object, metadata })));
    }
  }
  return recorded;
}

/** `KIND NAME PATH: BEFORE → AFTER` of each field that is not the same any more, or only there before or after. */
export function differences(before: Recorded, after: Recorded): readonly string[] {
  return [...new Set([...before.keys(), ...after.keys()])].flatMap((name) => {
    const [was, is] = [before.get(name), after.get(name)];
    if (was === undefined || is === undefined) return [`${name}: ${was === undefined ? 'is new' : 'is gone'}`];
    const paths = [...new Set([...was.keys(), ...is.keys()])];
    const changed = paths.filter((path) => JSON.stringify(was.get(path)) !== JSON.stringify(is.get(path)));
    return changed.map((path) => `${name} ${path}: ${JSON.stringify(was.get(path))} → ${JSON.stringify(is.get(path))}`);
  });
}

function fieldsOf(value: unknown, path = ''): readonly (readonly [path: string, value: unknown])[] {
  if (typeof value !== 'object' || value === null || Object.keys(value).length === 0) return [[path, value]];
  const join = (key: string): string => (Array.isArray(value) ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${key}`);
  return Object.entries(value).flatMap(([key, inner]) => fieldsOf(inner, join(key)));
}
