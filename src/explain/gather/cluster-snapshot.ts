/** A client that lists each kind once and answers from that, for checks of many objects of one namespace. */
import type { KubeClient, Key, Selection } from '../../kube/contract.ts';
import { isForbidden } from '../../kube/errors.ts';
import type { KubeObject } from '../../kube/objects.ts';
import type { Resource } from '../../kube/resource.ts';
import { isRecord } from '../../text/is-record.ts';
import { withoutUndefined } from '../../text/untrusted-fields.ts';

type Reader = Pick<KubeClient, 'find' | 'list'>;

/**
 * Understands the selectors `key=value` and `key`, and field selectors of texts. Single objects beyond the limit, or of a kind that
 * the user may not list, come from the API server, each once.
 * @param most maximum number of objects of one kind
 * @param listsCluster whether kinds outside of namespaces are listed for a single object
 */
export function clusterSnapshot(client: Reader, most: number, listsCluster = true): Reader {
  const lists = new Map<string, Promise<Listed>>();
  const singles = new Map<string, Promise<KubeObject | undefined>>();
  const listOf = <T extends KubeObject>(of: Resource<T>, namespace: string | undefined, fieldSelector?: string): Promise<Listed<T>> => {
    const key = `${of.group}/${of.plural}/${namespace ?? ''}/${fieldSelector ?? ''}`;
    // Each list has the objects of its kind.
    return lists.getOrInsertComputed(key, () => listSome(client, of, withoutUndefined({ namespace, fieldSelector }), most)) as Promise<
      Listed<T>
    >;
  };
  const findOne = <T extends KubeObject>(of: Resource<T>, key: Key): Promise<T | undefined> => {
    const id = `${of.group}/${of.plural}/${key.namespace ?? ''}/${key.name}`;
    // Each object has the type of its kind.
    return singles.getOrInsertComputed(id, () => client.find(of, key)) as Promise<T | undefined>;
  };
  return {
    async find<T extends KubeObject>(of: Resource<T>, key: Key): Promise<T | undefined> {
      if (!of.namespaced && !listsCluster) return findOne(of, key);
      try {
        const listed = await listOf(of, key.namespace);
        const [found] = select(listed, [{ ...NAME, value: key.name }]);
        return found === undefined && listed.all.length >= most ? await findOne(of, key) : found;
      } catch (error) {
        if (!isForbidden(error)) throw error;
        return findOne(of, key);
      }
    },
    async *list<T extends KubeObject>(of: Resource<T>, selection: Selection = {}): AsyncIterable<T> {
      // A user may have the right to list one name only (`resourceNames`).
      const one = /^metadata\.name=[^,]+$/.test(selection.fieldSelector ?? '') ? selection.fieldSelector : undefined;
      yield* select(await listOf(of, selection.namespace, one), termsOf(selection));
    },
  };
}

interface Listed<T extends KubeObject = KubeObject> {
  readonly all: readonly T[];
  /** Objects by the value of a label or field, by its path. Thousands of objects may each select some of thousands. */
  readonly indexes: Map<string, ReadonlyMap<string, readonly T[]>>;
}

async function listSome<T extends KubeObject>(client: Reader, of: Resource<T>, selection: Selection, most: number): Promise<Listed<T>> {
  const all: T[] = [];
  for await (const object of client.list(of, selection)) if (all.push(object) >= most) break;
  return { all, indexes: new Map() };
}

/** Part of a selector: the path of a label or field, and its value; undefined for any. */
interface Term {
  readonly path: readonly string[];
  readonly value: string | undefined;
}

const NAME = { path: ['metadata', 'name'] } as const;

function select<T extends KubeObject>({ all, indexes }: Listed<T>, terms: readonly Term[]): readonly T[] {
  const indexed = terms.findLast(({ value }) => value !== undefined);
  const candidates = indexed?.value === undefined ? all : (indexOf(indexed.path).get(indexed.value) ?? []);
  return candidates.filter((object) =>
    terms.every(({ path, value }) => (value === undefined ? fieldOf(object, path) !== undefined : fieldOf(object, path) === value)),
  );

  function indexOf(path: readonly string[]): ReadonlyMap<string, readonly T[]> {
    return indexes.getOrInsertComputed(path.join('\0'), () => {
      const found = new Map<string, T[]>();
      for (const object of all) {
        const value = fieldOf(object, path);
        if (typeof value === 'string') found.getOrInsertComputed(value, () => []).push(object);
      }
      return found;
    });
  }
}

function termsOf({ labelSelector = '', fieldSelector = '' }: Selection): readonly Term[] {
  return [
    ...splitTerms(labelSelector).map(([key, value]) => ({ path: ['metadata', 'labels', key], value })),
    ...splitTerms(fieldSelector).map(([path, value]) => ({ path: path.split('.'), value })),
  ];
}

function splitTerms(selector: string): readonly (readonly [key: string, value: string | undefined])[] {
  if (selector === '') return [];
  return selector.split(',').map((term) => {
    const [key = '', value] = term.split('=');
    return [key, value];
  });
}

function fieldOf(object: KubeObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), object);
}
