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
  const lists = new Map<string, Promise<readonly KubeObject[]>>();
  const singles = new Map<string, Promise<KubeObject | undefined>>();
  const listOf = <T extends KubeObject>(of: Resource<T>, namespace: string | undefined, fieldSelector?: string): Promise<readonly T[]> => {
    const key = `${of.group}/${of.plural}/${namespace ?? ''}/${fieldSelector ?? ''}`;
    // Each list has the objects of its kind.
    return lists.getOrInsertComputed(key, () => listSome(client, of, withoutUndefined({ namespace, fieldSelector }), most)) as Promise<
      readonly T[]
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
        const all = await listOf(of, key.namespace);
        const found = all.find(({ metadata }) => metadata.name === key.name);
        return found === undefined && all.length >= most ? await findOne(of, key) : found;
      } catch (error) {
        if (!isForbidden(error)) throw error;
        return findOne(of, key);
      }
    },
    async *list<T extends KubeObject>(of: Resource<T>, selection: Selection = {}): AsyncIterable<T> {
      const isSelected = selectorOf(selection);
      // A user may have the right to list one name only (`resourceNames`).
      const one = /^metadata\.name=[^,]+$/.test(selection.fieldSelector ?? '') ? selection.fieldSelector : undefined;
      for (const object of await listOf(of, selection.namespace, one)) if (isSelected(object)) yield object;
    },
  };
}

async function listSome<T extends KubeObject>(client: Reader, of: Resource<T>, selection: Selection, most: number): Promise<readonly T[]> {
  const found: T[] = [];
  for await (const object of client.list(of, selection)) if (found.push(object) >= most) break;
  return found;
}

/** A predicate, so that the selectors are parsed once for all objects. */
function selectorOf({ labelSelector = '', fieldSelector = '' }: Selection): (object: KubeObject) => boolean {
  const wanted = termsOf(labelSelector);
  const fields = termsOf(fieldSelector).map(([path, value]) => [path.split('.'), value] as const);
  return (object) => {
    const { labels = {} } = object.metadata;
    return (
      wanted.every(([key, value]) => Object.hasOwn(labels, key) && (value === undefined || labels[key] === value)) &&
      fields.every(([path, value]) => fieldOf(object, path) === value)
    );
  };
}

function termsOf(selector: string): readonly (readonly [key: string, value: string | undefined])[] {
  if (selector === '') return [];
  return selector.split(',').map((term) => {
    const [key = '', value] = term.split('=');
    return [key, value];
  });
}

function fieldOf(object: KubeObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), object);
}
