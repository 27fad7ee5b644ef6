import type { Key, KeyString } from './contract.ts';
import type { KubeObject } from './objects.ts';
import { EarshotError } from '../errors/earshot-error.ts';

/** `namespace/name`, or `name` for cluster-scoped objects. */
export function keyOf(object: KubeObject): KeyString {
  const { namespace, name } = object.metadata;
  if (name === undefined) throw new EarshotError('kube-name', 'An object without metadata.name has no key.');
  return keyString(namespace === undefined ? { name } : { namespace, name });
}

export function keyString(key: Key): KeyString {
  return key.namespace === undefined ? key.name : `${key.namespace}/${key.name}`;
}

/** The inverse of `keyString`. Neither part contains a slash: the API server and the watch decoder refuse such names. */
export function parseKey(key: KeyString): Key {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
