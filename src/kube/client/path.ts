import type { Selection } from '../contract.ts';
import type { Resource } from '../resource.ts';
import { EarshotError } from '../../errors/earshot-error.ts';
import { quoted } from '../../text/printable.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Path of one object or its subresource. */
export function objectPath(of: Resource, key: { namespace?: string; name: string }, subresource?: string): string {
  if (of.namespaced !== (key.namespace !== undefined)) {
    throw new EarshotError(
      'kube-name',
      of.namespaced ? `${of.kind} "${key.name}" needs a namespace.` : `${of.kind} "${key.name}" is cluster-scoped and takes no namespace.`,
    );
  }
  const tail = subresource === undefined ? '' : `/${segment('subresource', subresource)}`;
  return `${collectionPath(of, key.namespace)}/${segment(`name of a ${of.kind}`, key.name)}${tail}`;
}

/** Path of the kinds of a group. */
export function groupPath({ group, version }: Resource): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/** Path of all objects of a kind, or of those in a namespace. */
export function collectionPath(of: Resource, namespace: string | undefined): string {
  const group = groupPath(of);
  if (namespace === undefined) return `${group}/${of.plural}`;
  if (!of.namespaced) throw new EarshotError('kube-name', `${of.kind} is cluster-scoped and takes no namespace.`);
  return `${group}/namespaces/${segment('namespace', namespace)}/${of.plural}`;
}

export function withQuery(path: string, query: Query): string {
  const pairs: string[] = [];
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) pairs.push(`${name}=${encode(String(value), name)}`);
  }
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

export function selectionQuery(selection: Selection): Query {
  return { labelSelector: selection.labelSelector, fieldSelector: selection.fieldSelector };
}

/**
 * Names come from annotations, pods and volume handles. Values that would change the structure of the path are refused; other
 * characters are escaped.
 */
function segment(what: string, value: string): string {
  if (value === '' || value === '.' || value === '..' || value.includes('/')) {
    throw new EarshotError('kube-name', `${quoted(value, 253)} cannot be the ${what}: it must not be empty, ".", ".." or contain a "/".`);
  }
  return encode(value, what);
}

function encode(value: string, what: string): string {
  if (!value.isWellFormed()) throw new EarshotError('kube-name', `The ${what} is not well-formed Unicode.`);
  return encodeURIComponent(value);
}
